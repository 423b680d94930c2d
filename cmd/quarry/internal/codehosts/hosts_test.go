package codehosts

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// newHosts returns the hosts of the connections of c.
func newHosts(t *testing.T, c *config.Config) *Hosts {
	t.Helper()
	h, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestTrustedHosts checks that hosts named by the operator may be private, and that a
// reload changes them.
func TestTrustedHosts(t *testing.T) {
	c := &config.Config{Connections: []config.Connection{
		{Kind: code.GitLab, URL: "https://Git.example/gitlab"},
		{Kind: code.Gerrit, URL: "http://review.example:8080"},
		{Kind: code.GitHub},
	}}
	h := newHosts(t, c)
	for at, want := range map[hostPort]bool{
		{"git.example", "443"}: true, {"git.example", "22"}: true, {"git.example", "80"}: false, {"git.example", "29418"}: false,
		{"review.example", "8080"}: true, {"review.example", "29418"}: true, {"review.example", "443"}: false,
		{"github.com", "443"}: false, {"", "443"}: false, {"other.example", "443"}: false,
	} {
		if got := h.isTrusted(at.host, at.port); got != want {
			t.Errorf("%s:%s is trusted: %t, want %t", at.host, at.port, got, want)
		}
	}
	h.Replace(&config.Config{}, nil)
	if h.isTrusted("git.example", "443") {
		t.Error("the host of a removed connection is trusted")
	}
}

// TestAccessOfEachKind checks the access of git for each kind of host: the user that goes
// with a token, and the SSH address.
func TestAccessOfEachKind(t *testing.T) {
	t.Setenv("QUARRY_TEST_TOKEN", "tok")
	for _, c := range []struct {
		kind             code.HostKind
		url, user, clone string
		wantUser, ssh    string
	}{
		{code.GitHub, "", "", "https://github.com/o/r.git", "x-access-token", "ssh://git@github.com/o/r.git"},
		{code.GitHub, "https://ghe.example:8443", "", "https://ghe.example:8443/o/r.git", "x-access-token", "ssh://git@ghe.example/o/r.git"},
		{code.GitLab, "https://git.example/gitlab", "", "https://git.example/gitlab/g/s/r.git", "oauth2", "ssh://git@git.example/g/s/r.git"},
		{code.Gitea, "http://git.example:3000", "", "http://git.example:3000/o/r.git", "tok", "ssh://git@git.example/o/r.git"},
		{code.Gitea, "http://git.example:3000", "bot", "http://git.example:3000/o/r.git", "bot", "ssh://git@git.example/o/r.git"},
		{code.Gerrit, "https://review.example/a", "bot", "https://review.example/a/p/r", "bot", "ssh://bot@review.example:29418/p/r"},
		{code.Gerrit, "https://review.example", "bot", "https://review.example/p/r", "bot", "ssh://bot@review.example:29418/p/r"},
		{code.BitbucketServer, "https://bb.example/ctx", "", "https://bb.example/ctx/scm/k/r.git", "x-token-auth", "ssh://git@bb.example:7999/k/r.git"},
		{code.BitbucketCloud, "", "", "https://bitbucket.org/w/r.git", "x-token-auth", "ssh://git@bitbucket.org/w/r.git"},
		{code.BitbucketCloud, "", "ada@example.org", "https://bitbucket.org/w/r.git", "x-bitbucket-api-token-auth", "ssh://git@bitbucket.org/w/r.git"},
		{code.AzureDevOps, "", "", "https://dev.azure.com/o/Tea%20Time/_git/r", "user", "ssh://git@ssh.dev.azure.com/v3/o/Tea%20Time/r"},
		{code.AzureDevOps, "https://tfs.example/tfs", "", "https://tfs.example/tfs/c/p/_git/r", "user", "ssh://git@tfs.example/c/p/_git/r"},
		{code.GenericGitHost, "https://git.example", "", "https://git.example/x/r.git", "git", "ssh://git@git.example/x/r"},
		{code.GenericGitHost, "https://[2001:db8::1]:8443", "", "https://[2001:db8::1]:8443/r.git", "git", "ssh://git@[2001:db8::1]/r"},
	} {
		connection := config.Connection{Name: "c", Kind: c.kind, URL: c.url, User: c.user, Token: config.NewSecret("env:QUARRY_TEST_TOKEN"), CAFile: "/ca.pem"}
		r := code.Repository{Connection: "c", CloneURL: c.clone}
		h := newHosts(t, &config.Config{Connections: []config.Connection{connection}})
		got, err := h.Access(t.Context(), r)
		password := "tok"
		if c.wantUser == "tok" {
			password = "x-oauth-basic"
		}
		if want := (mirror.Access{Username: c.wantUser, Password: password, CAFile: "/ca.pem"}); err != nil || got != want {
			t.Errorf("%s %s: %+v, %v; want %+v", c.kind, c.clone, got, err, want)
		}
		connection.Token, connection.Clone = config.Secret{}, config.Clone{SSHKeyFile: "/key", KnownHostsFile: "/known"}
		h.Replace(&config.Config{Connections: []config.Connection{connection}}, nil)
		got, err = h.Access(t.Context(), r)
		if want := (mirror.Access{CloneURL: c.ssh, SSHKeyFile: "/key", KnownHostsFile: "/known"}); err != nil || got != want {
			t.Errorf("%s %s by SSH: %+v, %v; want %+v", c.kind, c.clone, got, err, want)
		}
		if _, err := code.ParseCloneURL(got.CloneURL); err != nil {
			t.Errorf("%s: %v", got.CloneURL, err)
		}
	}
}

// TestCredentialsStayWithTheirHost checks that a credential is sent only to the host of
// its connection, only for its repositories, and unencrypted only if the connection is.
func TestCredentialsStayWithTheirHost(t *testing.T) {
	t.Setenv("QUARRY_TEST_TOKEN", "tok")
	token := config.NewSecret("env:QUARRY_TEST_TOKEN")
	h := newHosts(t, &config.Config{Connections: []config.Connection{
		{Name: "lab", Kind: code.GitLab, URL: "https://git.example", Token: token},
		{Name: "list", Kind: code.GenericGitHost, Token: token, Discover: config.Discover{Repos: []string{"https://one.example/a/b.git"}}},
	}})
	for _, c := range []struct {
		connection, clone string
		sent              bool
		want              error
	}{
		{"lab", "https://git.example/a/b.git", true, nil},
		{"lab", "https://GIT.example:443/a/b.git", true, nil},
		{"lab", "https://git.example:8443/a/b.git", false, nil},
		{"lab", "https://git.example.evil.example/a/b.git", false, nil},
		{"lab", "https://other.example/a/b.git", false, nil},
		{"lab", "http://git.example:443/a/b.git", false, nil},
		{"lab", "http://git.example/a/b.git", false, mirror.ErrRefused},
		{"lab", "git://git.example/a/b.git", false, nil},
		{"lab", "git@git.example:a/b.git", false, nil},
		{"", "https://git.example/a/b.git", false, nil},
		{"gone", "https://git.example/a/b.git", false, nil},
		{"list", "https://one.example/a/b.git", true, nil},
		{"list", "https://one.example/a/c.git", false, nil},
	} {
		got, err := h.Access(t.Context(), code.Repository{Connection: c.connection, CloneURL: c.clone})
		if !errors.Is(err, c.want) || (got.Password != "") != c.sent {
			t.Errorf("%s of %q: password sent: %t, %v", c.clone, c.connection, got.Password != "", err)
		}
	}
}

// TestTokenRotation checks that a new token in a file is used at the next fetch, and that
// a missing file is an error without secrets.
func TestTokenRotation(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	h := newHosts(t, &config.Config{Connections: []config.Connection{{Name: "c", Kind: code.GitHub, Token: config.NewSecret("file:" + file)}}})
	r := code.Repository{Connection: "c", CloneURL: "https://github.com/o/r.git"}
	for _, token := range []string{"first", "second"} {
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := h.Access(t.Context(), r); err != nil || got.Password != token {
			t.Errorf("token %q, %v; want %q", got.Password, err, token)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if got, err := h.Access(t.Context(), r); err == nil || got.Password != "" {
		t.Errorf("without the file: %+v, %v", got, err)
	}
}
