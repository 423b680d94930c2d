package gerrit

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/pipeline/discovery/hosttest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// serve serves Gerrit's REST API according to its documentation.
func serve(_ string, repos []hosttest.Repo) http.Handler {
	mux := http.NewServeMux()
	list := func(w http.ResponseWriter, r *http.Request) {
		names := []string{"All-Projects", "All-Users"}
		for _, x := range repos {
			names = append(names, x.Owner+"/"+x.Name)
		}
		slices.Sort(names)
		start, _ := strconv.Atoi(r.URL.Query().Get("S"))
		size, _ := strconv.Atoi(r.URL.Query().Get("n"))
		end := min(start+size, len(names))
		out := map[string]any{}
		for i, name := range names[start:end] {
			p := map[string]any{"id": url.QueryEscape(name), "state": "ACTIVE", "web_links": []any{}}
			if start+i == end-1 && end < len(names) {
				p["_more_projects"] = true
			}
			out[name] = p
		}
		text, err := json.Marshal(out)
		if err != nil {
			panic(err)
		}
		w.Header().Set("Content-Type", "application/json; charset=UTF-8")
		_, _ = w.Write(append([]byte(")]}'\n"), text...)) // the client notices an incomplete response
	}
	mux.HandleFunc("GET /a/projects/{$}", list)
	mux.HandleFunc("GET /projects/{$}", list)
	return mux
}

func TestContract(t *testing.T) {
	hosttest.Run(t, hosttest.Suite{
		Kind: code.Gerrit, Open: Open, Serve: serve, PageSize: pageSize,
		Targets:     discovery.Targets{Projects: []string{"acme/*", "acme/repo-00001"}},
		Unknown:     discovery.Targets{Projects: []string{"nobody", "acme/*"}},
		UnknownName: "nobody",
		DisplayName: func(r hosttest.Repo) string { return r.Owner + "/" + r.Name },
		Header:      "Authorization", HeaderValue: hostapi.BasicAuthorization("ann", "s3cret"),
	})
}

// TestAnonymous checks that all projects that can be listed without a password are
// public.
func TestAnonymous(t *testing.T) {
	server := hosttest.NewServer(t, false, func(base string) http.Handler { return serve(base, hosttest.Repos("acme", 3)) })
	c := discovery.Connection{Name: "c", Kind: code.Gerrit, URL: server.URL, Targets: discovery.Targets{All: true}}
	got := hosttest.ListAll(t, Open, c, hostapi.NewTransport(hostapi.Options{}).Client())
	if len(got.Found) != 3 || !got.Complete || got.Found[0].Private || got.Found[0].CloneURL != server.URL+"/acme/repo-00001" {
		t.Errorf("found %+v, issues %v", got.Found, got.Issues)
	}
}
