package bitbucketserver

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/pipeline/discovery/hosttest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// serve serves Bitbucket's REST API according to its documentation.
func serve(base string, repos []hosttest.Repo) http.Handler {
	mux := http.NewServeMux()
	list := func(w http.ResponseWriter, r *http.Request, all []hosttest.Repo) {
		start, _ := strconv.Atoi(r.URL.Query().Get("start"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		end := min(start+limit, len(all))
		values := []any{}
		for _, x := range all[start:end] {
			values = append(values, describe(base, x))
		}
		out := map[string]any{"size": len(values), "limit": limit, "isLastPage": end == len(all), "values": values, "start": start, "nextPageStart": nil}
		if end < len(all) {
			out["nextPageStart"] = end
		}
		hosttest.WriteJSON(w, http.StatusOK, out)
	}
	missing := func(w http.ResponseWriter) {
		hosttest.WriteJSON(w, http.StatusNotFound, map[string]any{"errors": []any{map[string]any{"context": nil, "message": "Project does not exist.", "exceptionName": "com.atlassian.bitbucket.project.NoSuchProjectException"}}})
	}
	mux.HandleFunc("GET /rest/api/1.0/repos", func(w http.ResponseWriter, r *http.Request) { list(w, r, repos) })
	mux.HandleFunc("GET /rest/api/1.0/projects/{key}/repos", func(w http.ResponseWriter, r *http.Request) {
		mine := slices.DeleteFunc(slices.Clone(repos), func(x hosttest.Repo) bool { return strings.ToUpper(x.Owner) != r.PathValue("key") })
		if len(mine) == 0 {
			missing(w)
			return
		}
		list(w, r, mine)
	})
	mux.HandleFunc("GET /rest/api/1.0/projects/{key}/repos/{slug}", func(w http.ResponseWriter, r *http.Request) {
		i := slices.IndexFunc(repos, func(x hosttest.Repo) bool {
			return strings.ToUpper(x.Owner) == r.PathValue("key") && x.Name == r.PathValue("slug")
		})
		if i < 0 {
			missing(w)
			return
		}
		hosttest.WriteJSON(w, http.StatusOK, describe(base, repos[i]))
	})
	return mux
}

func describe(base string, x hosttest.Repo) map[string]any {
	key := strings.ToUpper(x.Owner)
	out := map[string]any{
		"slug": x.Name, "id": x.ID, "name": x.Name, "hierarchyId": "e3c939f9ef4a7fae272e", "scmId": "git", "state": "AVAILABLE", "statusMessage": "Available",
		"forkable": true, "public": !x.Private, "archived": x.Archived, "project": map[string]any{"key": key, "id": 1, "name": x.Owner, "public": false, "type": "NORMAL"},
		"links": map[string]any{
			"clone": []any{
				map[string]any{"href": "ssh://git@host:7999/" + x.Owner + "/" + x.Name + ".git", "name": "ssh"},
				map[string]any{"href": strings.Replace(base, "://", "://ann@", 1) + "/scm/" + x.Owner + "/" + x.Name + ".git", "name": "http"},
			},
			"self": []any{map[string]any{"href": base + "/projects/" + key + "/repos/" + x.Name + "/browse"}},
		},
	}
	if x.Fork {
		out["origin"] = map[string]any{"slug": "other"}
	}
	return out
}

func TestContract(t *testing.T) {
	hosttest.Run(t, hosttest.Suite{
		Kind: code.BitbucketServer, Open: Open, Serve: serve, PageSize: pageSize,
		Targets:     discovery.Targets{Projects: []string{"ACME"}, Repos: []string{"ACME/repo-00001"}},
		Unknown:     discovery.Targets{Projects: []string{"NOBODY", "ACME"}},
		UnknownName: "NOBODY",
		Misspelled:  &discovery.Targets{Repos: []string{"ACME"}},
		DisplayName: func(r hosttest.Repo) string { return strings.ToUpper(r.Owner) + "/" + r.Name },
		Header:      "Authorization", HeaderValue: hostapi.BasicAuthorization("ann", "s3cret"),
	})
}

func TestAll(t *testing.T) {
	repos := append(hosttest.Repos("acme", pageSize), hosttest.Repo{ID: 1000, Owner: "~ann", Name: "x"})
	server := hosttest.NewServer(t, false, func(base string) http.Handler { return serve(base, repos) })
	c := discovery.Connection{Name: "c", Kind: code.BitbucketServer, URL: server.URL, Token: "s3cret", Targets: discovery.Targets{All: true}, Exclude: discovery.Filter{UserOwned: true}}
	got := hosttest.ListAll(t, Open, c, hostapi.NewTransport(hostapi.Options{}).Client())
	if len(got.Found) != pageSize || !got.Complete {
		t.Errorf("%d found, want %d; issues %v", len(got.Found), pageSize, got.Issues)
	}
	if h := server.Headers()[0].Get("Authorization"); h != "Bearer s3cret" {
		t.Errorf("Authorization: %s", h)
	}
}
