package code_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
)

func TestParseCloneURL(t *testing.T) {
	for _, tc := range []struct{ in, scheme, name string }{
		{"https://github.com/owner/name.git", "https", "github.com/owner/name"},
		{"https://GitHub.com:443/Owner/Name/", "https", "github.com/Owner/Name"},
		{"http://host:8080/a/b/c", "http", "host:8080/a/b/c"},
		{"ssh://git@host.example:2222/a/b.git", "ssh", "host.example:2222/a/b"},
		{"git@github.com:owner/name.git", "ssh", "github.com/owner/name"},
		{"host:dir/repo", "ssh", "host/dir/repo"},
		{"git://host/x/../y", "git", "host/y"},
		{"/srv/git/linux.git", "file", "srv/git/linux"},
		{"/home/me/project/.git", "file", "home/me/project"},
		{"/home/me/project/", "file", "home/me/project"},
		{"file:///srv/git/linux", "file", "srv/git/linux"},
		{"http://host/full/.git", "http", "host/full"},
		{"https://host/a/b/.git/", "https", "host/a/b"},
		{"git@host:full/.git", "ssh", "host/full"},
		{"git://host/full/.git", "git", "host/full"},
	} {
		c, err := code.ParseCloneURL(tc.in)
		if err != nil {
			t.Errorf("%q: %v", tc.in, err)
			continue
		}
		if c.Scheme != tc.scheme || c.Name() != tc.name {
			t.Errorf("%q: got %s %s, want %s %s", tc.in, c.Scheme, c.Name(), tc.scheme, tc.name)
		}
	}
}

func TestNormalizeCloneURL(t *testing.T) {
	for in, want := range map[string]string{
		"HTTP://Host.Example/Dir/r.git":   "http://host.example/Dir/r.git",
		"https://host/a%20b c.git":        "https://host/a%20b%20c.git",
		"https://host/a%2fb/é.git":        "https://host/a%2fb/%C3%A9.git",
		"SSH://git@Host:2222/a b.git":     "ssh://git@host:2222/a%20b.git",
		"https://HOST:8443/a/.git":        "https://host:8443/a/.git",
		"https://github.com/owner/r.git/": "https://github.com/owner/r.git/",
		"git@GitHub.com:owner/a b.git":    "git@GitHub.com:owner/a b.git",
		"/srv/git/A b":                    "/srv/git/A b",
	} {
		if got, err := code.NormalizeCloneURL(in); err != nil || got != want {
			t.Errorf("%q: got %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "ext::sh", "https://user:secret@host/a", "https://host/" + strings.Repeat(" a", 900)} {
		if got, err := code.NormalizeCloneURL(in); !errors.Is(err, code.ErrCloneURL) {
			t.Errorf("%.40q: got %.40q, %v; want ErrCloneURL", in, got, err)
		}
	}
}

// FuzzNormalizeCloneURL checks that the normal form names the same repository and is
// normal itself.
func FuzzNormalizeCloneURL(f *testing.F) {
	for _, in := range []string{"HTTP://H/a%20b c.git", "https://h:443/%2e%2e/a", "ssh://-x@h/a", "https://[::1]:80/a", "git://h/a%00", "file:///a b", "https://h%41/a"} {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		normal, err := code.NormalizeCloneURL(in)
		if err != nil {
			return
		}
		before, _ := code.ParseCloneURL(in)
		after, err := code.ParseCloneURL(normal)
		if again, _ := code.NormalizeCloneURL(normal); err != nil || before != after || again != normal {
			t.Errorf("%q becomes %q: %+v becomes %+v, %v; again %q", in, normal, before, after, err, again)
		}
	})
}

func TestParseCloneURLRefuses(t *testing.T) {
	for _, in := range []string{
		"", "-u", "--upload-pack=touch x", "ext::sh -c touch% /tmp/x", "fd::7", "relative/path", "name",
		"https://user:secret@host/a", "https://token@host/a", "ftp://host/a", "javascript://x", "https:///a", "https://host/",
		"https://-oProxyCommand=x/a", "ssh://-oProxyCommand=x/a", "git@host:-x", "ssh://host/-x", "https://host/a?x=1", "https://host/a#b",
		"file://other/a", "https://host/a\nb", "https://host/%0ab", "/", "https://host/.git", strings.Repeat("/a", 2000),
	} {
		c, err := code.ParseCloneURL(in)
		if !errors.Is(err, code.ErrCloneURL) {
			t.Errorf("%q: got %+v, %v; want ErrCloneURL", in, c, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error repeats the password: %v", in, err)
		}
	}
}

func TestCloneURLIdentity(t *testing.T) {
	https, _ := code.ParseCloneURL("https://github.com/owner/name.git")
	ssh, _ := code.ParseCloneURL("git@github.com:owner/name")
	other, _ := code.ParseCloneURL("https://github.com/owner/other")
	if !https.Same(ssh) || https.RepositoryID() != ssh.RepositoryID() {
		t.Error("the scheme changes the identity")
	}
	if https.Same(other) || https.RepositoryID() == other.RepositoryID() {
		t.Error("two repositories have one identity")
	}
}

func FuzzParseCloneURL(f *testing.F) {
	for _, s := range []string{"https://a/b", "git@h:p", "/x", "ext::x", "ssh://u@[::1]:22/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := code.ParseCloneURL(s)
		if err != nil {
			return
		}
		if c.Path == "" || strings.HasPrefix(c.Path, "/") || strings.HasPrefix(c.Host, "-") {
			t.Fatalf("%q: %+v", s, c)
		}
	})
}
