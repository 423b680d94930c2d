package gitea

import (
	"net/http"
	"slices"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/pipeline/discovery/hosttest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// serve serves Gitea's API according to its OpenAPI document. It returns at most 30
// repositories per page, like a server with such a setting.
func serve(base string, repos []hosttest.Repo) http.Handler {
	mux := http.NewServeMux()
	page := func(w http.ResponseWriter, r *http.Request, all []hosttest.Repo) []any {
		out := []any{}
		for _, x := range hosttest.Page(w, r, "http://"+r.Host, "limit", 30, all) {
			out = append(out, describe(base, x))
		}
		return out
	}
	list := func(w http.ResponseWriter, r *http.Request) {
		mine := slices.DeleteFunc(slices.Clone(repos), func(x hosttest.Repo) bool { return x.Owner != r.PathValue("owner") })
		if len(mine) == 0 {
			hosttest.WriteNotFound(w)
			return
		}
		hosttest.WriteJSON(w, http.StatusOK, page(w, r, mine))
	}
	mux.HandleFunc("GET /api/v1/orgs/{owner}/repos", list)
	mux.HandleFunc("GET /api/v1/users/{owner}/repos", list)
	mux.HandleFunc("GET /api/v1/repos/search", func(w http.ResponseWriter, r *http.Request) {
		hosttest.WriteJSON(w, http.StatusOK, map[string]any{"ok": true, "data": page(w, r, repos)})
	})
	mux.HandleFunc("GET /api/v1/repos/{owner}/{name}", func(w http.ResponseWriter, r *http.Request) {
		i := slices.IndexFunc(repos, func(x hosttest.Repo) bool { return x.Owner == r.PathValue("owner") && x.Name == r.PathValue("name") })
		if i < 0 {
			hosttest.WriteNotFound(w)
			return
		}
		hosttest.WriteJSON(w, http.StatusOK, describe(base, repos[i]))
	})
	return mux
}

func describe(base string, x hosttest.Repo) map[string]any {
	full := x.Owner + "/" + x.Name
	return map[string]any{
		"id": x.ID, "owner": map[string]any{"id": 2, "login": x.Owner}, "name": x.Name, "full_name": full, "description": "", "empty": false,
		"private": x.Private, "fork": x.Fork, "mirror": false, "size": 24, "html_url": base + "/" + full, "clone_url": base + "/" + full + ".git",
		"ssh_url": "git@host:" + full + ".git", "default_branch": x.Branch, "archived": x.Archived, "internal": false, "avatar_url": "", "topics": x.Topics,
	}
}

func TestContract(t *testing.T) {
	hosttest.Run(t, hosttest.Suite{
		Kind: code.Gitea, Open: Open, Serve: serve, PageSize: pageSize,
		Targets:     discovery.Targets{Orgs: []string{"acme"}, Repos: []string{"acme/repo-00001"}},
		Unknown:     discovery.Targets{Orgs: []string{"nobody", "acme"}},
		UnknownName: "nobody",
		Misspelled:  &discovery.Targets{Repos: []string{"a/b/c"}},
		DisplayName: func(r hosttest.Repo) string { return r.Owner + "/" + r.Name },
		Header:      "Authorization", HeaderValue: "token s3cret",
	})
}

func TestAll(t *testing.T) {
	repos := append(hosttest.Repos("acme", 2*pageSize), hosttest.Repo{ID: 1000, Owner: "other", Name: "x", Branch: "main"})
	server := hosttest.NewServer(t, false, func(base string) http.Handler { return serve(base, repos) })
	c := discovery.Connection{Name: "c", Kind: code.Gitea, URL: server.URL, Targets: discovery.Targets{All: true}}
	got := hosttest.ListAll(t, Open, c, hostapi.NewTransport(hostapi.Options{}).Client())
	if len(got.Found) != len(repos) || !got.Complete {
		t.Errorf("%d found, want %d; issues %v", len(got.Found), len(repos), got.Issues)
	}
}
