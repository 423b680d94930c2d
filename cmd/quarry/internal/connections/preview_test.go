package connections

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/codehosts"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestPreview checks a connection to a host that the settings allow, and that a preview of others
// contacts nothing, lists no directories, and never tells its token.
func TestPreview(t *testing.T) {
	const token = "secret-of-ann"
	var asked atomic.Int64
	var host *httptest.Server
	host = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		if !strings.Contains(r.Header.Get("Authorization"), token) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprintf(w, `{"message":"no user has %s"}`, r.Header.Get("Authorization"))
			return
		}
		repos := []any{}
		if r.URL.Query().Get("page") == "1" {
			for i, name := range []string{"ann/kettle", "ann/cup"} {
				repos = append(repos, map[string]any{"id": i + 1, "full_name": name, "clone_url": host.URL + "/" + name + ".git"})
			}
		}
		if err := json.NewEncoder(w).Encode(repos); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(host.Close)
	previewer := func(networks ...string) *Previewer {
		c := config.Default()
		c.Git.AllowedNetworks = networks
		hosts, err := codehosts.New(&c)
		if err != nil {
			t.Fatal(err)
		}
		return NewPreviewer(hosts, time.Minute)
	}
	ann := Wanted{Kind: code.Gitea, URL: host.URL, Token: token, Key: "users", Names: []string{"ann"}}
	found, err := previewer("127.0.0.0/8").Preview(t.Context(), ann)
	if err != nil || len(found.Issues) > 0 || len(found.Repositories) != 2 || !strings.HasSuffix(found.Repositories[0], "/ann/cup") {
		t.Errorf("found %+v: %v", found, err)
	}
	wrong := ann
	wrong.Token = "token-of-bob"
	if found, err := previewer("127.0.0.0/8").Preview(t.Context(), wrong); err != nil || len(found.Issues) != 1 || found.Issues[0].Code != "unauthorized" || strings.Contains(fmt.Sprint(found), wrong.Token) {
		t.Errorf("with another token, found %+v: %v", found, err)
	}
	before := asked.Load()
	if found, err := previewer().Preview(t.Context(), ann); err != nil || len(found.Issues) != 1 || found.Issues[0].Code != "refused" || strings.Contains(fmt.Sprint(found), token) {
		t.Errorf("at a host that the settings do not allow, found %+v: %v", found, err)
	}
	for _, in := range []Wanted{
		{Kind: code.GenericGitHost, Key: "repos", Names: []string{"file:///*"}},
		{Kind: code.GitLab, URL: host.URL, Key: "orgs", Names: []string{"ann"}},
		{Kind: code.GitHub, Key: "all"}, {Kind: code.Gitea, URL: host.URL, Key: "users"}, {Kind: "ftp", Key: "users", Names: []string{"ann"}}, {Kind: code.Gitea, Key: "tokens"},
		{Kind: code.Gitea, URL: "file:///etc", Token: token, Key: "users", Names: []string{"ann"}}, {Kind: code.Gitea, URL: "http://u:" + token + "@127.0.0.1", Key: "users", Names: []string{"ann"}},
	} {
		if found, err := previewer("127.0.0.0/8").Preview(t.Context(), in); err == nil || strings.Contains(err.Error(), token) || len(found.Repositories) > 0 {
			t.Errorf("%+v finds %+v: %v", in, found, err)
		}
	}
	if _, err := previewer("127.0.0.0/8").Preview(t.Context(), Wanted{Kind: code.Gitea, URL: host.URL, Key: "users"}); err == nil || err.Error() != "say what to look for: names, or all" {
		t.Errorf("without names: %v", err)
	}
	if asked.Load() != before {
		t.Error("a refused preview contacts the host")
	}
	busy := previewer("127.0.0.0/8")
	busy.busy.Lock()
	if _, err := busy.Preview(t.Context(), ann); err == nil || !strings.Contains(err.Error(), "another check") {
		t.Errorf("a second preview at the same time: %v", err)
	}
	if !slices.IsSorted(found.Repositories) {
		t.Errorf("the names are %v", found.Repositories)
	}
}
