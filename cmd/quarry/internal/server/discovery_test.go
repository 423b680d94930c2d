package server

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// connectionsFile writes the settings of a server that reads repositories below root.
func connectionsFile(t *testing.T, root, connections string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "quarry.yaml")
	if err := os.WriteFile(path, []byte("git: {allowedRoots: ["+root+"]}\nconnections:\n"+connections), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestConnectionsAreDiscovered follows a connection from the settings to the API: its
// repository is found, searched, changed at a reload, and removed with the connection.
func TestConnectionsAreDiscovered(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"kettle", "spoon"} {
		newGitRepositoryIn(t, root, name).runGitCommand("commit", "--quiet", "--allow-empty", "--message=first")
	}
	data := filepath.Join(t.TempDir(), "data")
	load := func(connections string) config.Config {
		c, _, err := config.Loader{File: connectionsFile(t, root, connections), Set: []string{"data=" + data, "listen=127.0.0.1:0"}}.Load()
		if err != nil {
			t.Fatal(err)
		}
		c.FitMemory(2<<30, 4)
		return c
	}
	first := load(`
  - {name: shelf, kind: genericGitHost, discover: {repos: ["file://` + root + `/*"]}}
  - {name: empty, kind: genericGitHost, discover: {repos: ["file://` + root + `/nothing/*"]}, secrets: [whsec_c2VjcmV0c2VjcmV0c2VjcmV0]}
`)
	s := runServer(t, &first)
	listed := func() map[string]wire.Connection {
		var found []wire.Connection
		_, body := getURL(t, s.URL()+"/api/connections")
		if err := json.Unmarshal([]byte(body), &found); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		out := map[string]wire.Connection{}
		for _, c := range found {
			out[c.Name] = c
		}
		return out
	}
	names := func() (out []string) {
		var found []wire.Repository
		_, body := getURL(t, s.URL()+"/api/repos")
		if err := json.Unmarshal([]byte(body), &found); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		for _, r := range found {
			out = append(out, filepath.Base(r.RepoName))
		}
		return out
	}
	waitUntil(t, func() bool { return slices.Equal(names(), []string{"kettle", "spoon"}) })
	waitUntil(t, func() bool { return listed()["shelf"].Sync.State == "complete" && listed()["empty"].ID != 0 })
	if c := listed()["shelf"]; c.Sync.Found != 2 || c.Sync.Registered != 2 || c.Hooks.State != "" || c.ConnectionType != "git" {
		t.Errorf("shelf: %+v", c)
	}
	if c := listed()["empty"]; c.Sync.State != "incomplete" || len(c.Sync.Issues) != 1 || c.Sync.Issues[0].Code != "not_found" || c.Hooks.State != "none" {
		t.Errorf("empty: %+v", c)
	}
	var answer any
	if status := postJSON(t, s.URL()+"/api/connections/sync", `{"name":"nobody"}`, &answer); status != http.StatusNotFound {
		t.Errorf("sync of a connection that is not there: %d", status)
	}
	before := listed()["shelf"].Sync.StartedAt
	if status := postJSON(t, s.URL()+"/api/connections/sync", `{"name":"shelf"}`, &answer); status != http.StatusAccepted {
		t.Errorf("sync: %d, want %d", status, http.StatusAccepted)
	}
	waitUntil(t, func() bool {
		c := listed()["shelf"].Sync
		return c.StartedAt.After(before.Time) && c.State == "complete"
	})
	if c := listed()["shelf"]; c.Sync.Registered+c.Sync.Changed != 0 {
		t.Errorf("a sync without a change: %+v", c.Sync)
	}

	s.reloader.Load = func() (config.Config, []string, error) {
		return load(`
  - {name: drawer, kind: genericGitHost, discover: {repos: ["` + root + `/spoon"]}}
`), nil, nil
	}
	s.reloader.Level = new(slog.LevelVar)
	s.reloader.reloadSettings()
	waitUntil(t, func() bool { return slices.Equal(names(), []string{"spoon"}) })
	if _, there := listed()["shelf"]; there {
		t.Error("a connection that is gone is listed")
	}
}

// TestConnectionStateIsForOwners checks that callers who are not owners see neither
// issues nor connections without a visible repository.
func TestConnectionStateIsForOwners(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	c.Connections = []config.Connection{{Name: "secret-plan", Kind: "genericGitHost", Discover: config.Discover{Repos: []string{"file:///nothing/*"}}}}
	s := runServer(t, c)
	waitUntil(t, func() bool {
		_, body := getURL(t, s.URL()+"/api/connections")
		var found []wire.Connection
		return json.Unmarshal([]byte(body), &found) == nil && len(found) == 1 && len(found[0].Sync.Issues) == 1
	})
	if body := askAnonymously(t, http.MethodGet, s.URL()+"/api/connections", ""); strings.TrimSpace(body) != "[]" {
		t.Errorf("without a credential: %s", body)
	}
}
