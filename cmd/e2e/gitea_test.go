package e2e

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/loopback"
)

// TestGiteaScenario follows an organization from its discovery to the removal of its
// repositories: on a stub of the documented API over a real git server, and on the live
// Gitea at QUARRY_E2E_GITEA_URL. QUARRY_E2E_GITEA_TOKEN is the token of an administrator
// there; that Gitea must be allowed to deliver webhooks to loopback (ALLOWED_HOST_LIST).
// No package registry has the program, so CI also skips the live test.
func TestGiteaScenario(t *testing.T) {
	t.Parallel()
	t.Run("API over git http-backend", func(t *testing.T) {
		stub := newGiteaStub(t)
		runGiteaScenario(t, &giteaHost{t: t, base: stub.url, token: stubToken})
	})
	t.Run("live", func(t *testing.T) {
		base, token := os.Getenv("QUARRY_E2E_GITEA_URL"), os.Getenv("QUARRY_E2E_GITEA_TOKEN")
		if base == "" || token == "" {
			t.Skip("QUARRY_E2E_GITEA_URL and QUARRY_E2E_GITEA_TOKEN name no live Gitea")
		}
		runGiteaScenario(t, &giteaHost{t: t, base: strings.TrimRight(base, "/"), token: token})
	})
}

// giteaHost is a Gitea with administrator access.
type giteaHost struct {
	t           *testing.T
	base, token string
	// org and other are organizations that the connection discovers, stray is one that it
	// does not, and user is the account of the connection.
	org, other, stray, user, password string
}

// call calls the API and decodes the response into out, unless out is nil.
func (h *giteaHost) call(method, path string, body, out any) {
	h.t.Helper()
	h.callAs(func(r *http.Request) { r.Header.Set("Authorization", "token "+h.token) }, method, path, body, out)
}

func (h *giteaHost) callAs(authorize func(*http.Request), method, path string, body, out any) {
	h.t.Helper()
	text, err := json.Marshal(body)
	must(h.t, err)
	r, err := http.NewRequest(method, h.base+"/api/v1/"+path, bytes.NewReader(text))
	must(h.t, err)
	r.Header.Set("Content-Type", "application/json")
	authorize(r)
	response, err := http.DefaultClient.Do(r)
	must(h.t, err)
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	must(h.t, err)
	if response.StatusCode/100 != 2 {
		h.t.Fatalf("%s %s: %d %s", method, path, response.StatusCode, answer)
	}
	if out != nil {
		must(h.t, json.Unmarshal(answer, out))
	}
}

// setUp creates the organizations and the account of the connection, which owns those that
// it discovers.
func (h *giteaHost) setUp() {
	h.t.Helper()
	suffix := strings.ToLower(rand.Text()[:10])
	h.org, h.other, h.stray, h.user, h.password = "meadow-"+suffix, "pasture-"+suffix, "stray-"+suffix, "indexer-"+suffix, "p-"+rand.Text()
	h.call(http.MethodPost, "admin/users", object{"username": h.user, "email": h.user + "@example.org", "password": h.password, "must_change_password": false}, nil)
	h.t.Cleanup(func() { h.call(http.MethodDelete, "admin/users/"+h.user+"?purge=true", nil, nil) })
	for _, org := range []string{h.org, h.other, h.stray} {
		h.call(http.MethodPost, "orgs", object{"username": org}, nil)
		h.t.Cleanup(func() { h.removeOrganization(org) })
		if org == h.stray {
			continue
		}
		var teams []struct{ ID int64 }
		h.call(http.MethodGet, "orgs/"+org+"/teams", nil, &teams)
		h.call(http.MethodPut, fmt.Sprintf("teams/%d/members/%s", teams[0].ID, h.user), nil, nil)
	}
}

// removeOrganization removes an organization with its repositories.
func (h *giteaHost) removeOrganization(org string) {
	h.t.Helper()
	var left []struct {
		FullName string `json:"full_name"`
	}
	h.call(http.MethodGet, "orgs/"+org+"/repos?page=1", nil, &left)
	for _, r := range left {
		h.call(http.MethodDelete, "repos/"+r.FullName, nil, nil)
	}
	h.call(http.MethodDelete, "orgs/"+org, nil, nil)
}

// createToken creates a token of the connection's account with the scopes that
// docs/connections.md lists.
func (h *giteaHost) createToken(name string) string {
	h.t.Helper()
	var made struct{ SHA1 string }
	h.callAs(h.authorizeUser, http.MethodPost, "users/"+h.user+"/tokens", object{"name": name, "scopes": []string{"read:user", "write:repository", "write:organization"}}, &made)
	return made.SHA1
}

func (h *giteaHost) revokeToken(name string) {
	h.t.Helper()
	h.callAs(h.authorizeUser, http.MethodDelete, "users/"+h.user+"/tokens/"+name, nil, nil)
}

func (h *giteaHost) authorizeUser(r *http.Request) { r.SetBasicAuth(h.user, h.password) }

// createRepository creates a repository of an organization and returns a work tree of it.
func (h *giteaHost) createRepository(root, org, name string, private bool) *hostTree {
	h.t.Helper()
	h.call(http.MethodPost, "orgs/"+org+"/repos", object{"name": name, "private": private, "default_branch": "main", "description": "A " + name}, nil)
	w := &hostTree{t: h.t, dir: filepath.Join(root, name)}
	w.must(runGit("", "init", "-q", "-b", "main", w.dir))
	w.git("remote", "add", "origin", h.cloneURL(org, name))
	return w
}

// cloneURL returns the URL to which the administrator pushes.
func (h *giteaHost) cloneURL(org, name string) string {
	return strings.Replace(h.base, "://", "://"+h.token+":x-oauth-basic@", 1) + "/" + org + "/" + name + ".git"
}

// switchedProxy is an HTTP proxy that can be turned off, which makes the host unavailable
// to the server.
type switchedProxy struct {
	*httptest.Server
	off atomic.Bool
}

func newSwitchedProxy(t *testing.T) *switchedProxy {
	p := &switchedProxy{}
	forward := &httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.off.Load() {
			panic(http.ErrAbortHandler)
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// giteaWalk is the scenario.
type giteaWalk struct {
	*giteaHost
	root, config, address, tokenFile string
	proxy                            *switchedProxy
	server                           *server
	tool, hidden                     *hostTree
}

func runGiteaScenario(t *testing.T, h *giteaHost) {
	w := &giteaWalk{giteaHost: h, root: t.TempDir(), proxy: newSwitchedProxy(t)}
	h.t = t
	h.setUp()
	w.tool, w.hidden = h.createRepository(w.root, h.org, "tool", false), h.createRepository(w.root, h.org, "hidden", true)
	for word, tree := range map[string]*hostTree{"vuvuzela": w.tool, "ocarina": w.hidden} {
		tree.commit(word)
		tree.push("HEAD:refs/heads/main")
	}
	w.start()
	t.Cleanup(func() {
		if err := w.server.stop(); err != nil {
			t.Errorf("stop: %v\n%s", err, w.server.output)
		}
	})
	w.tool.await("vuvuzela", 1)
	w.hidden.await("ocarina", 1)
	w.installHooks()
	w.pushAndMeasure()
	w.moveBranches()
	w.rename()
	w.createLater()
	w.changeVisibility()
	w.transfer()
	w.renameByHand()
	w.loseHooks()
	w.archive()
	w.removeRepository()
	w.revoke()
	w.takeDown()
}

// start writes the settings and starts the server.
func (w *giteaWalk) start() {
	var err error
	w.address, err = loopback.FreeAddress()
	must(w.t, err)
	w.tokenFile, w.config = filepath.Join(w.root, "token"), filepath.Join(w.root, "quarry.yaml")
	writeTextFile(w.t, w.tokenFile, w.createToken("first")+"\n")
	config, err := json.Marshal(object{
		"publicUrl": "http://" + w.address, "git": object{"allowedNetworks": []string{"127.0.0.0/8"}},
		"connections": []any{object{
			"name": "hub", "kind": "gitea", "url": w.base, "proxy": w.proxy.URL, "token": "file:" + w.tokenFile,
			"secrets": []string{"a-secret-of-" + w.org}, "discover": object{"orgs": []string{w.org, w.other}}, "branches": []string{"*"},
		}},
	})
	must(w.t, err)
	writeTextFile(w.t, w.config, string(config))
	w.run()
	host, err := url.Parse(w.base)
	must(w.t, err)
	w.tool.repository, w.hidden.repository = host.Host+"/"+w.org+"/tool", host.Host+"/"+w.org+"/hidden"
}

// run starts the server with additional arguments.
func (w *giteaWalk) run(args ...string) {
	w.t.Helper()
	s, err := startServerAt(w.address, w.root, os.Environ(), append([]string{"--config", w.config, "--data", filepath.Join(w.root, "data")}, args...)...)
	must(w.t, err)
	w.server, w.tool.server, w.hidden.server = s, s, s
}

// expect runs a command and fails the test unless it exits with the given status and
// prints the text.
func (w *giteaWalk) expect(exit int, text string, args ...string) {
	w.t.Helper()
	c, stderr := w.server.newCommand(args...)
	out, err := c.Output()
	if c.ProcessState == nil {
		w.t.Fatal(err)
	}
	if code := c.ProcessState.ExitCode(); code != exit || !strings.Contains(string(out), text) {
		w.t.Fatalf("quarry %s: exit %d, want %d and %q\n%s%s\n%s", strings.Join(args, " "), code, exit, text, out, stderr, w.server.output)
	}
}

func (w *giteaWalk) installHooks() {
	w.t.Helper()
	w.expect(0, w.org+": absent", "hooks", "status", "hub", "--config", w.config)
	w.expect(0, w.org+": installed", "hooks", "install", "hub", "--config", w.config)
	w.expect(0, w.org+": active", "hooks", "install", "hub", "--config", w.config)
}

// pushAndMeasure pushes and logs the time until each push is searchable.
func (w *giteaWalk) pushAndMeasure() {
	w.t.Helper()
	for _, word := range []string{"theorbo", "cittern", "sackbut", "hurdygurdy", "serpent"} {
		w.tool.commit(word)
		begun := time.Now()
		w.tool.push("HEAD:refs/heads/main")
		pushed := time.Now()
		w.tool.await(word, 1)
		w.t.Logf("git push took %v; found %v after its end", pushed.Sub(begun).Round(time.Millisecond), time.Since(pushed).Round(time.Millisecond))
	}
}

// moveBranches creates, force-pushes and deletes a branch.
func (w *giteaWalk) moveBranches() {
	w.t.Helper()
	tree := w.tool
	tree.git("checkout", "-q", "-b", "next")
	tree.commit("rackett")
	tree.push("HEAD:refs/heads/next")
	tree.await("rackett rev:next", 1)
	tree.git("reset", "-q", "--hard", "HEAD~1")
	tree.commit("ophicleide")
	tree.push("+HEAD:refs/heads/next")
	tree.await("ophicleide rev:next", 1)
	tree.await("rackett rev:*", 0)
	tree.push(":refs/heads/next")
	tree.await("ophicleide rev:*", 0)
	tree.git("checkout", "-q", "main")
}

// rename renames the repository. Its text stays, and its webhook still works.
func (w *giteaWalk) rename() {
	w.t.Helper()
	before := w.repositoryID("tool")
	w.call(http.MethodPatch, "repos/"+w.org+"/tool", object{"name": "instrument"}, nil)
	w.expect(0, "", "connections", "sync", "hub", "--wait")
	w.tool.repository = strings.TrimSuffix(w.tool.repository, "tool") + "instrument"
	w.tool.await("vuvuzela", 1)
	if after := w.repositoryID("instrument"); after != before {
		w.t.Errorf("the repository %d is %d since it was renamed", before, after)
	}
	w.tool.git("remote", "set-url", "origin", w.cloneURL(w.org, "instrument"))
	w.tool.commit("kazoo")
	w.tool.push("HEAD:refs/heads/main")
	w.tool.await("kazoo", 1)
}

func (w *giteaWalk) archive() {
	w.t.Helper()
	for _, archived := range []bool{true, false} {
		w.call(http.MethodPatch, "repos/"+w.org+"/instrument", object{"archived": archived}, nil)
		w.expect(0, "", "connections", "sync", "hub", "--wait")
		if !pollUntil(func() bool { return w.listed("instrument").IsArchived == archived }) {
			w.t.Errorf("archived on the host: %v; here: %+v", archived, w.listed("instrument"))
		}
	}
}

// removeRepository removes the private repository at the host, which sends a webhook.
func (w *giteaWalk) removeRepository() {
	w.t.Helper()
	w.call(http.MethodDelete, "repos/"+w.org+"/hidden", nil, nil)
	w.hidden.await("ocarina", 0)
	if !pollUntil(func() bool { return w.listed("hidden").RepoID == 0 }) {
		w.t.Errorf("the removed repository is listed: %+v", w.listed("hidden"))
	}
}

// revoke revokes the token: nothing is removed. With a new token everything resumes.
func (w *giteaWalk) revoke() {
	w.t.Helper()
	w.revokeToken("first")
	w.expect(1, "unauthorized", "connections", "sync", "hub", "--wait")
	w.tool.await("vuvuzela", 1)
	writeTextFile(w.t, w.tokenFile, w.createToken("second")+"\n")
	w.expect(0, "", "connections", "sync", "hub", "--wait")
}

// takeDown makes the host unavailable during a push that no webhook announces. Nothing is
// removed, and the push is found once the host is available again.
func (w *giteaWalk) takeDown() {
	w.t.Helper()
	w.expect(0, w.org+": removed", "hooks", "remove", "hub", "--config", w.config)
	must(w.t, w.server.stop())
	w.proxy.off.Store(true)
	w.run("--set", "pipeline.reconcileInterval=2s", "--set", "pipeline.reconcileGrace=1s")
	w.tool.commit("didgeridoo")
	w.tool.push("HEAD:refs/heads/main")
	w.expect(1, "unreachable", "connections", "sync", "hub", "--wait")
	w.tool.await("vuvuzela", 1)
	w.proxy.off.Store(false)
	begun := time.Now()
	w.tool.await("didgeridoo", 1)
	w.t.Logf("a push without a webhook was found %v after the host was back", time.Since(begun).Round(time.Millisecond))
	w.expect(0, "", "connections", "sync", "hub", "--wait")
}

// listedRepository is a repository as the API lists it.
type listedRepository struct {
	RepoID          int64 `json:"repoId"`
	RepoDisplayName string
	Visibility      string
	IsArchived      bool
}

// listed returns the repository of the organization with the given name, or the zero
// value.
func (w *giteaWalk) listed(name string) listedRepository {
	w.t.Helper()
	_, answer, err := sendRequest(http.MethodGet, w.server.url+"/api/repos", http.Header{}, nil)
	must(w.t, err)
	var all []listedRepository
	must(w.t, json.Unmarshal([]byte(answer), &all))
	for _, r := range all {
		if r.RepoDisplayName == w.org+"/"+name {
			return r
		}
	}
	return listedRepository{}
}

func (w *giteaWalk) repositoryID(name string) int64 {
	w.t.Helper()
	r := w.listed(name)
	if r.RepoID == 0 {
		w.t.Fatalf("%s is not listed", name)
	}
	return r.RepoID
}
