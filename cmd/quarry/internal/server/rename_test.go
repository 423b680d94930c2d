package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/pipeline/discovery/hosttest"
	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/ledger"
)

// TestRenamedRepository renames a repository at its host, whose API does not answer, and
// pushes to it. The host redirects the former clone URL, as GitHub, GitLab, Gitea and
// Bitbucket do. The push is found, and the repository keeps its ID. One that was registered
// by hand is recognized by an earlier delivery; without one, the check for drift finds it.
func TestRenamedRepository(t *testing.T) {
	for _, kind := range []code.HostKind{code.GitHub, code.GitLab, code.Gitea, code.BitbucketServer} {
		for _, how := range []string{registeredByDelivery, registeredByHand, registeredUnheard} {
			t.Run(string(kind)+" "+how, func(t *testing.T) {
				t.Parallel()
				testRename(t, kind, how)
			})
		}
	}
}

// How a repository was registered before it is renamed.
const (
	registeredByDelivery = "registered by a delivery"
	registeredByHand     = "registered by hand, with a delivery"
	registeredUnheard    = "registered by hand, without a delivery"
)

func testRename(t *testing.T, kind code.HostKind, how string) {
	byHand, interval := how != registeredByDelivery, "1h"
	if how == registeredUnheard {
		interval = "1s"
	}
	below := map[code.HostKind]string{code.BitbucketServer: "scm"}[kind]
	root := t.TempDir()
	dir := func(name string) string { return filepath.Join(root, below, "acme", name+".git") }
	g := gittest.New(t)
	g.CommitFiles("a.txt", "vuvuzela\n")
	if err := os.MkdirAll(filepath.Dir(dir("old")), 0o755); err != nil {
		t.Fatal(err)
	}
	g.Git("clone", "--quiet", "--bare", g.Dir, dir("old"))
	var renamed atomic.Bool
	git := gittest.HTTPHandler(t, root)
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case renamed.Load() && strings.HasSuffix(r.URL.Path, "/acme/old.git/info/refs"): // a fetch that has begun goes on
			http.Redirect(w, r, strings.Replace(r.URL.RequestURI(), "/old.git/", "/new.git/", 1), http.StatusMovedPermanently)
		case strings.Contains(r.URL.Path, ".git/"):
			git.ServeHTTP(w, r)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(host.Close)
	c := testConfig(t, "git.allowedProtocols=http", "git.allowedNetworks=127.0.0.0/8", "pipeline.maxAttempts=1", "pipeline.reconcileInterval="+interval)
	c.Connections = []config.Connection{{Name: "hub", Kind: kind, URL: host.URL, AutoRegister: !byHand, Secrets: []config.Secret{config.NewSecret("s3cret")}}}
	s := runServer(t, c)
	deliver := func(name string) int {
		m := &hintModel{kind: kind, base: host.URL}
		request, err := signModelDelivery(kind, "hub", "d-"+name, m.pushOf(hosttest.Repo{ID: 7, Owner: "acme", Name: name, Branch: "main"}), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		rec := httptest.NewRecorder()
		s.receiver.ServeHTTP(rec, request)
		return rec.Code
	}
	finds := func(word string) bool {
		_, body := s.asOperator(t, http.MethodPost, "/api/search", `{"query":"`+word+`","matches":10}`, "reading")
		return strings.Contains(body, "a.txt")
	}
	clone := strings.TrimSuffix(host.URL+"/"+below, "/") + "/acme/"
	if byHand {
		var r registration
		if status := postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"cloneUrl":%q}`, clone+"old.git"), &r); status != http.StatusAccepted {
			t.Fatalf("register: %d %s", status, r.Message)
		}
	}
	if how != registeredUnheard {
		waitUntil(t, func() bool { return deliver("old") == http.StatusAccepted }) // 503 until the catalog has caught up
	}
	waitUntil(t, func() bool { return finds("vuvuzela") })
	s.awaitWorkers(t) // a fetch that begins after the rename would fail, also one for an earlier push
	before := s.versions.Live().Catalog.Snapshot().ByName()[0].Repository

	g.Git("clone", "--quiet", "--bare", dir("old"), dir("new")) // a rename would fail fetches that have begun
	renamed.Store(true)
	g.CommitFiles("a.txt", "ocarina\n")
	g.Git("push", "--quiet", dir("new"), "HEAD:main")
	if status := deliver("new"); status != http.StatusAccepted && how != registeredUnheard {
		t.Errorf("the delivery of a push after the rename: %d", status)
	}
	eventuallyOr(t, func() bool { return finds("ocarina") }, func() string {
		letters, _ := s.follower.List(ledger.DeadLetterQuery{})
		return fmt.Sprintf("the push is not found; registered as %+v, dead letters %+v", s.versions.Live().Catalog.Snapshot().ByName()[0].Repository, letters)
	})
	var after code.Repository
	eventuallyOr(t, func() bool {
		after = s.versions.Live().Catalog.Snapshot().ByName()[0].Repository
		return after.CloneURL == clone+"new.git"
	}, func() string { return fmt.Sprintf("the clone URL stays %s, want %snew.git", after.CloneURL, clone) })
	if after.Name != strings.TrimSuffix(before.Name, "old")+"new" || after.ID != before.ID || after.Private != before.Private {
		t.Errorf("registered as %+v, before the rename as %+v", after, before)
	}
	if n := s.versions.Live().Catalog.Snapshot().Len(); n != 1 {
		t.Errorf("%d repositories are registered, want 1", n)
	}
	if byHand { // another repository takes the former clone URL
		if err := os.RemoveAll(dir("old")); err != nil {
			t.Fatal(err)
		}
		g.Git("clone", "--quiet", "--bare", g.Dir, dir("old"))
		renamed.Store(false)
		var r registration
		if status := postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"cloneUrl":%q}`, clone+"old.git"), &r); status != http.StatusAccepted || r.RepoID != 2 {
			t.Errorf("register another repository at the former clone URL: %d as repository %d %s", status, r.RepoID, r.Message)
		}
		awaitStatus(t, s, r.RepoID, r.isApplied)
		if known, _ := s.versions.Live().Catalog.Snapshot().ByID(before.ID); known == nil || known.CloneURL != after.CloneURL {
			t.Errorf("the moved repository is registered as %+v, want it unchanged", known)
		}
	}
	if letters, n := s.follower.List(ledger.DeadLetterQuery{}); n != 0 {
		t.Errorf("%d dead letters: %+v", n, letters)
	}
}

// TestRenameByHand moves a repository that was registered by its path to a host, under
// another name, so that name, host and path change at once. It keeps its ID, and its text
// is found under the new name only.
func TestRenameByHand(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	g := gittest.New(t)
	g.CommitFiles("a.txt", "vuvuzela\n")
	local, remote := filepath.Join(root, "old"), filepath.Join(root, "tea", "new.git")
	g.Git("clone", "--quiet", "--bare", g.Dir, local)
	g.CommitFiles("a.txt", "ocarina\n")
	g.Git("clone", "--quiet", "--bare", g.Dir, remote)
	host := httptest.NewServer(gittest.HTTPHandler(t, root))
	t.Cleanup(host.Close)
	s := runServer(t, testConfig(t, "git.allowedProtocols=http,file", "git.allowedNetworks=127.0.0.0/8", "git.allowedRoots="+root))
	var r registration
	if status := postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q,"name":"meadow/old"}`, local), &r); status != http.StatusAccepted {
		t.Fatalf("register: %d %s", status, r.Message)
	}
	awaitStatus(t, s, r.RepoID, r.isApplied)
	before := s.versions.Live().Catalog.Snapshot().ByName()[0].Repository

	address := fmt.Sprintf("/api/repos/%d", r.RepoID)
	if status, body := s.asOperator(t, http.MethodPatch, address, fmt.Sprintf(`{"name":"tea/new","cloneUrl":%q}`, host.URL+"/tea/absent.git"), "rename to an absent one"); status != http.StatusForbidden {
		t.Errorf("rename to a clone URL without a repository: %d %s", status, body)
	}
	status, body := s.asOperator(t, http.MethodPatch, address, fmt.Sprintf(`{"name":"tea/new","cloneUrl":%q}`, host.URL+"/tea/new.git"), "rename")
	if err := json.Unmarshal([]byte(body), &r); status != http.StatusAccepted || err != nil || r.RepoName != "tea/new" {
		t.Fatalf("rename: %d %s: %v", status, body, err)
	}
	awaitStatus(t, s, r.RepoID, r.isApplied)
	after := s.versions.Live().Catalog.Snapshot().ByName()[0].Repository
	if after.ID != before.ID || after.Name != "tea/new" || after.CloneURL != host.URL+"/tea/new.git" {
		t.Errorf("registered as %+v, before as %+v", after, before)
	}
	for query, want := range map[string]bool{"ocarina repo:tea/new": true, "ocarina repo:meadow/old": false, "vuvuzela": false} {
		if _, body := s.asOperator(t, http.MethodPost, "/api/search", `{"query":"`+query+`","matches":10}`, query); strings.Contains(body, "a.txt") != want {
			t.Errorf("%s: found %t, want %t: %s", query, !want, want, body)
		}
	}
	if letters, n := s.follower.List(ledger.DeadLetterQuery{}); n != 0 {
		t.Errorf("%d dead letters: %+v", n, letters)
	}
}
