package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestSearchSays runs the command against answers of a server: what goes to
// standard output, what to standard error, and the exit code.
func TestSearchSays(t *testing.T) {
	for _, c := range []struct {
		name, answer, out, err string
		code                   int
	}{
		{"nothing", `{"files":[],"isSearchExhaustive":true}`, "", "", exitFailed},
		{"repositories", `{"files":[],"repositoryInfo":[{"name":"a/b"},{"name":"c"}],"isSearchExhaustive":true}`, "a/b\nc\n", "", exitOK},
		{"a file, and its repository",
			`{"files":[{"repository":"r","fileName":{"text":"f"}}],"repositoryInfo":[{"name":"r"}],"isSearchExhaustive":true}`, "r:f\n", "", exitOK},
		{"a notice", `{"files":[],"notices":[{"message":"lang: is read as text"}],"isSearchExhaustive":true}`, "", "quarry: lang: is read as text\n", exitFailed},
		{"match limit", `{"files":[],"stats":{"actualMatchCount":7},"incompleteReason":"match limit"}`, "",
			"quarry: stopped after 7 matches, there are more: -n says how many to show\n", exitFailed},
		{"time limit", `{"files":[],"stats":{"actualMatchCount":7},"incompleteReason":"time limit"}`, "",
			"quarry: stopped after 7 matches at the server's time limit, there may be more: narrow the query with repo: or file:\n", exitFailed},
		{"server match limit", `{"files":[],"stats":{"actualMatchCount":7},"incompleteReason":"server match limit"}`, "",
			"quarry: stopped after 7 matches (server match limit), there may be more\n", exitFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(c.answer))
			}))
			defer server.Close()
			var out, err bytes.Buffer
			code := run(t.Context(), []string{"search", "--server", server.URL, "x"}, streams{out: &out, err: &err})
			if out.String() != c.out || err.String() != c.err || code != c.code {
				t.Errorf("out %q, err %q, code %d\nwant %q, %q, %d", out.String(), err.String(), code, c.out, c.err, c.code)
			}
		})
	}
}
