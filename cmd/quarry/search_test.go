package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestSearchSays runs the command against answers of a server: what goes to
// standard output, what to standard error, and the exit code.
func TestSearchSays(t *testing.T) {
	const (
		all  = `{"type":"final","isSearchExhaustive":true}`
		done = "[DONE]"
	)
	stopped := func(reason string) string {
		return `{"type":"final","accumulatedStats":{"actualMatchCount":7},"incompleteReason":"` + reason + `"}`
	}
	for _, c := range []struct {
		name     string
		frames   []string
		out, err string
		code     int
	}{
		{"nothing", []string{all, done}, "", "", exitFailed},
		{"repositories", []string{`{"type":"chunk","files":[],"repositoryInfo":[{"name":"a/b"},{"name":"c"}]}`, all, done}, "a/b\nc\n", "", exitOK},
		{"files, and their repository", []string{
			`{"type":"chunk","files":[{"repository":"r","fileName":{"text":"f"}}],"repositoryInfo":[{"name":"r"}]}`,
			`{"type":"chunk","files":[{"repository":"r","fileName":{"text":"g"}}],"repositoryInfo":[{"name":"r"}]}`, all, done,
		}, "r:f\nr:g\n", "", exitOK},
		{"a notice", []string{`{"type":"final","notices":[{"message":"lang: is read as text"}],"isSearchExhaustive":true}`, done},
			"", "quarry: lang: is read as text\n", exitFailed},
		{"match limit", []string{stopped("match limit"), done}, "",
			"quarry: stopped after 7 matches; there are more, and -n raises the limit\n", exitFailed},
		{"time limit", []string{stopped("time limit"), done}, "",
			"quarry: stopped after 7 matches at the time limit of the server; there may be more, and filters such as repo: and file: make the search faster\n", exitFailed},
		{"server match limit", []string{stopped("server match limit"), done}, "",
			"quarry: stopped after 7 matches (server match limit); there may be more\n", exitFailed},
		{"a failure in the middle", []string{`{"type":"chunk","files":[{"repository":"r","fileName":{"text":"f"}}]}`, `{"type":"error","error":{"message":"time is up"}}`},
			"r:f\n", "quarry: time is up\n", exitUsage},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				for _, f := range c.frames {
					_, _ = fmt.Fprintf(w, ": a sign of life\n\ndata: %s\n\n", f)
				}
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
