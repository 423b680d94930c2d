package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/ingest/ingesttest"
	"github.com/quarrysearch/quarry/pipeline/gittest"
)

// hostSecret is the secret of every connection of TestCodeHosts.
const hostSecret = "mira:a secret of the code hosts"

// zeros is the commit of a ref that does not exist.
const zeros = "0000000000000000000000000000000000000000"

// codeHost describes how a kind of host announces events: the path of its repository on
// the host, the name that Quarry gives it, and the payloads. base is the URL of the host,
// path that of the repository.
type codeHost struct {
	kind, path, name string
	// authenticate signs or otherwise authenticates the delivery. It may return a query
	// for the URL.
	authenticate func(h http.Header, body []byte) (query string)
	event        http.Header // headers of a push
	push         func(base, ref, before, after string) any
	removed      func(base string) (event http.Header, body any) // nil if the host does not announce removals
}

// reads returns what the API of the host answers about the repository, by path.
func (h codeHost) reads(base string) map[string]any {
	switch h.kind {
	case "github":
		return map[string]any{"/api/v3/repositories/1": object{"id": 1, "full_name": "meadow/github", "clone_url": base + "/meadow/github.git", "private": false, "default_branch": "main"}}
	case "gitlab":
		return map[string]any{"/api/v4/projects/2": object{"id": 2, "path_with_namespace": "meadow/tools/gitlab", "http_url_to_repo": base + "/meadow/tools/gitlab.git", "visibility": "public", "default_branch": "main"}}
	case "gitea":
		return map[string]any{"/api/v1/repositories/3": object{"id": 3, "full_name": "meadow/gitea", "clone_url": base + "/meadow/gitea.git", "private": false, "default_branch": "main"}}
	case "gerrit":
		return map[string]any{"/a/projects/tools%2Fgerrit": object{"id": "tools%2Fgerrit", "state": "ACTIVE"}, "/a/projects/tools%2Fgerrit/HEAD": "refs/heads/main"}
	case "bitbucketServer":
		return map[string]any{"/rest/api/1.0/projects/MEADOW/repos/stash": object{"id": 4, "slug": "stash", "public": true, "project": object{"key": "MEADOW"}}}
	case "bitbucketCloud":
		return map[string]any{"/2.0/repositories/%7B%7D/%7B5%7D": object{"uuid": "{5}", "full_name": "meadow/cloud", "is_private": false, "project": object{"key": "TOOLS"}, "mainbranch": object{"name": "main"}}}
	}
	return map[string]any{"/meadow/_apis/git/repositories/6": object{
		"id": "6", "name": "azure", "project": object{"name": "Tools", "visibility": "public"}, "defaultBranch": "refs/heads/main", "remoteUrl": base + "/meadow/Tools/_git/azure",
	}}
}

// hostAPI serves the API of all hosts, and git.
type hostAPI struct {
	tokens  *hostTokens
	git     http.Handler
	mu      sync.Mutex
	answers map[string]any // by escaped path
}

func (a *hostAPI) set(answers map[string]any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.Copy(a.answers, answers)
}

func (a *hostAPI) remove(answers map[string]any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for path := range answers {
		delete(a.answers, path)
	}
}

// ServeHTTP implements http.Handler. The API requires the current token.
func (a *hostAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.URL.Path, "/info/refs") || strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
		a.git.ServeHTTP(w, r)
		return
	}
	a.tokens.mu.Lock()
	token := a.tokens.all[len(a.tokens.all)-1]
	a.tokens.mu.Unlock()
	_, password, _ := r.BasicAuth()
	w.Header().Set("Content-Type", "application/json")
	if password != token && !strings.HasSuffix(r.Header.Get("Authorization"), token) && r.Header.Get("Private-Token") != token {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	a.mu.Lock()
	answer, ok := a.answers[r.URL.EscapedPath()]
	a.mu.Unlock()
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		answer = object{"message": "not found"}
	}
	if strings.HasPrefix(r.URL.Path, "/a/") {
		_, _ = w.Write([]byte(")]}'\n")) // the client notices an incomplete response
	}
	_ = json.NewEncoder(w).Encode(answer) // as above
}

func hmacHeader(name, prefix string) func(http.Header, []byte) string {
	return func(h http.Header, body []byte) string {
		h.Set(name, ingesttest.SignHMAC(prefix, body, []byte(hostSecret)))
		return ""
	}
}

type object = map[string]any

// codeHosts returns all kinds except genericGitHost, which the other tests use.
func codeHosts() []codeHost {
	github := func(base string) object {
		return object{"id": 1, "full_name": "meadow/github", "clone_url": base + "/meadow/github.git", "html_url": base + "/meadow/github", "default_branch": "main"}
	}
	gitlab := func(base string) object {
		return object{"id": 2, "path_with_namespace": "meadow/tools/gitlab", "git_http_url": base + "/meadow/tools/gitlab.git", "visibility_level": 20, "default_branch": "main"}
	}
	gitea := func(base string) object {
		return object{"id": 3, "full_name": "meadow/gitea", "clone_url": base + "/meadow/gitea.git", "default_branch": "main"}
	}
	server := func(string) object {
		return object{"id": 4, "slug": "stash", "public": true, "project": object{"key": "MEADOW"}}
	}
	cloud := func(string) object {
		return object{"uuid": "{5}", "full_name": "meadow/cloud", "is_private": false, "project": object{"key": "TOOLS"}}
	}
	azure := func(base string) object {
		return object{
			"id": "6", "name": "azure", "project": object{"name": "Tools", "visibility": "public"}, "defaultBranch": "refs/heads/main",
			"remoteUrl": strings.Replace(base, "://", "://meadow@", 1) + "/meadow/Tools/_git/azure",
		}
	}
	refState := func(ref, commit string) any {
		if commit == zeros {
			return nil
		}
		return object{"type": "branch", "name": strings.TrimPrefix(ref, "refs/heads/"), "target": object{"hash": commit}}
	}
	return []codeHost{
		{
			"github", "meadow/github.git", "meadow/github", hmacHeader("X-Hub-Signature-256", "sha256="), http.Header{"X-Github-Event": {"push"}},
			func(base, ref, before, after string) any {
				return object{"ref": ref, "before": before, "after": after, "repository": github(base)}
			},
			func(base string) (http.Header, any) {
				return http.Header{"X-Github-Event": {"repository"}}, object{"action": "deleted", "repository": github(base)}
			},
		},
		{
			"gitlab", "meadow/tools/gitlab.git", "meadow/tools/gitlab",
			func(h http.Header, _ []byte) string { h.Set("X-Gitlab-Token", hostSecret); return "" }, http.Header{"X-Gitlab-Event": {"Push Hook"}},
			func(base, ref, before, after string) any {
				return object{"event_name": "push", "ref": ref, "before": before, "after": after, "project_id": 2, "project": gitlab(base)}
			},
			func(string) (http.Header, any) {
				return http.Header{"X-Gitlab-Event": {"System Hook"}}, object{"event_name": "project_destroy", "project_id": 2, "path_with_namespace": "meadow/tools/gitlab"}
			},
		},
		{
			"gitea", "meadow/gitea.git", "meadow/gitea", hmacHeader("X-Gitea-Signature", ""), http.Header{"X-Gitea-Event": {"push"}},
			func(base, ref, before, after string) any {
				return object{"ref": ref, "before": before, "after": after, "repository": gitea(base)}
			},
			func(base string) (http.Header, any) {
				return http.Header{"X-Gitea-Event": {"repository"}}, object{"action": "deleted", "repository": gitea(base)}
			},
		},
		{
			"gerrit", "tools/gerrit", "tools/gerrit",
			func(http.Header, []byte) string { return "?token=" + strings.ReplaceAll(hostSecret, " ", "+") }, http.Header{},
			func(_, ref, before, after string) any {
				return object{"type": "ref-updated", "refUpdate": object{"oldRev": before, "newRev": after, "refName": ref, "project": "tools/gerrit"}}
			},
			nil,
		},
		{
			"bitbucketServer", "scm/meadow/stash.git", "MEADOW/stash", hmacHeader("X-Hub-Signature", "sha256="), http.Header{"X-Event-Key": {"repo:refs_changed"}},
			func(base, ref, before, after string) any {
				return object{"repository": server(base), "changes": []object{{"ref": object{"id": ref}, "fromHash": before, "toHash": after}}}
			},
			func(base string) (http.Header, any) {
				return http.Header{"X-Event-Key": {"repo:deleted"}}, object{"repository": server(base)}
			},
		},
		{
			"bitbucketCloud", "meadow/cloud.git", "meadow/TOOLS/cloud", hmacHeader("X-Hub-Signature", "sha256="), http.Header{"X-Event-Key": {"repo:push"}},
			func(base, ref, before, after string) any {
				return object{"repository": cloud(base), "push": object{"changes": []object{{"old": refState(ref, before), "new": refState(ref, after)}}}}
			},
			func(base string) (http.Header, any) {
				return http.Header{"X-Event-Key": {"repo:deleted"}}, object{"repository": cloud(base)}
			},
		},
		{
			"azuredevops", "meadow/Tools/_git/azure", "Tools/azure",
			func(h http.Header, _ []byte) string {
				r := &http.Request{Header: h}
				user, password, _ := strings.Cut(hostSecret, ":")
				r.SetBasicAuth(user, password)
				return ""
			}, http.Header{},
			func(base, ref, before, after string) any {
				return object{"id": "event-" + after, "eventType": "git.push", "resource": object{
					"repository": azure(base), "refUpdates": []object{{"name": ref, "oldObjectId": before, "newObjectId": after}},
				}}
			},
			func(base string) (http.Header, any) {
				return http.Header{}, object{"id": "gone", "eventType": "git.repo.deleted", "resource": object{"repository": azure(base)}}
			},
		},
	}
}

// TestCodeHosts follows the life of a repository on each kind of code host, over a real
// git server: registered by its first push, pushed to, a branch created, force-pushed and
// deleted, and removed. Before each delivery, the test sends a forged one.
func TestCodeHosts(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	repositories := filepath.Join(root, "repositories")
	tokens := &hostTokens{}
	api := &hostAPI{tokens: tokens, git: tokens.require(gittest.HTTPHandler(t, repositories)), answers: map[string]any{}}
	host := httptest.NewServer(api)
	t.Cleanup(host.Close)
	for _, h := range codeHosts() {
		api.set(h.reads(host.URL))
	}
	tokenFile := filepath.Join(root, "token")
	tokens.renew(t, tokenFile)
	var connections []any
	for _, h := range codeHosts() {
		connection := object{
			"name": "hub-" + strings.ToLower(h.kind), "kind": h.kind, "url": host.URL, "secrets": []string{hostSecret}, "autoRegister": true, "branches": []string{"*"},
			"token": "file:" + tokenFile,
		}
		if h.kind == "gerrit" {
			connection["user"] = "indexer"
		}
		connections = append(connections, connection)
	}
	config, err := json.Marshal(object{"connections": connections, "git": object{"allowedNetworks": []string{"127.0.0.0/8"}}})
	if err != nil {
		t.Fatal(err)
	}
	writeTextFile(t, filepath.Join(root, "quarry.yaml"), string(config))
	s, err := startServer(root, os.Environ(), "--config", filepath.Join(root, "quarry.yaml"), "--data", filepath.Join(root, "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Errorf("stop: %v\n%s", err, s.output)
		}
	})
	for _, h := range codeHosts() {
		t.Run(h.kind, func(t *testing.T) {
			tree := &hostTree{t: t, dir: filepath.Join(root, "trees", h.kind), server: s, repository: strings.TrimPrefix(host.URL, "http://") + "/" + h.name}
			w := &hostWalk{hostTree: tree, h: h, api: api, base: host.URL, bare: filepath.Join(repositories, h.path)}
			w.walk()
		})
		tokens.renew(t, tokenFile)
	}
	tokens.checkAbsent(t, s.output.String(), filepath.Join(root, "data"))
	// Gerrit's secret is in the URL.
	for _, secret := range []string{hostSecret, strings.ReplaceAll(hostSecret, " ", "+")} {
		if strings.Contains(s.output.String(), secret) {
			t.Errorf("the log has the secret %q", secret)
		}
	}
}

// hostUsers maps the path of a repository to the user that git must send with the token.
var hostUsers = map[string]string{
	"meadow/github.git": "x-access-token", "meadow/tools/gitlab.git": "oauth2", "tools/gerrit": "indexer", "scm/meadow/stash.git": "x-token-auth",
	"meadow/cloud.git": "x-token-auth", "meadow/Tools/_git/azure": "user",
	// meadow/gitea.git: the token is the user.
}

// hostTokens holds all tokens that the code host has used, the current one last.
type hostTokens struct {
	mu  sync.Mutex
	all []string
}

// renew creates a new token, which the server must read from its file.
func (k *hostTokens) renew(t *testing.T, file string) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	token := fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, time.Now(), len(k.all))))[:40]
	k.all = append(k.all, token)
	writeTextFile(t, file, token+"\n")
}

// require accepts only requests with the current token and the user that the kind of host
// expects.
func (k *hostTokens) require(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k.mu.Lock()
		token := k.all[len(k.all)-1]
		k.mu.Unlock()
		user, password, _ := r.BasicAuth()
		repository := strings.TrimPrefix(r.URL.Path, "/")
		if at := strings.LastIndex(repository, "/info/"); at >= 0 {
			repository = repository[:at]
		}
		repository = strings.TrimSuffix(repository, "/git-upload-pack")
		wantUser, wantPassword := hostUsers[repository], token
		if wantUser == "" {
			wantUser, wantPassword = token, "x-oauth-basic"
		}
		if user != wantUser || password != wantPassword {
			w.Header().Set("WWW-Authenticate", "Basic")
			http.Error(w, "not for "+user+" with "+password, http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// checkAbsent fails the test if a token is in the log, or in a file of the data
// directory.
func (k *hostTokens) checkAbsent(t *testing.T, log, dir string) {
	t.Helper()
	holds := func(text string) bool {
		return slices.ContainsFunc(k.all, func(token string) bool { return strings.Contains(text, token) })
	}
	if holds(log) {
		t.Error("the log has a token")
	}
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // deleted in the meantime
		}
		if b, err := os.ReadFile(path); err == nil && holds(string(b)) {
			t.Errorf("%s has a token", path)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// hostWalk is one repository of one host.
type hostWalk struct {
	*hostTree
	h    codeHost
	api  *hostAPI
	base string
	bare string
}

func (w *hostWalk) walk() {
	w.must(os.MkdirAll(filepath.Dir(w.bare), 0o755))
	w.must(runGit("", "init", "-q", "--bare", "-b", "main", w.bare))
	w.must(runGit("", "init", "-q", "-b", "main", w.dir))

	first := w.commit("vuvuzela")
	w.pushBranch("main", zeros, first)
	w.await("vuvuzela", 1)
	second := w.commit("ocarina")
	w.pushBranch("main", first, second)
	w.await("ocarina", 1)

	w.must(runGit(w.dir, "checkout", "-q", "-b", "next"))
	third := w.commit("theorbo")
	w.pushBranch("next", zeros, third)
	w.await("theorbo rev:next", 1)
	w.must(runGit(w.dir, "reset", "-q", "--hard", "HEAD~1"))
	forced := w.commit("cittern")
	w.pushBranch("next", third, forced)
	w.await("cittern rev:next", 1)
	w.await("theorbo rev:next", 0)
	w.must(runGit(w.bare, "branch", "-q", "-D", "next"))
	w.announce(w.h.event, w.h.push(w.base, "refs/heads/next", forced, zeros))
	w.await("cittern rev:*", 0)

	if w.h.removed != nil {
		event, body := w.h.removed(w.base)
		w.announce(event, body)
		if !pollUntil(func() bool { return strings.Contains(metricsOf(w.server), "\nquarry_discovery_waiting_hints 0\n") }) {
			w.t.Fatalf("the host was not asked\n%s", w.server.output)
		}
		w.await("vuvuzela", 1) // the host still has it
		w.api.remove(w.h.reads(w.base))
		w.announce(event, body)
		w.await("vuvuzela", 0)
	}
}

// pushBranch moves a branch on the host and announces it.
func (w *hostWalk) pushBranch(branch, before, after string) {
	w.t.Helper()
	w.must(runGit(w.dir, "push", "-q", "--force", w.bare, "HEAD:refs/heads/"+branch))
	w.announce(w.h.event, w.h.push(w.base, "refs/heads/"+branch, before, after))
}

// announce sends a delivery, after a forged one that must be rejected.
func (w *hostWalk) announce(event http.Header, payload any) {
	w.t.Helper()
	body, err := json.Marshal(payload)
	w.must(err)
	address := w.server.url + "/webhooks/" + w.h.kind + "/hub-" + strings.ToLower(w.h.kind)
	if status, answer, err := sendRequest(http.MethodPost, address, event.Clone(), body); err != nil || status != http.StatusUnauthorized {
		w.t.Fatalf("a forged delivery: %d %s, %v", status, answer, err)
	}
	header := event.Clone()
	header.Set("Content-Type", "application/json")
	query := w.h.authenticate(header, body)
	if status, answer, err := sendRequest(http.MethodPost, address+query, header, body); err != nil || status != http.StatusAccepted {
		w.t.Fatalf("%s: %d %s, %v", body, status, answer, err)
	}
}
