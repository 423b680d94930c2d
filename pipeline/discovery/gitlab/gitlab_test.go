package gitlab

import (
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/pipeline/discovery/hosttest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// serve serves GitLab's REST API according to its documentation.
func serve(base string, repos []hosttest.Repo) http.Handler {
	mux := http.NewServeMux()
	write := func(w http.ResponseWriter, page []hosttest.Repo) {
		out := []any{}
		for _, x := range page {
			out = append(out, describe(base, x))
		}
		hosttest.WriteJSON(w, http.StatusOK, out)
	}
	list := func(w http.ResponseWriter, r *http.Request) {
		mine := slices.DeleteFunc(slices.Clone(repos), func(x hosttest.Repo) bool { return x.Owner != r.PathValue("owner") })
		if len(mine) == 0 {
			hosttest.WriteJSON(w, http.StatusNotFound, map[string]string{"message": "404 Group Not Found"})
			return
		}
		write(w, hosttest.Page(w, r, "http://"+r.Host, "per_page", 100, mine))
	}
	mux.HandleFunc("GET /api/v4/groups/{owner}/projects", list)
	mux.HandleFunc("GET /api/v4/users/{owner}/projects", list)
	mux.HandleFunc("GET /api/v4/projects", func(w http.ResponseWriter, r *http.Request) {
		after, _ := strconv.Atoi(r.URL.Query().Get("id_after"))
		size, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
		rest := slices.DeleteFunc(slices.Clone(repos), func(x hosttest.Repo) bool { return x.ID <= after })
		write(w, rest[:min(size, len(rest))])
	})
	mux.HandleFunc("GET /api/v4/projects/{path}", func(w http.ResponseWriter, r *http.Request) {
		i := slices.IndexFunc(repos, func(x hosttest.Repo) bool { return x.Owner+"/"+x.Name == r.PathValue("path") })
		if i < 0 {
			hosttest.WriteJSON(w, http.StatusNotFound, map[string]string{"message": "404 Project Not Found"})
			return
		}
		hosttest.WriteJSON(w, http.StatusOK, describe(base, repos[i]))
	})
	return mux
}

func describe(base string, x hosttest.Repo) map[string]any {
	full := x.Owner + "/" + x.Name
	out := map[string]any{
		"id": x.ID, "description": "", "name": x.Name, "name_with_namespace": x.Owner + " / " + x.Name, "path": x.Name, "path_with_namespace": full,
		"default_branch": x.Branch, "topics": x.Topics, "ssh_url_to_repo": "git@host:" + full + ".git", "http_url_to_repo": base + "/" + full + ".git",
		"web_url": base + "/" + full, "avatar_url": nil, "archived": x.Archived, "visibility": "internal", "empty_repo": false,
		"namespace":               map[string]any{"id": 2, "name": x.Owner, "path": x.Owner, "kind": "group", "full_path": x.Owner},
		"repository_access_level": "enabled", "last_activity_at": "2026-01-26T19:06:43.000Z",
	}
	if x.Fork {
		out["forked_from_project"] = map[string]any{"id": 13083}
	}
	return out
}

func TestContract(t *testing.T) {
	hosttest.Run(t, hosttest.Suite{
		Kind: code.GitLab, Open: Open, Serve: serve, PageSize: pageSize,
		Targets:     discovery.Targets{Groups: []string{"acme"}, Projects: []string{"acme/repo-00001"}},
		Unknown:     discovery.Targets{Groups: []string{"nobody", "acme"}},
		UnknownName: "nobody",
		Misspelled:  &discovery.Targets{Users: []string{"a/b"}},
		DisplayName: func(r hosttest.Repo) string { return r.Owner + "/" + r.Name },
		Header:      "Private-Token", HeaderValue: "s3cret",
	})
}

// TestAll lists all projects by keyset; a project without a repository is not found.
func TestAll(t *testing.T) {
	repos := append(hosttest.Repos("acme", 2*pageSize), hosttest.Repos("other", 3*pageSize)[2*pageSize:]...)
	server := hosttest.NewServer(t, false, func(base string) http.Handler { return serve(base, repos) })
	c := discovery.Connection{Name: "c", Kind: code.GitLab, URL: server.URL, Targets: discovery.Targets{All: true}}
	got := hosttest.ListAll(t, Open, c, hostapi.NewTransport(hostapi.Options{}).Client())
	if len(got.Found) != len(repos) || !got.Complete {
		t.Errorf("%d found, want %d; issues %v", len(got.Found), len(repos), got.Issues)
	}
	if !got.Found[0].Private {
		t.Error("an internal project is public")
	}
}
