package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// registry is an API server that needs a number of polls for each repository.
type registry struct {
	mu struct {
		sync.Mutex
		polls map[string]int
	}
	failing map[string]string
	polled  func()
}

func newRegistry() *registry {
	r := &registry{failing: map[string]string{}, polled: func() {}}
	r.mu.polls = map[string]int{}
	return r
}

func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch {
	case req.Method == http.MethodPost && req.URL.Path == "/api/repos":
		r.register(w, req)
	case strings.HasSuffix(req.URL.Path, "/status"):
		r.status(w, strings.TrimSuffix(strings.TrimPrefix(req.URL.Path, "/api/repos/"), "/status"))
	default:
		http.NotFound(w, req)
	}
}

func (r *registry) register(w http.ResponseWriter, req *http.Request) {
	var in struct{ Path, CloneURL string }
	_ = json.NewDecoder(req.Body).Decode(&in)
	if strings.HasPrefix(in.CloneURL, "ftp:") {
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(w, `{"statusCode":403,"errorCode":"REPOSITORY_REFUSED","message":"scheme ftp is not allowed"}`)
		return
	}
	id := "1"
	if in.CloneURL != "" {
		id = "2"
	}
	_, _ = fmt.Fprintf(w, `{"repoId":%s,"repoName":"r%s","position":{"topic":"quarry.events","partition":%s,"offset":5}}`, id, id, id)
}

func (r *registry) status(w http.ResponseWriter, id string) {
	r.mu.Lock()
	r.mu.polls[id]++
	polls := r.mu.polls[id]
	r.mu.Unlock()
	r.polled()
	switch {
	case polls == 1:
		w.WriteHeader(http.StatusNotFound)
	case polls == 2:
		_, _ = fmt.Fprintf(w, `{"repoName":"r%s","state":"importing","progress":{"files":3,"filesTotal":9,"bytes":10,"bytesTotal":100},"appliedPosition":{"partition":%s,"offset":4}}`, id, id)
	case r.failing[id] != "":
		_, _ = fmt.Fprintf(w, `{"repoName":"r%s","state":"failed","lastError":{"message":%q},"appliedPosition":{"partition":%s,"offset":5}}`, id, r.failing[id], id)
	default:
		_, _ = fmt.Fprintf(w, `{"repoName":"r%s","state":"indexed","files":9,"skippedFiles":1,"appliedPosition":{"partition":%s,"offset":6}}`, id, id)
	}
}

func quarry(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(ctx, args, streams{out: &out, err: &err})
	return code, out.String(), err.String()
}

func TestIndex(t *testing.T) {
	r := newRegistry()
	server := httptest.NewServer(r)
	defer server.Close()
	dir := t.TempDir()
	code, stdout, stderr := quarry(t.Context(), "index", "--server", server.URL, dir, "https://example.com/a.git")
	if code != exitOK || stdout != "" {
		t.Errorf("exit code %d, stdout %q", code, stdout)
	}
	for _, want := range []string{"r1: 9 files, 1 skipped, searchable after", "r2: 9 files"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q does not say %q", stderr, want)
		}
	}
}

func TestIndexFailures(t *testing.T) {
	r := newRegistry()
	r.failing["2"] = "the repository has vanished"
	server := httptest.NewServer(r)
	defer server.Close()
	missing := filepath.Join(t.TempDir(), "nothing")
	code, _, stderr := quarry(t.Context(), "index", "--server", server.URL, t.TempDir(), "https://example.com/a.git", "ftp://example.com/b", missing)
	if code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	for _, want := range []string{
		"https://example.com/a.git: failed: the repository has vanished\n",
		"ftp://example.com/b: failed: scheme ftp is not allowed\n",
		"nothing: failed: " + missing + " does not exist here",
		"r1: 9 files",
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q does not say %q", stderr, want)
		}
	}
}

func TestIndexInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := newRegistry()
	r.polled = cancel
	server := httptest.NewServer(r)
	defer server.Close()
	code, _, stderr := quarry(ctx, "index", "--server", server.URL, t.TempDir())
	if code != exitInterrupted || !strings.Contains(stderr, "the server goes on with 1 repositories") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"frobnicate"}, exitUsage, `unknown command "frobnicate"` + "\n" + `Run "quarry --help" for help.`},
		{[]string{"serach", "x"}, exitUsage, `did you mean "search"?`},
		{[]string{"users", "aprove", "x"}, exitUsage, `unknown command "aprove"; did you mean "approve"?` + "\n" + `Run "quarry users --help"`},
		{[]string{"help", "serach"}, exitUsage, `did you mean "search"?`},
		{[]string{"search", "--jsn", "x"}, exitUsage, `did you mean "--json"?`},
		{[]string{"search", "-foo", "x"}, exitUsage, "after the other words, or after --"},
		{[]string{"index"}, exitUsage, "path-or-url"},
		{[]string{"index", "--name", "x", "a", "b"}, exitFailed, "--name"},
		{[]string{"search", "--server", "nowhere", "x"}, exitUsage, "nowhere"},
		{[]string{"search", "--server", "http://127.0.0.1:1", "x"}, exitUsage, "no server answers"},
		{[]string{"serve", "--listen", "here"}, exitFailed, "host:port"},
	} {
		code, _, stderr := quarry(t.Context(), c.args...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit code %d, %q; want %d, %q", c.args, code, stderr, c.code, c.want)
		}
	}
	if code, stdout, _ := quarry(t.Context(), "--version"); code != exitOK || !strings.HasPrefix(stdout, "quarry ") {
		t.Errorf("--version: %d, %q", code, stdout)
	}
	if code, stdout, _ := quarry(t.Context(), "--help"); code != exitOK || !strings.Contains(stdout, "serve") {
		t.Errorf("--help: %d, %q", code, stdout)
	}
	if code, stdout, _ := quarry(t.Context(), "version"); code != exitOK || !strings.HasPrefix(stdout, "quarry ") {
		t.Errorf("version: %d, %q", code, stdout)
	}
	if code, stdout, _ := quarry(t.Context(), "serve", "--listen", "127.0.0.1:1", "--print-config"); code != exitOK || !strings.Contains(stdout, "listen: 127.0.0.1:1") {
		t.Errorf("--print-config: %d, %q", code, stdout)
	}
}
