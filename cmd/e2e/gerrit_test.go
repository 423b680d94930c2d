package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// readLines calls handle with each line.
func readLines(r io.Reader, handle func(line []byte)) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		handle(lines.Bytes())
	}
}

// TestGerrit runs a real Gerrit. Its projects are discovered, fetched without
// refs/changes, and followed by the events that it streams, which the test posts like the
// plugin "webhooks".
func TestGerrit(t *testing.T) {
	t.Parallel()
	g := startGerrit(t)
	root := t.TempDir()
	g.call(http.MethodPost, "projects/All-Projects/access", object{"add": object{"refs/heads/*": object{"permissions": object{
		"push":   object{"rules": object{"global:Registered-Users": object{"action": "ALLOW", "force": true}}},
		"delete": object{"rules": object{"global:Registered-Users": object{"action": "ALLOW", "force": true}}},
	}}}})
	for _, name := range []string{"meadow%2Ftool", "meadow%2Fold", "forest%2Fother"} {
		g.call(http.MethodPut, "projects/"+name, object{"create_empty_commit": true, "branches": []string{"main"}, "description": "of " + strings.ReplaceAll(name, "%2F", "/")})
	}
	g.call(http.MethodPut, "projects/meadow%2Fold/config", object{"state": "READ_ONLY", "description": "of meadow/old"})

	tree := filepath.Join(root, "tree")
	clone := strings.Replace(g.base, "://", "://admin:"+gerritPassword+"@", 1) + "/a/meadow/tool"
	must(t, runGit("", "clone", "-q", clone, tree))
	w := &hostTree{t: t, dir: tree}
	w.commit("vuvuzela")
	w.push("HEAD:refs/heads/main")

	proxy := newSwitchedProxy(t)
	s := startGerritIndex(t, root, g, proxy.URL)
	w.server, w.repository = s, strings.TrimPrefix(g.base, "http://")+"/meadow/tool"
	w.await("vuvuzela", 1)
	checkGerritListing(t, s, g)

	var silent atomic.Bool
	g.streamEvents(func(line []byte) {
		if silent.Load() {
			return
		}
		status, answer, err := sendRequest(http.MethodPost, s.url+"/webhooks/gerrit/review?token="+gerritToken, http.Header{"Content-Type": {"application/json"}}, line)
		if err != nil || status/100 != 2 {
			t.Errorf("%s: %d %s, %v", line, status, answer, err)
		}
	})
	w.commit("ocarina")
	start := time.Now()
	w.push("HEAD:refs/heads/main")
	w.await("ocarina", 1)
	t.Logf("a push was found %v after git push began", time.Since(start).Round(time.Millisecond))

	w.git("checkout", "-q", "-b", "next")
	w.commit("theorbo")
	w.push("HEAD:refs/heads/next")
	w.await("theorbo rev:next", 1)
	w.git("reset", "-q", "--hard", "HEAD~1")
	w.commit("cittern")
	w.push("+HEAD:refs/heads/next")
	w.await("cittern rev:next", 1)
	w.await("theorbo rev:*", 0)

	// A change for review is not a branch: it is neither fetched nor found.
	w.git("checkout", "-q", "main")
	w.commit("sackbut")
	w.push("HEAD:refs/for/main%topic=review")
	w.git("checkout", "-q", "next")
	w.push("HEAD:refs/heads/renamed", ":refs/heads/next") // this is how git renames a branch
	w.await("cittern rev:renamed", 1)
	w.await("cittern rev:next", 0)
	w.push(":refs/heads/renamed")
	w.await("cittern rev:*", 0)
	w.await("sackbut rev:*", 0)
	checkMirrorRefs(t, filepath.Join(root, "data", "mirrors"))

	// HEAD follows the host.
	w.git("checkout", "-q", "main")
	w.git("reset", "-q", "--hard", "HEAD~1")
	w.commit("hurdygurdy")
	w.push("HEAD:refs/heads/trunk")
	g.call(http.MethodPut, "projects/meadow%2Ftool/HEAD", object{"ref": "refs/heads/trunk"})
	w.await("hurdygurdy", 1)

	changeGerritProjects(t, g, w)
	silent.Store(true)
	missPushWhileDown(t, root, w, proxy)
}

// changeGerritProjects creates a project, which a sync finds, and makes one read-only and
// writable again. A hidden project is not removed by the first listing that lacks it.
func changeGerritProjects(t *testing.T, g *gerritServer, w *hostTree) {
	t.Helper()
	sync := func() {
		c, stderr := w.server.newCommand("connections", "sync", "review", "--wait")
		if out, err := c.Output(); err != nil {
			t.Fatalf("sync: %v\n%s%s", err, out, stderr)
		}
	}
	archived := func(name string) (archived, listed bool) {
		_, answer, err := sendRequest(http.MethodGet, w.server.url+"/api/repos", http.Header{}, nil)
		must(t, err)
		var all []struct {
			RepoDisplayName string
			IsArchived      bool
		}
		must(t, json.Unmarshal([]byte(answer), &all))
		for _, r := range all {
			if r.RepoDisplayName == name {
				return r.IsArchived, true
			}
		}
		return false, false
	}
	g.call(http.MethodPut, "projects/meadow%2Flater", object{"create_empty_commit": true, "branches": []string{"main"}})
	for _, state := range []string{"READ_ONLY", "ACTIVE"} {
		want := state == "READ_ONLY"
		g.call(http.MethodPut, "projects/meadow%2Ftool/config", object{"state": state})
		sync()
		if !pollUntil(func() bool { is, listed := archived("meadow/tool"); return listed && is == want }) {
			t.Errorf("the project is %s and archived here: %t", state, !want)
		}
	}
	if !pollUntil(func() bool { _, listed := archived("meadow/later"); return listed }) {
		t.Error("a project that was created later is not listed")
	}
	g.call(http.MethodPut, "projects/meadow%2Flater/config", object{"state": "HIDDEN"})
	sync()
	if _, listed := archived("meadow/later"); !listed {
		t.Error("one listing without a project removed it")
	}
}

// missPushWhileDown makes the host unavailable to the server during a push that no event
// announces. Nothing is removed, and the push is found once the host is available again.
func missPushWhileDown(t *testing.T, root string, w *hostTree, proxy *switchedProxy) {
	t.Helper()
	must(t, w.server.stop())
	proxy.off.Store(true)
	w.server = runServer(t, root, "--config", filepath.Join(root, "quarry.yaml"), "--data", filepath.Join(root, "data"),
		"--set", "pipeline.reconcileInterval=2s", "--set", "pipeline.reconcileGrace=1s")
	w.commit("crumhorn")
	w.push("HEAD:refs/heads/trunk")
	c, _ := w.server.newCommand("connections", "sync", "review", "--wait")
	if out, err := c.Output(); err == nil || !strings.Contains(string(out), "unreachable") {
		t.Errorf("a sync of a host that is down: %v\n%s", err, out)
	}
	w.await("hurdygurdy", 1)
	w.await("crumhorn", 0)
	proxy.off.Store(false)
	w.await("crumhorn", 1)
}

// gerritToken is the secret in the URL of the webhooks.
const gerritToken = "a-word-in-the-url"

// startGerritIndex starts a server with a connection to Gerrit through a proxy.
func startGerritIndex(t *testing.T, root string, g *gerritServer, proxy string) *server {
	t.Helper()
	passwordFile := filepath.Join(root, "password")
	writeTextFile(t, passwordFile, gerritPassword+"\n")
	config, err := json.Marshal(object{
		"git": object{"allowedNetworks": []string{"127.0.0.0/8"}},
		"connections": []any{object{
			"name": "review", "kind": "gerrit", "url": g.base + "/a", "user": "admin", "token": "file:" + passwordFile, "proxy": proxy,
			"secrets": []string{gerritToken}, "discover": object{"projects": []string{"meadow/*"}}, "branches": []string{"*"},
		}},
	})
	must(t, err)
	writeTextFile(t, filepath.Join(root, "quarry.yaml"), string(config))
	return runServer(t, root, "--config", filepath.Join(root, "quarry.yaml"), "--data", filepath.Join(root, "data"))
}

// runServer starts a server and stops it, without errors, when the test ends.
func runServer(t *testing.T, root string, args ...string) *server {
	t.Helper()
	s, err := startServer(root, os.Environ(), args...)
	must(t, err)
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Errorf("stop: %v\n%s", err, s.output)
		}
	})
	return s
}

// checkGerritListing compares the registered repositories with those of Gerrit.
func checkGerritListing(t *testing.T, s *server, g *gerritServer) {
	t.Helper()
	want := map[string]bool{"meadow/old": true, "meadow/tool": false} // whether the project is archived
	seen := ""
	if !pollUntil(func() bool {
		_, answer, err := sendRequest(http.MethodGet, s.url+"/api/repos", http.Header{}, nil)
		var listed []struct {
			RepoDisplayName, DefaultBranch, ExternalWebURL, Description string
			IsArchived                                                  bool
		}
		if err != nil || json.Unmarshal([]byte(answer), &listed) != nil {
			return false
		}
		seen = answer
		for _, r := range listed {
			if archived, found := want[r.RepoDisplayName]; !found || archived != r.IsArchived || r.DefaultBranch != "main" || r.Description != "of "+r.RepoDisplayName {
				return false
			}
		}
		return len(listed) == len(want)
	}) {
		t.Fatalf("registered: %s, want %v", seen, want)
	}
	_, answer, err := sendRequest(http.MethodGet, s.url+"/api/connections", http.Header{}, nil)
	if err != nil || strings.Contains(answer, gerritPassword) || !strings.Contains(answer, `"review"`) {
		t.Errorf("connections: %s, %v", answer, err)
	}
}

// checkMirrorRefs fails the test if a mirror contains no ref, or refs that are neither
// branches nor tags.
func checkMirrorRefs(t *testing.T, mirrors string) {
	t.Helper()
	var heads []string
	must(t, filepath.WalkDir(mirrors, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "HEAD" && !d.IsDir() {
			heads = append(heads, path)
		}
		return err
	}))
	refs := ""
	for _, head := range heads {
		out, err := exec.Command("git", "--git-dir", filepath.Dir(head), "for-each-ref").CombinedOutput()
		must(t, err)
		refs += string(out)
	}
	if strings.Contains(refs, "refs/changes/") || strings.Contains(refs, "refs/meta/") || !strings.Contains(refs, "refs/") {
		t.Errorf("the mirrors have:\n%s", refs)
	}
}
