package apitest

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// world is a server with a repository and people.
type world struct {
	url    string
	repoID int64
	member string // their ID
	// Keys with all scopes of their users.
	ownerKey, memberKey string
}

// The names that the examples of the document have.
const (
	repositoryName = "github.com/meadow/kettle"
	password       = "a long enough secret"
)

// patience bounds each wait for the server.
const patience = 30 * time.Second

var servingPattern = regexp.MustCompile(`msg=serving url=(\S+)`)

// newWorld starts a server, which ends with the test.
func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	binary, repository := filepath.Join(dir, "quarry"), filepath.Join(dir, "repositories", "kettle")
	output(t, exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../quarry"))
	makeRepository(t, repository)
	w := &world{}
	data := filepath.Join(dir, "data")
	token := w.serve(t, data, exec.Command(binary, "serve", "--data", data, "--listen", "127.0.0.1:0",
		"--git-root", filepath.Dir(repository), "--set", "git.allowedProtocols=file",
		"--set", "limits.perSecond=100000", "--set", "limits.burst=100000", "--set", "limits.anonymousPerSecond=100000", "--set", "limits.anonymousBurst=100000"))
	w.people(t, token)
	w.index(t, repository)
	return w
}

// makeRepository makes what the examples of the document ask for.
func makeRepository(t *testing.T, dir string) {
	t.Helper()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		command := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=Ada", "-c", "user.email=ada@example.org"}, args...)...)
		command.Dir = dir
		output(t, command)
	}
	write("src/boil.go", "package kettle\n\nfunc Boil() int { return 100 }\n")
	write("logo.png", "\x89PNG\x00\x01")
	git("init", "-q", "-b", "main")
	git("add", "-A")
	git("commit", "-qm", "Boil")
	write("src/boil.go", "package kettle\n\nfunc Boil() int { return 99 }\n")
	git("commit", "-qam", "Boil faster")
}

func output(t *testing.T, command *exec.Cmd) {
	t.Helper()
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, said)
	}
}

// serve starts the server, and returns the token that creates the owner.
func (w *world) serve(t *testing.T, data string, command *exec.Cmd) string {
	t.Helper()
	log, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(log); s.Scan(); {
			select {
			case lines <- s.Text():
			default: // nobody looks any more
			}
		}
	}()
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	})
	token := ""
	for late := time.After(patience); w.url == "" || token == ""; {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatal("the server ended")
			}
			if m := servingPattern.FindStringSubmatch(line); m != nil {
				w.url = m[1]
			}
			if strings.Contains(line, "no owner yet") {
				_, token, _ = strings.Cut(operator.SetupLink(data), "?token=")
			}
		case <-late:
			t.Fatal("the server does not say where it serves")
		}
	}
	return token
}

// people creates an owner and a member, each with a key.
func (w *world) people(t *testing.T, token string) {
	t.Helper()
	ctx := t.Context()
	owner := w.browser(t)
	if _, err := owner.SetUp(ctx, wire.NewcomerRequest{Value: token, Email: "ada@example.org", Name: "Ada", Password: password}); err != nil {
		t.Fatal(err)
	}
	w.ownerKey = w.key(t, owner, wire.CreateKeyRequest{Name: "apitest", Scopes: []wire.Scope{"search", "git", "admin"}})
	invitation, err := owner.Invite(ctx, wire.InviteRequest{Email: "grace@example.org", Role: "MEMBER"})
	if err != nil {
		t.Fatal(err)
	}
	member := w.browser(t)

	joined, err := member.AcceptInvitation(ctx, wire.AcceptInvitationRequest{Value: invitation.Value, Name: "Grace", Password: password})
	if err != nil {
		t.Fatal(err)
	}
	w.member = joined.User.ID
	w.memberKey = w.key(t, member, wire.CreateKeyRequest{Name: "apitest", Scopes: []wire.Scope{"search", "git"}})
}

func (w *world) key(t *testing.T, c *client.Client, r wire.CreateKeyRequest) string {
	t.Helper()
	k, err := c.CreateKey(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return k.Key
}

// browser returns a client that keeps its cookies.
func (w *world) browser(t *testing.T) *client.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(w.url, client.Options{Transport: &cookies{jar}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// cookies sends back the cookies that a server sets.
type cookies struct{ jar http.CookieJar }

// RoundTrip implements http.RoundTripper.
func (c *cookies) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for _, cookie := range c.jar.Cookies(r.URL) {
		r.AddCookie(cookie)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		c.jar.SetCookies(r.URL, response.Cookies())
	}
	return response, err
}

// index registers the repository and waits until it is searchable.
func (w *world) index(t *testing.T, path string) {
	t.Helper()
	c, err := client.New(w.url, client.Options{APIKey: w.ownerKey})
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := c.RegisterRepository(t.Context(), wire.RegisterRequest{Path: path, Name: repositoryName})
	if err != nil {
		t.Fatal(err)
	}
	w.repoID = accepted.RepoID
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		status, err := c.GetRepositoryStatus(ctx, w.repoID)
		if err == nil && status.State == wire.RepositoryStatusStateIndexed {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal(fmt.Errorf("the repository is not indexed: %v, %w", status, err))
		}
	}
}
