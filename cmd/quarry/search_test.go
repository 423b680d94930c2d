package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// TestSearchSays runs the command against fixed server responses and checks standard
// output, standard error and the exit code.
func TestSearchSays(t *testing.T) {
	stopped := func(reason string) string {
		return `{"stats":{"actualMatchCount":7},"incompleteReason":"` + reason + `"}`
	}
	for _, c := range []struct {
		name, answer string
		out, err     string
		code         int
	}{
		{"nothing", `{"isSearchExhaustive":true}`, "", "quarry: no match\n", exitFailed},
		{"repositories", `{"repositoryInfo":[{"name":"a/b"},{"name":"c"}],"isSearchExhaustive":true}`, "a/b\nc\n", "", exitOK},
		{"files, and their repository", `{"files":[{"repository":"r","fileName":{"text":"f"}},{"repository":"r","fileName":{"text":"g"}}],` +
			`"repositoryInfo":[{"name":"r"}],"isSearchExhaustive":true}`, "r:f\nr:g\n", "", exitOK},
		{"a notice", `{"notices":[{"message":"lang: is read as text"}],"isSearchExhaustive":true}`,
			"", "quarry: no match\nquarry: lang: is read as text\n", exitFailed},
		{"related files", `{"files":[{"repository":"r","fileName":{"text":"f"}}],"isSearchExhaustive":true,"related":[{"reason":"fileName","query":"file:x","files":[{"repository":"r","fileName":{"text":"x"}}]}]}`,
			"r:f\n", "quarry: files named so, not counted: file:x\nr:x\n", exitOK},
		{"related files alone", `{"isSearchExhaustive":true,"related":[{"reason":"spelling","query":"y","files":[{"repository":"r","fileName":{"text":"f"},` +
			`"chunks":[{"content":"y\n","contentStart":{"lineNumber":3}}]}]}]}`,
			"", "quarry: no match\nquarry: another spelling, not counted: y\nr:f:3-y\n", exitFailed},
		{"match limit", stopped("match limit"), "",
			"quarry: stopped after 7 matches; there are more, and -n raises the limit\n", exitFailed},
		{"time limit", stopped("time limit"), "",
			"quarry: stopped after 7 matches at the time limit of the server; there may be more, and filters such as repo: and file: make the search faster\n", exitUsage},
		{"server match limit", stopped("server match limit"), "",
			"quarry: stopped after 7 matches (server match limit); there may be more\n", exitUsage},
		{"behind the log", stopped("behind the log"), "",
			"quarry: the server is behind the event log; what was pushed recently may be missing, so try again in some seconds\n", exitUsage},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/api/repos" && strings.HasPrefix(c.err, "quarry: no match") {
					http.NotFound(w, r)
					return
				}
				if r.URL.Path != "/api/search" {
					t.Errorf("the command asks %s, want \"/api/search\"", r.URL.Path)
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, c.answer)
			}))
			defer server.Close()
			var out, err bytes.Buffer
			code := run(t.Context(), []string{"search", "--server", server.URL, "x"}, streams{out: &out, err: &err})
			if out.String() != c.out || err.String() != c.err || code != c.code {
				t.Errorf("out %q, err %q, code %d\nwant %q, %q, %d", out.String(), err.String(), code, c.out, c.err, c.code)
			}
			code = run(t.Context(), []string{"search", "--server", server.URL, "--json", "x"}, streams{out: &out, err: &err})
			if code != c.code {
				t.Errorf("with --json: code %d, want %d", code, c.code)
			}
		})
	}
}

// TestNoMatch checks what the command suggests if a search finds nothing.
func TestNoMatch(t *testing.T) {
	for _, c := range []struct{ query, repositories, elsewhere, want string }{
		{"x or y", `{"repoName":"a"}`, "rev:* (x or y)", "quarry: no match on the default branches, but another indexed branch or tag has one. Search for: rev:* (x or y)\n"},
		{"x", `{"repoName":"a"}`, "", "quarry: no match\n"},
		{"x rev:y", `{"repoName":"a"}`, "rev:* x rev:y", "quarry: no match\n"},
		{"x", "", "rev:* x", "quarry: no match: nothing is indexed yet that you may read; quarry index PATH-OR-URL adds a repository\n"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.URL.Path == "/api/repos" {
				_, _ = io.WriteString(w, "["+c.repositories+"]")
				return
			}
			var request wire.SearchRequest
			if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
				t.Error(err)
			}
			if request.Query == c.elsewhere {
				_, _ = io.WriteString(w, `{"files":[{"repository":"a","fileName":{"text":"f"}}],"isSearchExhaustive":true}`)
				return
			}
			_, _ = io.WriteString(w, `{"isSearchExhaustive":true}`)
		}))
		var out, err bytes.Buffer
		code := run(t.Context(), []string{"search", "--server", server.URL, c.query}, streams{out: &out, err: &err})
		server.Close()
		if out.String() != "" || err.String() != c.want || code != exitFailed {
			t.Errorf("%s: out %q, err %q, code %d\nwant err %q", c.query, out.String(), err.String(), code, c.want)
		}
	}
}

// TestSearchForManyMatches checks that files are printed as they are found, even if a
// failure follows.
func TestSearchForManyMatches(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, frame := range []string{`{"type":"chunk","files":[{"repository":"r","fileName":{"text":"f"}}]}`, `{"type":"error","error":{"message":"time is up"}}`} {
			_, _ = fmt.Fprintf(w, ": keep alive\n\ndata: %s\n\n", frame)
		}
	}))
	defer server.Close()
	var out, err bytes.Buffer
	code := run(t.Context(), []string{"search", "--server", server.URL, "-n", "20000", "x"}, streams{out: &out, err: &err})
	if out.String() != "r:f\n" || err.String() != "quarry: time is up\n" || code != exitUsage {
		t.Errorf("out %q, err %q, code %d", out.String(), err.String(), code)
	}
}

// TestRemainder checks the message at the end of a page.
func TestRemainder(t *testing.T) {
	p := &printer{lines: 50, files: 10}
	for _, c := range []struct {
		matches, files int
		want           string
	}{
		{735, 43, "50 lines of 10 files are shown; there are 735 matches in 43 files, and -n shows more"},
		{1001, 43, "50 lines of 10 files are shown; there are more than 1000 matches in more than 43 files, and -n shows more"},
	} {
		if got := describeRemainder(p, &wire.SearchResult{Stats: wire.SearchStats{TotalMatchCount: c.matches, FileCount: c.files}}); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestRetry checks that the command prints the suggested query if that is more than a
// name.
func TestRetry(t *testing.T) {
	for _, c := range []struct {
		suggestion, query, want string
	}{
		{"kmalloc", "kmalloc", ""},
		{"kmalloc", "kmalloc lang:c", " Search for: kmalloc lang:c"},
	} {
		n := wire.SearchNotice{Suggestions: []string{c.suggestion}, Queries: []string{c.query}}
		if have := retryAdvice(&n); have != c.want {
			t.Errorf("%s: %q, want %q", c.query, have, c.want)
		}
	}
	if have := retryAdvice(&wire.SearchNotice{}); have != "" {
		t.Errorf("without queries: %q", have)
	}
}
