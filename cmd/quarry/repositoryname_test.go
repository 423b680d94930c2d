package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// newRepositoryServer returns a server with repositories that records other requests.
func newRepositoryServer(t *testing.T, names ...string) (url string, requests *[]string) {
	requests = new([]string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/api/repos" {
			*requests = append(*requests, r.Method+" "+r.URL.RequestURI())
			answer := `{"repoName":"acme/kettle"}`
			if slices.Contains([]string{"commits", "files", "skipped"}, path.Base(r.URL.Path)) {
				answer = "[]"
			}
			_, _ = w.Write([]byte(answer))
			return
		}
		if n, err := strconv.Atoi(r.URL.Query().Get("perPage")); err == nil && n > 100 {
			http.Error(w, "perPage: want a whole number of 1 to 100", http.StatusBadRequest) // as the API does
			return
		}
		found := []wire.Repository{}
		for i, name := range names {
			if strings.Contains(strings.ToLower(name), strings.ToLower(r.URL.Query().Get("query"))) {
				found = append(found, wire.Repository{RepoID: code.RepositoryNumber(i + 1), RepoName: name})
			}
		}
		_ = json.NewEncoder(w).Encode(found)
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

// TestUniqueEndOfRepositoryName checks that the end of a name is enough where it is
// unique, and that other names are answered with near ones.
func TestUniqueEndOfRepositoryName(t *testing.T) {
	for _, c := range []struct {
		args         []string
		request, err string
		code         int
	}{
		{[]string{"repos", "remove", "kettle"}, "DELETE /api/repos/1", "acme/kettle is removed", exitOK},
		{[]string{"repos", "remove", "Kettle"}, "DELETE /api/repos/1", "acme/kettle is removed", exitOK},
		{[]string{"repos", "remove", "acme/kettle"}, "DELETE /api/repos/1", "is removed", exitOK},
		{[]string{"repos", "remove", "7"}, "DELETE /api/repos/7", "is removed", exitOK},
		{[]string{"repos", "remove", "app"}, "", `no such repository: app; did you mean a/app or b/app?`, exitFailed},
		{[]string{"repos", "remove", "ketle"}, "", "no such repository: ketle; did you mean acme/kettle", exitFailed},
		{[]string{"repos", "remove", "ettle"}, "", "no such repository: ettle", exitFailed},
		{[]string{"repos", "remove", "zzzzzzzzzz"}, "", "quarry repos list", exitFailed},
		{[]string{"repos", "show", "kettle"}, "GET /api/repos/1/status", "", exitOK},
		{[]string{"blame", "kettle", "a.go"}, "repo=acme%2Fkettle", "", exitOK},
		{[]string{"blame", "ketle", "a.go"}, "", "did you mean acme/kettle", exitFailed},
		{[]string{"log", "kettle", "nofile"}, "repo=acme%2Fkettle", "no commit found", exitOK},
		{[]string{"files", "kettle", "nofile"}, "POST /api/files", "no path contains", exitOK},
		{[]string{"symbols", "kettle"}, "repo=acme%2Fkettle", "no symbol found\n", exitFailed},
		{[]string{"symbols", "kettle", "cmd/main.go"}, "repo=acme%2Fkettle", "no symbol found; --path lists", exitFailed},
		{[]string{"find", "x", "--repo", "kettle"}, "repo=acme%2Fkettle", "no path has these letters", exitFailed},
		{[]string{"defs", "x", "--repo", "kettle"}, "POST /api/find_definitions", "no symbol has this name", exitFailed},
		{[]string{"refs", "kettle"}, "GET /api/repos/1/status", "", exitOK},
		{[]string{"skipped", "kettle"}, "/api/repos/1/", "no file is skipped", exitOK},
		{[]string{"erase", "kettle", "--yes"}, "", "did you mean acme/kettle?", exitFailed},
	} {
		url, requests := newRepositoryServer(t, "acme/kettle", "a/app", "b/app")
		var out, err bytes.Buffer
		code := run(t.Context(), append(c.args, "--server", url), streams{out: &out, err: &err})
		asked := strings.Join(*requests, " ")
		if c.request == "" && asked != "" || !strings.Contains(asked, c.request) || !strings.Contains(err.String(), c.err) {
			t.Errorf("quarry %s: status %d, requests %q, error %q; want status %d, request %q, error %q",
				strings.Join(c.args, " "), code, asked, err.String(), c.code, c.request, c.err)
		} else if code != c.code && !strings.Contains(err.String(), "unmarshal") { // the answers are not of each operation
			t.Errorf("quarry %s: status %d, error %q; want status %d", strings.Join(c.args, " "), code, err.String(), c.code)
		}
	}
}

// TestReposList checks the list of repositories.
func TestReposList(t *testing.T) {
	url, _ := newRepositoryServer(t, "acme/kettle", "odd\nname")
	for _, c := range []struct {
		args []string
		want []string
		code int
	}{
		{[]string{"repos"}, []string{"NAME", "acme/kettle", `odd\nname`}, exitOK},
		{[]string{"repos", "list", "KETT"}, []string{"acme/kettle  1"}, exitOK},
		{[]string{"repos", "list", "--json", "kett"}, []string{`"repoName":"acme/kettle"`}, exitOK},
		{[]string{"repos", "list", "nothing"}, nil, exitFailed},
	} {
		var out, err bytes.Buffer
		code := run(t.Context(), append(c.args, "--server", url), streams{out: &out, err: &err})
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("quarry %s: %q is not in %q, error %q", strings.Join(c.args, " "), want, out.String(), err.String())
			}
		}
		if c.code == exitFailed && !strings.Contains(err.String(), "no name of a repository contains this text") {
			t.Errorf("quarry %s: error %q", strings.Join(c.args, " "), err.String())
		}
		if code != c.code {
			t.Errorf("quarry %s: status %d, want %d: %s", strings.Join(c.args, " "), code, c.code, err.String())
		}
	}
}
