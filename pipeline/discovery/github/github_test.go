package github

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hosttest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// serve serves GitHub Enterprise Server's REST API according to its documentation.
func serve(base string, repos []hosttest.Repo) http.Handler {
	mux := http.NewServeMux()
	list := func(w http.ResponseWriter, r *http.Request, owner string) {
		var mine []hosttest.Repo
		for _, x := range repos {
			if x.Owner == owner {
				mine = append(mine, x)
			}
		}
		if len(mine) == 0 {
			hosttest.WriteNotFound(w)
			return
		}
		out := []any{}
		for _, x := range hosttest.Page(w, r, "http://"+r.Host, "per_page", 100, mine) {
			out = append(out, describe(base, x))
		}
		hosttest.WriteJSON(w, http.StatusOK, out)
	}
	mux.HandleFunc("GET /api/v3/orgs/{owner}/repos", func(w http.ResponseWriter, r *http.Request) { list(w, r, r.PathValue("owner")) })
	mux.HandleFunc("GET /api/v3/users/{owner}/repos", func(w http.ResponseWriter, r *http.Request) { list(w, r, r.PathValue("owner")) })
	mux.HandleFunc("GET /api/v3/user/repos", func(w http.ResponseWriter, r *http.Request) { list(w, r, "ann") })
	mux.HandleFunc("GET /api/v3/user", func(w http.ResponseWriter, r *http.Request) {
		hosttest.WriteJSON(w, http.StatusOK, map[string]any{"login": "ann", "id": 7})
	})
	mux.HandleFunc("GET /api/v3/repos/{owner}/{name}", func(w http.ResponseWriter, r *http.Request) {
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
		"id": x.ID, "node_id": fmt.Sprint("R_", x.ID), "name": x.Name, "full_name": full, "private": x.Private,
		"owner":    map[string]any{"login": x.Owner, "id": 3, "avatar_url": base + "/avatars/u/3?v=4", "type": "Organization"},
		"html_url": base + "/" + full, "description": nil, "fork": x.Fork, "url": base + "/api/v3/repos/" + full,
		"clone_url": base + "/" + full + ".git", "ssh_url": "git@host:" + full + ".git", "size": 1080, "archived": x.Archived, "disabled": false,
		"default_branch": x.Branch, "topics": x.Topics, "visibility": "public", "pushed_at": "2026-01-26T19:06:43Z",
	}
}

func TestContract(t *testing.T) {
	hosttest.Run(t, hosttest.Suite{
		Kind: code.GitHub, Open: Open, Serve: serve, PageSize: pageSize,
		Targets:     discovery.Targets{Orgs: []string{"acme"}, Repos: []string{"acme/repo-00001"}},
		Unknown:     discovery.Targets{Orgs: []string{"nobody", "acme"}},
		UnknownName: "nobody",
		Misspelled:  &discovery.Targets{Repos: []string{"acme"}},
		DisplayName: func(r hosttest.Repo) string { return r.Owner + "/" + r.Name },
		Header:      "Authorization", HeaderValue: "Bearer s3cret",
	})
}
