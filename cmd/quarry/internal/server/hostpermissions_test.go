package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/ingest/ingesttest"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// memberHost serves the part of GitHub's API that a private repository with collaborators
// needs.
type memberHost struct {
	*httptest.Server
	mu      sync.Mutex
	members []int
	down    bool
}

func (h *memberHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	vault := map[string]any{"id": 7, "full_name": "acme/vault", "private": true, "clone_url": h.URL + "/acme/vault.git", "default_branch": "main", "owner": map[string]any{"id": 3}}
	var answer any
	switch path := strings.TrimPrefix(r.URL.Path, "/api/v3"); {
	case h.down:
		w.WriteHeader(http.StatusNotFound)
		answer = map[string]any{"message": "Not Found"}
	case path == "/repos/acme/vault":
		answer = vault
	case path == "/repos/acme/vault/collaborators":
		users := []any{}
		for _, id := range h.members {
			users = append(users, map[string]any{"id": id, "permissions": map[string]bool{"pull": true}})
		}
		answer = users
	default:
		w.WriteHeader(http.StatusNotFound)
		answer = map[string]any{"message": "Not Found"}
	}
	_ = json.NewEncoder(w).Encode(answer) // the client notices an incomplete response
}

func (h *memberHost) set(down bool, members ...int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down, h.members = down, members
}

// TestHostPermissionsAreFollowed follows a user's access from the code host to the API:
// it is granted, kept while the host fails, revoked by a webhook, and revoked when the
// option is turned off.
func TestHostPermissionsAreFollowed(t *testing.T) {
	host := &memberHost{members: []int{9}}
	host.Server = httptest.NewServer(host)
	t.Cleanup(host.Close)
	t.Setenv("HUB_TOKEN", "s3cret")
	t.Setenv("HUB_SECRET", "hook-secret")
	hub := config.Connection{
		Name: "hub", Kind: "github", URL: host.URL, Discover: config.Discover{Repos: []string{"acme/vault"}},
		Permissions: config.Permissions{Read: true, Provider: "company"},
	}
	c := testConfig(t, "git.allowedNetworks=127.0.0.0/8")
	if err := hub.Token.UnmarshalText([]byte("env:HUB_TOKEN")); err != nil {
		t.Fatal(err)
	}
	hub.Secrets = make([]config.Secret, 1)
	if err := hub.Secrets[0].UnmarshalText([]byte("env:HUB_SECRET")); err != nil {
		t.Fatal(err)
	}
	c.Connections = []config.Connection{hub}
	c.Access.AdmitAll = true
	c.Access.OIDC = []config.OIDC{{Name: "company", Issuer: "https://id.example.org", ClientID: "quarry", HostClaim: "github_id"}}
	c.PublicURL = "http://127.0.0.1"
	s := runServer(t, c)
	here := account.Actor{Kind: account.ActorAnonymous, Address: "192.0.2.1"}
	if _, err := s.auth.Setup(t.Context(), here, auth.Newcomer{Value: s.auth.SetupValue(), Email: "ada@example.org", Name: "Ada", Password: "correct horse battery"}); err != nil {
		t.Fatal(err)
	}
	eve, err := s.auth.SignInIdentity(t.Context(), here, auth.Identified{
		Identity: account.Identity{Issuer: "https://id.example.org", Subject: "eve"}, Email: "eve@example.org", EmailVerified: true,
		HostUser: account.Identity{Issuer: "https://id.example.org#github_id", Subject: "1042"},
	})
	if err != nil {
		t.Fatal(err)
	}
	sees := func() bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"/api/repos", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.AddCookie(&http.Cookie{Name: auth.CookieName, Value: eve.Value})
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }() // the body is read completely
		var listed []struct{ RepoName string }
		if err := json.NewDecoder(response.Body).Decode(&listed); err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%d: %v", response.StatusCode, err)
		}
		return len(listed) == 1
	}
	sendHook := func(actions ...string) {
		action := strings.Join(append(actions, "edited")[:1], "")
		body := `{"action": "` + action + `", "member": {"id": 1042}, "repository": {"id": 7, "full_name": "acme/vault", "clone_url": "` + host.URL + `/acme/vault.git"}}`
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/webhooks/github/hub", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-GitHub-Event", "member")
		request.Header.Set("X-Hub-Signature-256", ingesttest.SignHMAC("sha256=", []byte(body), []byte("hook-secret")))
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close() // only the status is needed
		if response.StatusCode/100 != 2 {
			t.Fatalf("webhook: %s", response.Status)
		}
	}
	read := func(users int) func() bool {
		return func() bool {
			all, _ := s.accounts.Directory.HostAccess()
			for _, a := range all {
				return len(a.Users) == users
			}
			return false
		}
	}
	vault := code.Repository{ID: code.NewRepositoryID(strings.TrimPrefix(host.URL, "http://"), "7")}
	waitUntil(t, func() bool { _, err := s.repositories.Find(t.Context(), vault); return err == nil })
	sendHook()
	waitUntil(t, read(1))
	if sees() {
		t.Error("seen by a user that the host does not name")
	}
	host.set(false, 9, 1042)
	sendHook()
	waitUntil(t, sees)
	host.set(true)
	sendHook()
	state := func() wire.ConnectionPermissions {
		var found []wire.Connection
		if _, body := getURL(t, s.URL()+"/api/connections"); json.Unmarshal([]byte(body), &found) != nil || len(found) != 1 {
			t.Fatalf("connections: %s", body)
		}
		return found[0].Permissions
	}
	waitUntil(t, func() bool { return state().Failing == 1 })
	if p := state(); p.State != "incomplete" || p.Repositories != 1 || p.OldestReadAt.IsZero() || !p.NextAt.After(p.LastReadAt.Time) ||
		len(p.Issues) != 1 || p.Issues[0].Code != "not_found" || !strings.HasSuffix(p.Issues[0].Target, "/acme/vault") || !strings.Contains(p.Issues[0].Message, "give the token access") {
		t.Errorf("while the host fails: %+v", p)
	}
	owner := newVisitor(t, s)
	if status, _, text := owner.requestPage("/sign-in", htmlPage, url.Values{"email": {"ada@example.org"}, "password": {"correct horse battery"}}); status != http.StatusOK {
		t.Fatalf("sign in: %d\n%s", status, text)
	}
	owner.mustShow("/admin/connections", "1 of 1 failing", "not_found", "/acme/vault", "oldest reading")
	if !sees() {
		t.Error("access is gone while the host fails, before it is too old")
	}
	// A webhook that announces the removal ends the access, although the host fails.
	sendHook("removed")
	waitUntil(t, func() bool { return !sees() })
	waitUntil(t, read(1))
	host.set(false, 9, 1042)
	sendHook()
	waitUntil(t, sees)
	host.set(false, 9)
	sendHook()
	waitUntil(t, func() bool { return !sees() })
	waitUntil(t, func() bool { p := state(); return p.State == "complete" && p.Failing == 0 && len(p.Issues) == 0 })
	host.set(false, 9, 1042)
	sendHook()
	waitUntil(t, sees)
	off := *c
	off.Connections = []config.Connection{hub}
	off.Connections[0].Permissions = config.Permissions{}
	s.setPermissions(&off)
	if sees() {
		t.Error("seen without the option")
	}
}
