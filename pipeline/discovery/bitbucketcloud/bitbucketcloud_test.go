package bitbucketcloud

import (
	"fmt"
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
	missing := func(w http.ResponseWriter) {
		hosttest.WriteJSON(w, http.StatusNotFound, map[string]any{"type": "error", "error": map[string]any{"message": "No workspace with identifier 'nobody'."}})
	}
	mux.HandleFunc("GET /2.0/repositories/{workspace}", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		mine := slices.DeleteFunc(slices.Clone(repos), func(x hosttest.Repo) bool {
			return x.Owner != r.PathValue("workspace") || q.Get("q") != "" && q.Get("q") != fmt.Sprintf("project.key=%q", keyOf(x))
		})
		if len(mine) == 0 {
			missing(w)
			return
		}
		number, err := strconv.Atoi(q.Get("page"))
		if err != nil {
			number = 1
		}
		size, _ := strconv.Atoi(q.Get("pagelen"))
		values := []any{}
		for _, x := range hosttest.Page(w, r, "", "pagelen", 100, mine) {
			values = append(values, describe(base, x))
		}
		out := map[string]any{"pagelen": size, "size": len(mine), "page": number, "values": values}
		if number*size < len(mine) {
			q.Set("page", strconv.Itoa(number+1))
			out["next"] = "http://" + r.Host + r.URL.Path + "?" + q.Encode()
		}
		hosttest.WriteJSON(w, http.StatusOK, out)
	})
	mux.HandleFunc("GET /2.0/repositories/{workspace}/{slug}", func(w http.ResponseWriter, r *http.Request) {
		i := slices.IndexFunc(repos, func(x hosttest.Repo) bool {
			return x.Owner == r.PathValue("workspace") && x.Name == r.PathValue("slug")
		})
		if i < 0 {
			missing(w)
			return
		}
		hosttest.WriteJSON(w, http.StatusOK, describe(base, repos[i]))
	})
	return mux
}

// keyOf returns the key of the project of a repository.
func keyOf(x hosttest.Repo) string { return strings.ToUpper(x.Owner[:2]) }

func describe(base string, x hosttest.Repo) map[string]any {
	full := x.Owner + "/" + x.Name
	out := map[string]any{
		"type": "repository", "uuid": fmt.Sprintf("{470c176d-3574-44ea-bb41-%012d}", x.ID), "full_name": full, "is_private": x.Private, "scm": "git", "name": x.Name,
		"description": "", "size": 2084, "project": map[string]any{"type": "project", "key": keyOf(x), "name": x.Owner}, "slug": x.Name,
		"links": map[string]any{
			"html": map[string]any{"href": base + "/" + full}, "avatar": map[string]any{"href": base + "/" + full + "/avatar/32/"},
			"clone": []any{map[string]any{"href": base + "/" + full + ".git", "name": "https"}},
		},
		"mainbranch": map[string]any{"type": "branch", "name": x.Branch},
	}
	if base == "https://elsewhere.example.org" {
		out["full_name"] = "no slash"
	}
	return out
}

func TestContract(t *testing.T) {
	hosttest.Run(t, hosttest.Suite{
		Kind: code.BitbucketCloud, Open: Open, Serve: serve, PageSize: pageSize,
		Targets:     discovery.Targets{Workspaces: []string{"acme"}, Projects: []string{"acme/AC"}, Repos: []string{"acme/repo-00001"}},
		Unknown:     discovery.Targets{Workspaces: []string{"nobody", "acme"}},
		UnknownName: "nobody",
		Misspelled:  &discovery.Targets{Projects: []string{`acme/A"C`}},
		DisplayName: func(r hosttest.Repo) string { return r.Owner + "/" + keyOf(r) + "/" + r.Name },
		Header:      "Authorization", HeaderValue: hostapi.BasicAuthorization("ann", "s3cret"),
	})
}

// TestNextPageElsewhere checks that a next page on another host is not requested, because
// the request would send the token.
func TestNextPageElsewhere(t *testing.T) {
	server := hosttest.NewServer(t, false, func(string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			hosttest.WriteJSON(w, http.StatusOK, map[string]any{"values": []any{}, "next": "https://elsewhere.invalid/2.0/repositories/acme?page=2"})
		})
	})
	c := discovery.Connection{Name: "c", Kind: code.BitbucketCloud, URL: server.URL, Token: "s3cret", Targets: discovery.Targets{Workspaces: []string{"acme"}}}
	got := hosttest.ListAll(t, Open, c, hostapi.NewTransport(hostapi.Options{}).Client())
	if got.Complete || len(got.Issues) != 1 || got.Issues[0].Code != discovery.IssueCode(hostapi.Redirected) {
		t.Errorf("complete %v, issues %v", got.Complete, got.Issues)
	}
}
