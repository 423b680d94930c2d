package mirror

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPolicyHosts(t *testing.T) {
	resolve := func(_ context.Context, host string) ([]netip.Addr, error) {
		addrs := map[string][]string{
			"public.example": {"93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"},
			"inner.example":  {"10.1.2.3"},
			"mixed.example":  {"93.184.216.34", "127.0.0.1"},
			"mapped.example": {"::ffff:169.254.169.254"},
			"none.example":   nil,
		}[host]
		var parsed []netip.Addr
		for _, a := range addrs {
			parsed = append(parsed, netip.MustParseAddr(a))
		}
		return parsed, nil
	}
	inner := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for _, tc := range []struct {
		url     string
		policy  Policy
		want    error
		explain string
	}{
		{"https://public.example/a/b", Policy{}, nil, ""},
		{"http://public.example/a/b", Policy{}, ErrRefused, "scheme http is not allowed"},
		{"http://public.example/a/b", Policy{Schemes: []string{"https", "http"}}, nil, ""},
		{"git@public.example:a/b", Policy{}, ErrRefused, "scheme ssh"},
		{"git@public.example:a/b", Policy{Schemes: []string{"ssh"}}, nil, ""},
		{"https://inner.example/a", Policy{}, ErrRefused, "10.1.2.3"},
		{"https://inner.example/a", Policy{Networks: inner}, nil, ""},
		{"https://mixed.example/a", Policy{}, ErrRefused, "127.0.0.1"},
		{"https://mixed.example/a", Policy{Networks: inner}, ErrRefused, "127.0.0.1"},
		{"https://mapped.example/a", Policy{}, ErrRefused, "169.254.169.254"},
		{"https://none.example/a", Policy{}, ErrUnreachable, "no address"},
		{"https://127.0.0.1/a", Policy{}, ErrRefused, "127.0.0.1"},
		{"https://127.0.0.1:8443/a", Policy{}, ErrRefused, "127.0.0.1"},
		{"https://[::1]/a", Policy{}, ErrRefused, "::1"},
		{"https://[fd00::1]/a", Policy{}, ErrRefused, "fd00::1"},
		{"https://[fe80::1]/a", Policy{}, ErrRefused, "fe80::1"},
		{"https://[64:ff9b::7f00:1]/a", Policy{}, ErrRefused, "64:ff9b"},
		{"https://0.0.0.0/a", Policy{}, ErrRefused, "0.0.0.0"},
		{"https://100.64.0.1/a", Policy{}, ErrRefused, "100.64"},
		{"https://192.168.1.1/a", Policy{}, ErrRefused, "192.168"},
		{"https://224.0.0.1/a", Policy{}, ErrRefused, "224.0"},
		{"https://user:secret@public.example/a", Policy{}, ErrRefused, "credentials"},
		{"ext::sh -c id", Policy{Schemes: []string{"https", "ext"}}, ErrRefused, "transport helpers"},
		{"--upload-pack=id", Policy{}, ErrRefused, "dash"},
		{"https://-oProxyCommand=id/a", Policy{}, ErrRefused, ""},
		{"/etc", Policy{}, ErrRefused, "scheme file"},
		{"/etc", Policy{Schemes: []string{"https", "file"}}, ErrRefused, "allowedRoots"},
	} {
		tc.policy.Resolve = resolve
		err := tc.policy.Check(context.Background(), tc.url)
		if !errors.Is(err, tc.want) || tc.want == nil && err != nil {
			t.Errorf("%s: got %v, want %v", tc.url, err, tc.want)
		}
		if err != nil && (!strings.Contains(err.Error(), tc.explain) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: %q should say %q and no secret", tc.url, err, tc.explain)
		}
	}
}

func TestPolicyPaths(t *testing.T) {
	dir := t.TempDir()
	root, outside := filepath.Join(dir, "root"), filepath.Join(dir, "outside")
	for _, d := range []string{filepath.Join(root, "in"), outside, filepath.Join(dir, "root-not")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(root, "escape")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(root, filepath.Join(dir, "alias")); err != nil {
		t.Fatal(err)
	}
	p := Policy{Roots: []string{root}, Schemes: []string{"https", "file"}}
	for path, want := range map[string]error{
		root + "/in":                 nil,
		root:                         nil,
		"file://" + root + "/in":     nil,
		dir + "/alias/in":            nil,
		root + "/escape":             ErrRefused,
		root + "/../outside":         ErrRefused,
		root + "/in/../../outside":   ErrRefused,
		outside:                      ErrRefused,
		dir + "/root-not":            ErrRefused,
		dir + "/absent":              ErrRefused,
		root + "/absent":             ErrVanished,
		"file://" + root + "/absent": ErrVanished,
		"/":                          ErrRefused,
	} {
		if err := p.Check(context.Background(), path); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%s: got %v, want %v", path, err, want)
		}
	}
}

func TestMatchGlob(t *testing.T) {
	for _, tc := range []struct {
		glob, name string
		want       bool
	}{
		{"*", "main", true}, {"*", "feature/x", false}, {"**", "feature/x/y", true}, {"release/*", "release/1.0", true},
		{"release/*", "release/1/2", false}, {"release/**", "release/1/2", true}, {"v?.?", "v1.2", true}, {"v?.?", "v1/2", false},
		{"", "", true}, {"", "x", false}, {"main", "main", true}, {"main", "mainx", false}, {"*x*", "axb", true}, {"a*b*c", "abbbc", true},
		{"a[b]", "ab", false}, {"a[b]", "a[b]", true}, {"***", "a/b", true},
	} {
		if got := MatchGlob(tc.glob, tc.name); got != tc.want {
			t.Errorf("MatchGlob(%q, %q) = %v, want %v", tc.glob, tc.name, got, tc.want)
		}
	}
}
