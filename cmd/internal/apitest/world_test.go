package apitest

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/testserver"
	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// world is a server with a repository and users.
type world struct {
	url    string
	repoID int64
	member string // ID of the member
	// These are keys with all scopes of their users, and the operator's token.
	ownerKey, memberKey, operator string
}

// These are the names in the examples of the document.
const (
	repositoryName = "github.com/meadow/kettle"
	password       = "a long enough secret"
)

// newWorld starts a server that runs until the test ends.
func newWorld(t *testing.T) *world {
	t.Helper()
	repository := filepath.Join(t.TempDir(), "repositories", "kettle")
	testserver.MakeRepository(t, repository)
	server := testserver.Start(t, testserver.Build(t), filepath.Dir(repository))
	w := &world{url: server.URL, operator: server.OperatorToken}
	w.createUsers(t, server.SetupToken)
	w.indexRepository(t, repository)
	return w
}

// createUsers creates an owner and a member, each with a key.
func (w *world) createUsers(t *testing.T, token string) {
	t.Helper()
	ctx := t.Context()
	owner := w.newBrowser(t)
	if _, err := owner.SetUp(ctx, wire.NewcomerRequest{Value: token, Email: "ada@example.org", Name: "Ada", Password: password}); err != nil {
		t.Fatal(err)
	}
	w.ownerKey = w.createKey(t, owner, wire.CreateKeyRequest{Name: "apitest", Scopes: []wire.Scope{"search", "git", "admin"}})
	invitation, err := owner.Invite(ctx, wire.InviteRequest{Email: "grace@example.org", Role: "MEMBER"})
	if err != nil {
		t.Fatal(err)
	}
	member := w.newBrowser(t)

	joined, err := member.AcceptInvitation(ctx, wire.AcceptInvitationRequest{Value: invitation.Value, Name: "Grace", Password: password})
	if err != nil {
		t.Fatal(err)
	}
	w.member = joined.User.ID
	w.memberKey = w.createKey(t, member, wire.CreateKeyRequest{Name: "apitest", Scopes: []wire.Scope{"search", "git"}})
}

func (w *world) createKey(t *testing.T, c *client.Client, r wire.CreateKeyRequest) string {
	t.Helper()
	k, err := c.CreateKey(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return k.Key
}

// newBrowser returns a client that stores cookies.
func (w *world) newBrowser(t *testing.T) *client.Client {
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

// cookies sends back the cookies that a server has set.
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

// indexRepository registers the repository and waits until it is searchable.
func (w *world) indexRepository(t *testing.T, path string) {
	t.Helper()
	c, err := client.New(w.url, client.Options{APIKey: w.ownerKey})
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := c.RegisterRepository(t.Context(), wire.RegisterRequest{Path: path, Name: repositoryName})
	if err != nil {
		t.Fatal(err)
	}
	w.repoID = int64(accepted.RepoID)
	ctx := clocktest.NewContext(t)
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
