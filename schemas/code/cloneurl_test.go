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
