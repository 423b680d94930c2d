package connections

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestCheckListsWhatTheServerWouldRegister checks two connections to repositories on
// disk. The policy refuses one of them.
func TestCheckListsWhatTheServerWouldRegister(t *testing.T) {
	allowed, refused := t.TempDir(), t.TempDir()
	for _, dir := range []string{filepath.Join(allowed, "kettle"), filepath.Join(allowed, "spoon"), filepath.Join(refused, "cup")} {
		if out, err := exec.Command("git", "init", "--quiet", dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	c := config.Default()
	c.Git.AllowedRoots = []string{allowed}
	for name, root := range map[string]string{"allowed": allowed, "refused": refused} {
		c.Connections = append(c.Connections, config.Connection{Name: name, Kind: code.GenericGitHost, Discover: config.Discover{Repos: []string{"file://" + root + "/*"}}})
	}
	found, err := Check(t.Context(), &c, "allowed")
	if err != nil || len(found) != 1 || len(found[0].Repositories) != 2 || len(found[0].Issues) != 0 || !slices.IsSorted(found[0].Repositories) {
		t.Errorf("the allowed connection finds %+v: %v", found, err)
	}
	found, err = Check(t.Context(), &c, "refused")
	if err != nil || len(found) != 1 || len(found[0].Issues) == 0 {
		t.Errorf("the refused connection finds %+v: %v", found, err)
	}
	if found, err = Check(t.Context(), &c, ""); err != nil || len(found) != 2 {
		t.Errorf("all connections find %+v: %v", found, err)
	}
	if _, err := Check(t.Context(), &config.Config{}, ""); !errors.Is(err, ErrNoConnection) || !strings.HasSuffix(err.Error(), "--config") {
		t.Errorf("without connections, the error is %v", err)
	}
	if _, err := Check(t.Context(), &c, "other"); !errors.Is(err, ErrNoConnection) {
		t.Errorf("a connection that is not configured: %v", err)
	}
}

// TestHooksNeedAConnection checks that the error names the connection.
func TestHooksNeedAConnection(t *testing.T) {
	c := config.Default()
	if _, err := OpenHooks(t.Context(), &c, "hub"); err == nil || !strings.Contains(err.Error(), `"hub"`) {
		t.Errorf("webhooks of a connection that is not configured: %v", err)
	}
	c.PublicURL = "https://quarry.example/"
	c.Connections = []config.Connection{{Name: "hub", Kind: code.GitHub, Discover: config.Discover{Orgs: []string{"tea"}}, Secrets: []config.Secret{config.NewSecret("0123456789abcdef")}, Token: config.NewSecret("tok")}}
	if registrar, err := OpenHooks(t.Context(), &c, "hub"); err != nil || registrar == nil {
		t.Errorf("webhooks of a configured connection: %v", err)
	}
}

// TestSyncStates checks the name of each state of a sync.
func TestSyncStates(t *testing.T) {
	ended := boot.Now()
	for want, st := range map[string]discovery.State{
		"elsewhere":  {Elsewhere: true, Running: true},
		"waiting":    {Running: true, WaitingUntil: ended.Add(time.Hour)},
		"running":    {Running: true},
		"never":      {},
		"complete":   {FinishedAt: ended, CompleteAt: ended},
		"incomplete": {FinishedAt: ended, CompleteAt: ended.Add(-time.Hour)},
	} {
		if got := syncState(&st); got != want {
			t.Errorf("%+v is %s, want %s", st, got, want)
		}
	}
}

// TestHooksOfUsers checks that each current repository of a user gets a webhook, except
// for those that are archived, are named themselves, or belong to an organization that
// has one.
func TestHooksOfUsers(t *testing.T) {
	hooked := map[string]int{}
	var host *httptest.Server
	host = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var answer any = []any{}
		switch {
		case r.Method == http.MethodPost:
			hooked[r.URL.Path]++
			answer = map[string]any{"id": 1}
		case r.URL.Path == "/api/v1/users/ann/repos" && r.URL.Query().Get("page") == "1":
			var repos []any
			for i, name := range []string{"ann/kettle", "ann/Named", "ann/archived", "tea/cup"} {
				repos = append(repos, map[string]any{"id": i + 1, "full_name": name, "clone_url": host.URL + "/" + name + ".git", "private": false, "archived": name == "ann/archived"})
			}
			answer = repos
		case r.URL.Path == "/api/v1/users/nobody/repos":
			w.WriteHeader(http.StatusNotFound)
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(host.Close)
	c := config.Default()
	c.PublicURL = "https://quarry.example"
	c.Git.AllowedNetworks = []string{"127.0.0.0/8"}
	c.Connections = []config.Connection{{
		Name: "hub", Kind: code.Gitea, URL: host.URL, Discover: config.Discover{Users: []string{"ann"}, Orgs: []string{"Tea"}, Repos: []string{"ann/named"}},
		Secrets: []config.Secret{config.NewSecret("0123456789abcdef")}, Token: config.NewSecret("tok"),
	}}
	registrar, err := OpenHooks(t.Context(), &c, "hub")
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range registrar.Install(t.Context()) {
		if result.Err != nil {
			t.Errorf("%+v", result)
		}
	}
	want := map[string]int{"/api/v1/repos/ann/kettle/hooks": 1, "/api/v1/repos/ann/named/hooks": 1, "/api/v1/orgs/Tea/hooks": 1}
	if !maps.Equal(hooked, want) {
		t.Errorf("webhooks at %v, want %v", hooked, want)
	}
	c.Connections[0].Discover.Users = []string{"ann", "nobody"}
	if _, err := OpenHooks(t.Context(), &c, "hub"); err == nil || !strings.Contains(err.Error(), "not_found: nobody") {
		t.Errorf("webhooks of an unknown user: %v", err)
	}
}
