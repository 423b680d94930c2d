package hosttest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Host is a code host whose repositories change. It serves the part of the API of each
// kind that lists the repositories of an owner and reads one repository, all below one
// base URL. With a token, it shows private repositories only to requests that carry it.
type Host struct {
	// Token is the token of the connection; empty means that every request is trusted.
	Token string
	// OnAnswer is called with the repositories that an answer describes, after it was made
	// and before it is sent: what happens in OnAnswer overtakes the answer. Nil means
	// nothing.
	OnAnswer func(found []Repo)

	mu struct {
		sync.Mutex
		base  string
		repos map[int]Repo
		down  bool
	}
}

// Put adds or replaces a repository.
func (h *Host) Put(r Repo) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.repos == nil {
		h.mu.repos = map[int]Repo{}
	}
	h.mu.repos[r.ID] = r
}

// Delete deletes a repository.
func (h *Host) Delete(id int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.mu.repos, id)
}

// Find returns a repository, and whether there is one.
func (h *Host) Find(id int) (Repo, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, ok := h.mu.repos[id]
	return r, ok
}

// SetDown makes every request fail with 500, or no longer.
func (h *Host) SetDown(down bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.down = down
}

// Identity returns the host's own identity of a repository.
func Identity(kind code.HostKind, r Repo) string {
	switch kind {
	case code.BitbucketCloud:
		return fmt.Sprintf("{5febef5a-833d-4e14-b9c0-%012d}", r.ID)
	case code.AzureDevOps:
		return fmt.Sprintf("5febef5a-833d-4e14-b9c0-%012d", r.ID)
	case code.Gerrit:
		return r.Owner + "/" + r.Name
	}
	return strconv.Itoa(r.ID)
}

// Describe returns a repository as the API of a kind and its webhooks describe it. base
// is the URL of the host.
func Describe(kind code.HostKind, base string, r Repo) map[string]any {
	clone, page := base+"/"+r.Owner+"/"+r.Name+".git", base+"/"+r.Owner+"/"+r.Name
	switch kind {
	case code.GitLab:
		visibility, level := "public", 20
		if r.Private {
			visibility, level = "private", 0
		}
		return map[string]any{
			"id": r.ID, "path_with_namespace": r.Owner + "/" + r.Name, "http_url_to_repo": clone, "git_http_url": clone, "web_url": page, "archived": r.Archived,
			"default_branch": r.Branch, "visibility": visibility, "visibility_level": level,
		}
	case code.BitbucketServer:
		key := strings.ToUpper(r.Owner)
		return map[string]any{
			"id": r.ID, "slug": r.Name, "name": r.Name, "public": !r.Private, "archived": r.Archived, "project": map[string]any{"key": key},
			"links": map[string]any{"clone": []any{map[string]any{"name": "http", "href": base + "/scm/" + r.Owner + "/" + r.Name + ".git"}}},
		}
	case code.BitbucketCloud:
		return map[string]any{
			"uuid": Identity(kind, r), "full_name": r.Owner + "/" + r.Name, "is_private": r.Private, "project": map[string]any{"key": "TEA"},
			"mainbranch": map[string]any{"name": r.Branch}, "links": map[string]any{"html": map[string]any{"href": page}},
		}
	case code.AzureDevOps:
		visibility := "public"
		if r.Private {
			visibility = "private"
		}
		return map[string]any{
			"id": Identity(kind, r), "name": r.Name, "remoteUrl": base + "/" + r.Owner + "/Tea/_git/" + r.Name, "defaultBranch": "refs/heads/" + r.Branch,
			"isFork": r.Fork, "isDisabled": r.Archived, "project": map[string]any{"name": "Tea", "visibility": visibility},
		}
	case code.Gerrit:
		return map[string]any{"id": strings.ReplaceAll(r.Owner+"/"+r.Name, "/", "%2F"), "state": "ACTIVE"}
	}
	return map[string]any{ // GitHub, Gitea
		"id": r.ID, "full_name": r.Owner + "/" + r.Name, "clone_url": clone, "html_url": page, "default_branch": r.Branch,
		"private": r.Private, "fork": r.Fork, "archived": r.Archived, "owner": map[string]any{"id": 1, "login": r.Owner},
	}
}

// Handler returns the API of the host, whose URL is base.
func (h *Host) Handler(base string) http.Handler {
	h.mu.Lock()
	h.mu.base = base
	h.mu.Unlock()
	mux := http.NewServeMux()
	one := func(pattern string, kind code.HostKind, is func(r *http.Request, x Repo) bool) {
		mux.HandleFunc("GET "+pattern, func(w http.ResponseWriter, r *http.Request) { h.serveOne(w, r, kind, is) })
	}
	list := func(pattern string, kind code.HostKind, wrap func(all []any) any) {
		mux.HandleFunc("GET "+pattern, func(w http.ResponseWriter, r *http.Request) { h.serveList(w, r, kind, wrap) })
	}
	named := func(r *http.Request, x Repo) bool {
		return strings.EqualFold(r.PathValue("owner"), x.Owner) && r.PathValue("name") == x.Name
	}
	identified := func(kind code.HostKind) func(r *http.Request, x Repo) bool {
		return func(r *http.Request, x Repo) bool { return r.PathValue("id") == Identity(kind, x) }
	}
	plain := func(all []any) any { return all }
	values := func(name string) func(all []any) any {
		return func(all []any) any { return map[string]any{name: all, "isLastPage": true} }
	}
	one("/api/v3/repositories/{id}", code.GitHub, identified(code.GitHub))
	one("/api/v3/repos/{owner}/{name}", code.GitHub, named)
	list("/api/v3/orgs/{owner}/repos", code.GitHub, plain)
	one("/api/v4/projects/{id}", code.GitLab, func(r *http.Request, x Repo) bool {
		return r.PathValue("id") == strconv.Itoa(x.ID) || r.PathValue("id") == x.Owner+"/"+x.Name
	})
	list("/api/v4/groups/{owner}/projects", code.GitLab, plain)
	one("/api/v1/repositories/{id}", code.Gitea, identified(code.Gitea))
	one("/api/v1/repos/{owner}/{name}", code.Gitea, named)
	list("/api/v1/orgs/{owner}/repos", code.Gitea, plain)
	one("/rest/api/1.0/projects/{owner}/repos/{name}", code.BitbucketServer, named)
	list("/rest/api/1.0/projects/{owner}/repos", code.BitbucketServer, values("values"))
	one("/2.0/repositories/{owner}/{id}", code.BitbucketCloud, func(r *http.Request, x Repo) bool {
		return r.PathValue("id") == Identity(code.BitbucketCloud, x) || named(r, x) || r.PathValue("owner") == x.Owner && r.PathValue("id") == x.Name
	})
	list("/2.0/repositories/{owner}", code.BitbucketCloud, values("values"))
	for _, organization := range []string{"", "/{owner}"} {
		one(organization+"/_apis/git/repositories/{id}", code.AzureDevOps, identified(code.AzureDevOps))
		list(organization+"/_apis/git/repositories", code.AzureDevOps, values("value"))
	}
	for _, prefix := range []string{"", "/a"} {
		mux.HandleFunc("GET "+prefix+"/projects/{id}/HEAD", h.serveGerritHead)
		mux.HandleFunc("GET "+prefix+"/projects/{id}", h.serveGerritProject)
		mux.HandleFunc("GET "+prefix+"/projects/{$}", h.serveGerritList)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		down := h.mu.down
		h.mu.Unlock()
		if down {
			WriteJSON(w, http.StatusInternalServerError, map[string]string{"message": "down"})
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// isTrusted reports whether a request carries the token, in the form of any kind.
func (h *Host) isTrusted(r *http.Request) bool {
	if h.Token == "" {
		return true
	}
	_, password, _ := r.BasicAuth()
	bearer := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	return slices.Contains([]string{password, bearer, strings.TrimPrefix(r.Header.Get("Authorization"), "token "), r.Header.Get("Private-Token")}, h.Token)
}

// selectRepos returns the repositories that a request may see and that satisfy is.
func (h *Host) selectRepos(r *http.Request, is func(x Repo) bool) (out []Repo) {
	trusted := h.isTrusted(r)
	h.mu.Lock()
	for _, x := range h.mu.repos {
		if (trusted || !x.Private) && is(x) {
			out = append(out, x)
		}
	}
	h.mu.Unlock()
	slices.SortFunc(out, func(a, b Repo) int { return cmp.Compare(a.ID, b.ID) })
	if h.OnAnswer != nil {
		h.OnAnswer(out)
	}
	return out
}

func (h *Host) serveOne(w http.ResponseWriter, r *http.Request, kind code.HostKind, is func(r *http.Request, x Repo) bool) {
	found := h.selectRepos(r, func(x Repo) bool { return is(r, x) })
	if len(found) == 0 {
		WriteNotFound(w)
		return
	}
	WriteJSON(w, http.StatusOK, Describe(kind, h.baseURL(), found[0]))
}

func (h *Host) baseURL() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.base
}

func (h *Host) serveList(w http.ResponseWriter, r *http.Request, kind code.HostKind, wrap func(all []any) any) {
	all := []any{}
	if page := r.URL.Query().Get("page"); page == "" || page == "1" {
		owner := r.PathValue("owner")
		for _, x := range h.selectRepos(r, func(x Repo) bool { return owner == "" || strings.EqualFold(x.Owner, owner) }) {
			all = append(all, Describe(kind, h.baseURL(), x))
		}
	}
	WriteJSON(w, http.StatusOK, wrap(all))
}

// serveGerritProject serves one project.
func (h *Host) serveGerritProject(w http.ResponseWriter, r *http.Request) {
	found := h.selectRepos(r, func(x Repo) bool { return r.PathValue("id") == x.Owner+"/"+x.Name })
	if len(found) == 0 {
		WriteNotFound(w)
		return
	}
	writeGerrit(w, Describe(code.Gerrit, h.baseURL(), found[0]))
}

// serveGerritHead serves the ref that HEAD of a project names.
func (h *Host) serveGerritHead(w http.ResponseWriter, r *http.Request) {
	found := h.selectRepos(r, func(x Repo) bool { return r.PathValue("id") == x.Owner+"/"+x.Name })
	if len(found) == 0 {
		WriteNotFound(w)
		return
	}
	writeGerrit(w, "refs/heads/"+found[0].Branch)
}

func (h *Host) serveGerritList(w http.ResponseWriter, r *http.Request) {
	out := map[string]any{}
	for _, x := range h.selectRepos(r, func(Repo) bool { return true }) {
		out[x.Owner+"/"+x.Name] = Describe(code.Gerrit, h.baseURL(), x)
	}
	writeGerrit(w, out)
}

// writeGerrit writes a response with the prefix of Gerrit.
func writeGerrit(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	_, _ = w.Write([]byte(")]}'\n")) // the client notices an incomplete response
	_ = json.NewEncoder(w).Encode(v) // as above
}
