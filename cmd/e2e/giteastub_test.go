package e2e

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/quarrysearch/quarry/ingest/ingesttest"
	"github.com/quarrysearch/quarry/pipeline/gittest"
)

// stubToken is the administrator's token of a giteaStub.
const stubToken = "0123456789abcdef0123456789abcdef01234567"

// giteaStub implements the part of Gitea's documented API that the scenario uses, over a
// real git server. It announces pushes as Gitea does.
type giteaStub struct {
	t    *testing.T
	url  string
	root string
	git  http.Handler
	// deliveries waits for the deliveries in progress.
	deliveries sync.WaitGroup

	mu struct {
		sync.Mutex
		lastID       int64
		tokens       map[string]string // by name
		hooks        map[int64]stubHook
		repositories map[string]*stubRepository // by full name
		former       map[string]*stubRepository // by a name that they had
	}
}

type stubRepository struct {
	ID            int64  `json:"id"`
	FullName      string `json:"full_name"`
	CloneURL      string `json:"clone_url"`
	HTMLURL       string `json:"html_url"`
	DefaultBranch string `json:"default_branch"`
	Private       bool   `json:"private"`
	Archived      bool   `json:"archived"`
	dir           string
}

type stubHook struct {
	ID     int64 `json:"id"`
	Active bool  `json:"active"`
	Events []string
	Config struct {
		URL    string `json:"url"`
		Secret string `json:"secret,omitempty"`
	} `json:"config"`
}

func newGiteaStub(t *testing.T) *giteaStub {
	g := &giteaStub{t: t, root: t.TempDir()}
	g.git = gittest.HTTPHandler(t, g.root)
	g.mu.tokens, g.mu.hooks = map[string]string{"admin": stubToken}, map[int64]stubHook{}
	g.mu.repositories, g.mu.former = map[string]*stubRepository{}, map[string]*stubRepository{}
	mux := http.NewServeMux()
	done := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }
	mux.HandleFunc("POST /api/v1/admin/users", func(w http.ResponseWriter, _ *http.Request) { writeStubJSON(w, http.StatusCreated, object{}) })
	mux.HandleFunc("DELETE /api/v1/admin/users/{user}", done)
	mux.HandleFunc("POST /api/v1/orgs", func(w http.ResponseWriter, _ *http.Request) { writeStubJSON(w, http.StatusCreated, object{}) })
	mux.HandleFunc("DELETE /api/v1/orgs/{org}", done)
	mux.HandleFunc("GET /api/v1/orgs/{org}/teams", func(w http.ResponseWriter, _ *http.Request) {
		writeStubJSON(w, http.StatusOK, []object{{"id": 1, "name": "Owners"}})
	})
	mux.HandleFunc("PUT /api/v1/teams/1/members/{user}", done)
	mux.HandleFunc("POST /api/v1/users/{user}/tokens", g.createToken)
	mux.HandleFunc("DELETE /api/v1/users/{user}/tokens/{name}", g.deleteToken)
	mux.HandleFunc("POST /api/v1/orgs/{org}/repos", g.createRepository)
	mux.HandleFunc("GET /api/v1/orgs/{org}/repos", g.listRepositories)
	mux.HandleFunc("GET /api/v1/repos/{org}/{name}", g.getRepository)
	mux.HandleFunc("GET /api/v1/repositories/{id}", g.getRepositoryByID)
	mux.HandleFunc("PATCH /api/v1/repos/{org}/{name}", g.editRepository)
	mux.HandleFunc("DELETE /api/v1/repos/{org}/{name}", g.deleteRepository)
	mux.HandleFunc("POST /api/v1/repos/{org}/{name}/transfer", g.transferRepository)
	mux.HandleFunc("GET /api/v1/orgs/{org}/hooks", g.listHooks)
	mux.HandleFunc("POST /api/v1/orgs/{org}/hooks", g.createHook)
	mux.HandleFunc("DELETE /api/v1/orgs/{org}/hooks/{id}", g.deleteHook)
	mux.HandleFunc("/{org}/{name}/", g.serveGit)
	server := httptest.NewServer(g.authorize(mux))
	g.url = server.URL
	t.Cleanup(func() {
		g.deliveries.Wait()
		server.Close()
	})
	return g
}

func writeStubJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client notices an incomplete response
}

// authorize accepts a token in each form that Gitea accepts. Tokens are created with a
// password, which the stub does not check.
func (g *giteaStub) authorize(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, _, basic := r.BasicAuth()
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "token ")
		if basic {
			token = user
		}
		g.mu.Lock()
		known := slices.Contains(slices.Collect(maps.Values(g.mu.tokens)), token)
		if name, _, isGit := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), ".git/"); isGit && !strings.Contains(r.URL.RequestURI(), "receive-pack") {
			found := cmp.Or(g.mu.repositories[name], g.mu.former[name])
			known = known || found != nil && !found.Private // everyone may read it
		}
		g.mu.Unlock()
		if !known && !(basic && strings.Contains(r.URL.Path, "/tokens")) {
			w.Header().Set("WWW-Authenticate", `Basic realm="Gitea"`)
			writeStubJSON(w, http.StatusUnauthorized, object{"message": "user does not exist [uid: 0, name: ]"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// read decodes the body of a request.
func (g *giteaStub) read(r *http.Request, into any) {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		g.t.Errorf("%s %s: %v", r.Method, r.URL, err)
	}
}

func (g *giteaStub) createToken(w http.ResponseWriter, r *http.Request) {
	var in struct{ Name string }
	g.read(r, &in)
	sum := sha256.Sum256([]byte(rand.Text()))
	token := hex.EncodeToString(sum[:20])
	g.mu.Lock()
	g.mu.tokens[in.Name] = token
	g.mu.Unlock()
	writeStubJSON(w, http.StatusCreated, object{"sha1": token})
}

func (g *giteaStub) deleteToken(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	delete(g.mu.tokens, r.PathValue("name"))
	g.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

func (g *giteaStub) createRepository(w http.ResponseWriter, r *http.Request) {
	var in stubRepository
	var name struct{ Name string }
	body := new(bytes.Buffer)
	_, _ = body.ReadFrom(r.Body) // an incomplete body fails below
	if json.Unmarshal(body.Bytes(), &in) != nil || json.Unmarshal(body.Bytes(), &name) != nil {
		g.t.Errorf("%s", body)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.lastID++
	in.ID, in.dir = g.mu.lastID, fmt.Sprint("repository-", g.mu.lastID)
	if err := runGit("", "init", "-q", "--bare", "-b", in.DefaultBranch, filepath.Join(g.root, in.dir)); err != nil {
		g.t.Error(err)
	}
	if err := runGit(filepath.Join(g.root, in.dir), "config", "http.receivepack", "true"); err != nil {
		g.t.Error(err)
	}
	g.nameLocked(&in, r.PathValue("org")+"/"+name.Name)
	writeStubJSON(w, http.StatusCreated, &in)
}

func (g *giteaStub) nameLocked(r *stubRepository, fullName string) {
	if r.FullName != "" {
		delete(g.mu.repositories, r.FullName)
		g.mu.former[r.FullName] = r
	}
	r.FullName, r.HTMLURL, r.CloneURL = fullName, g.url+"/"+fullName, g.url+"/"+fullName+".git"
	g.mu.repositories[fullName] = r
}

func (g *giteaStub) listRepositories(w http.ResponseWriter, r *http.Request) {
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	out := []stubRepository{}
	g.mu.Lock()
	for _, name := range slices.Sorted(maps.Keys(g.mu.repositories)) {
		if page == 1 && strings.HasPrefix(name, r.PathValue("org")+"/") {
			out = append(out, *g.mu.repositories[name])
		}
	}
	g.mu.Unlock()
	writeStubJSON(w, http.StatusOK, out)
}

func (g *giteaStub) getRepository(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	found := g.mu.repositories[r.PathValue("org")+"/"+r.PathValue("name")]
	g.mu.Unlock()
	if found == nil {
		writeStubJSON(w, http.StatusNotFound, object{"message": "GetRepositoryByName"})
		return
	}
	writeStubJSON(w, http.StatusOK, found)
}

func (g *giteaStub) getRepositoryByID(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, found := range g.mu.repositories {
		if strconv.FormatInt(found.ID, 10) == r.PathValue("id") {
			writeStubJSON(w, http.StatusOK, found)
			return
		}
	}
	writeStubJSON(w, http.StatusNotFound, object{"message": "GetRepositoryByID"})
}

func (g *giteaStub) editRepository(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Name              string
		Archived, Private *bool
	}
	g.read(r, &in)
	g.mu.Lock()
	defer g.mu.Unlock()
	found := g.mu.repositories[r.PathValue("org")+"/"+r.PathValue("name")]
	if in.Name != "" {
		g.nameLocked(found, r.PathValue("org")+"/"+in.Name)
	}
	if in.Archived != nil {
		found.Archived = *in.Archived
	}
	if in.Private != nil {
		found.Private = *in.Private
	}
	writeStubJSON(w, http.StatusOK, found)
}

func (g *giteaStub) transferRepository(w http.ResponseWriter, r *http.Request) {
	var in struct {
		NewOwner string `json:"new_owner"`
	}
	g.read(r, &in)
	g.mu.Lock()
	defer g.mu.Unlock()
	found := g.mu.repositories[r.PathValue("org")+"/"+r.PathValue("name")]
	g.nameLocked(found, in.NewOwner+"/"+r.PathValue("name"))
	writeStubJSON(w, http.StatusAccepted, found)
}

func (g *giteaStub) deleteRepository(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("org") + "/" + r.PathValue("name")
	g.mu.Lock()
	found := *g.mu.repositories[name]
	delete(g.mu.repositories, name)
	g.mu.Unlock()
	g.deliver("repository", object{"action": "deleted", "repository": &found})
	w.WriteHeader(http.StatusNoContent)
}

func (g *giteaStub) listHooks(w http.ResponseWriter, _ *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := []stubHook{}
	for _, h := range g.mu.hooks {
		h.Config.Secret = ""
		out = append(out, h)
	}
	writeStubJSON(w, http.StatusOK, out)
}

func (g *giteaStub) createHook(w http.ResponseWriter, r *http.Request) {
	var in stubHook
	g.read(r, &in)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.lastID++
	in.ID = g.mu.lastID
	g.mu.hooks[in.ID] = in
	writeStubJSON(w, http.StatusCreated, &in)
}

func (g *giteaStub) deleteHook(w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	g.mu.Lock()
	delete(g.mu.hooks, id)
	g.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

// serveGit serves a repository under its name, and announces the refs that a push moved.
func (g *giteaStub) serveGit(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimSuffix(r.PathValue("name"), ".git")
	g.mu.Lock()
	found, moved := g.mu.repositories[r.PathValue("org")+"/"+name], g.mu.former[r.PathValue("org")+"/"+name]
	if found == nil && moved != nil {
		rest := strings.TrimPrefix(r.URL.RequestURI(), "/"+r.PathValue("org")+"/"+r.PathValue("name"))
		http.Redirect(w, r, moved.CloneURL+rest, http.StatusMovedPermanently)
		g.mu.Unlock()
		return
	}
	var repository stubRepository
	if found != nil {
		repository = *found
	}
	g.mu.Unlock()
	if found == nil {
		http.NotFound(w, r)
		return
	}
	pushed := strings.HasSuffix(r.URL.Path, "/git-receive-pack")
	before := map[string]string{}
	if pushed {
		before = g.readRefs(repository.dir)
	}
	inner := r.Clone(r.Context())
	inner.URL.Path = "/" + repository.dir + strings.TrimPrefix(r.URL.Path, "/"+r.PathValue("org")+"/"+r.PathValue("name"))
	inner.Header.Del("Authorization")
	g.git.ServeHTTP(w, inner)
	if pushed {
		g.announceRefs(&repository, before, g.readRefs(repository.dir))
	}
}

func (g *giteaStub) readRefs(dir string) map[string]string {
	out, err := exec.Command("git", "--git-dir", filepath.Join(g.root, dir), "for-each-ref", "--format=%(refname) %(objectname)").Output()
	if err != nil {
		g.t.Error(err)
	}
	refs := map[string]string{}
	for line := range strings.Lines(string(out)) {
		ref, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
		refs[ref] = commit
	}
	return refs
}

func (g *giteaStub) announceRefs(r *stubRepository, before, after map[string]string) {
	for ref, commit := range after {
		was := before[ref]
		if was == "" {
			was = zeros
		}
		if was != commit {
			g.deliver("push", object{"ref": ref, "before": was, "after": commit, "repository": r, "pusher": object{"login": "mira"}})
		}
	}
	for ref := range before {
		if after[ref] == "" {
			g.deliver("delete", object{"ref": strings.TrimPrefix(ref, "refs/heads/"), "ref_type": "branch", "pusher_type": "user", "repository": r})
		}
	}
}

// deliver sends an event to every webhook. Like Gitea, it does so after the response.
func (g *giteaStub) deliver(name string, payload any) {
	body, err := json.Marshal(payload)
	if err != nil {
		g.t.Error(err)
	}
	g.mu.Lock()
	hooks := slices.Collect(maps.Values(g.mu.hooks))
	g.mu.Unlock()
	for _, h := range hooks {
		if !slices.Contains(h.Events, name) {
			continue
		}
		header := http.Header{
			"Content-Type": {"application/json"}, "X-Gitea-Event": {name}, "X-GitHub-Event": {name}, "X-Gitea-Delivery": {rand.Text()},
			"X-Gitea-Signature": {ingesttest.SignHMAC("", body, []byte(h.Config.Secret))},
		}
		g.deliveries.Go(func() {
			if status, answer, err := sendRequest(http.MethodPost, h.Config.URL, header, body); err != nil || status/100 != 2 {
				g.t.Errorf("%s: %d %s, %v", name, status, answer, err)
			}
		})
	}
}
