package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/terminal"
	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// registry is an API server on which each repository needs a number of polls until it is
// searchable.
type registry struct {
	mu struct {
		sync.Mutex
		polls map[string]int
	}
	failing map[string]string
}

func newRegistry() *registry {
	r := &registry{failing: map[string]string{}}
	r.mu.polls = map[string]int{}
	return r
}

func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch {
	case req.Method == http.MethodPost && req.URL.Path == "/api/repos":
		r.serveRegister(w, req)
	case strings.HasSuffix(req.URL.Path, "/status"):
		r.serveStatus(w, strings.TrimSuffix(strings.TrimPrefix(req.URL.Path, "/api/repos/"), "/status"))
	default:
		http.NotFound(w, req)
	}
}

func (r *registry) serveRegister(w http.ResponseWriter, req *http.Request) {
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

func (r *registry) serveStatus(w http.ResponseWriter, id string) {
	r.mu.Lock()
	r.mu.polls[id]++
	polls := r.mu.polls[id]
	r.mu.Unlock()
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

func runQuarry(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(ctx, args, streams{out: &out, err: &err})
	return code, out.String(), err.String()
}

func TestIndex(t *testing.T) {
	r := newRegistry()
	server := httptest.NewServer(r)
	defer server.Close()
	dir := t.TempDir()
	code, stdout, stderr := runQuarry(t.Context(), "index", "--server", server.URL, dir, "https://example.com/a.git")
	if code != exitOK || stdout != "" {
		t.Errorf("exit code %d, stdout %q", code, stdout)
	}
	for _, want := range []string{"r1: 9 files, 1 skipped, searchable after", "; quarry skipped r1 lists what is skipped", "r2: 9 files"} {
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
	code, _, stderr := runQuarry(t.Context(), "index", "--server", server.URL, t.TempDir(), "https://example.com/a.git", "ftp://example.com/b", missing, "")
	if code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	for _, want := range []string{
		"https://example.com/a.git: failed: the repository has vanished\n",
		"ftp://example.com/b: failed: scheme ftp is not allowed\n",
		"nothing: failed: " + missing + " does not exist and is not a clone URL",
		": failed: an empty argument is neither a path nor a clone URL; write . for the current directory\n",
		"r1: 9 files",
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q does not say %q", stderr, want)
		}
	}
}

// TestIndexInterrupted interrupts the command while it registers, and while it waits. An
// interrupt is no failure of the server.
func TestIndexInterrupted(t *testing.T) {
	for at, want := range map[string]string{"/api/repos": "", "/status": "the server continues to index 1 repositories"} {
		ctx, cancel := context.WithCancel(t.Context())
		r := newRegistry()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if strings.HasSuffix(req.URL.Path, at) {
				_, _ = io.Copy(io.Discard, req.Body) // a server notices the end of a client only after the body
				cancel()
				<-req.Context().Done()
			}
			r.ServeHTTP(w, req)
		}))
		code, _, stderr := runQuarry(ctx, "index", "--server", server.URL, t.TempDir())
		server.Close()
		if code != exitInterrupted || !strings.Contains(stderr, want) || strings.Contains(stderr, "not available") {
			t.Errorf("interrupted at %s: exit status %d, %q; want %d and %q", at, code, stderr, exitInterrupted, want)
		}
	}
}

// TestIndexWaitsForServer makes some responses fail in each of the ways in which a
// restarting server fails.
func TestIndexWaitsForServer(t *testing.T) {
	breaks := []func(http.ResponseWriter){
		func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, // resets the connection
		func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) },
		func(w http.ResponseWriter) {
			_, _ = w.Write([]byte(`{"repoName":`))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler) // breaks off the response
		},
		func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) },
	}
	for _, c := range []string{"register", "wait"} {
		r := newRegistry()
		next := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if next < len(breaks) && (strings.HasSuffix(req.URL.Path, "/status") || c == "register") {
				next++
				breaks[next-1](w)
				return
			}
			r.ServeHTTP(w, req)
		}))
		t.Cleanup(server.Close)
		code, _, stderr := runQuarry(t.Context(), "index", "--server", server.URL, t.TempDir())
		if code != exitOK || next != len(breaks) {
			t.Errorf("%s: exit status %d after %d broken answers", c, code, next)
		}
		lines := strings.Split(stderr, "\n")
		for n, want := range []string{"the server is not available; waiting up to 2m0s for it: ", "the server answers again", "r1: 9 files"} {
			if n >= len(lines) || !strings.HasPrefix(lines[n], want) {
				t.Errorf("%s: line %d of %q is not %q", c, n, stderr, want)
			}
		}
	}
}

// TestIndexGivesUp checks that the wait for a server ends at its bound, and at a response
// that rejects the request.
func TestIndexGivesUp(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer server.Close()
	to, err := newClient(server.URL, "", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	clock := time.Unix(0, 0)
	i := &indexRun{server: to, progress: terminal.NewProgress(&out), now: func() time.Time { clock = clock.Add(serverAwayTimeout / 3); return clock }, awayTimeout: serverAwayTimeout,
		pending: []*pendingRepository{{target: "x", Accepted: &wire.Accepted{RepoID: 1}}}}
	if err := i.waitSearchable(t.Context()); err == nil || !strings.Contains(err.Error(), "has been unavailable for 2m0s") {
		t.Errorf("the wait ended with %v", err)
	}
	if err := i.checkAnswer(&client.Error{StatusCode: http.StatusForbidden}); err == nil {
		t.Error("the wait goes on after 403")
	}
}

// TestRoles accepts roles in any case and rejects unknown ones.
func TestRoles(t *testing.T) {
	var sent []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Role string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		sent = append(sent, body.Role)
		_, _ = w.Write([]byte(`{"email":"a@example.org","state":"ACTIVE","role":"MEMBER"}`))
	}))
	defer server.Close()
	for _, args := range [][]string{
		{"invite", "--role", "MEMBER"}, {"invite", "--role", "Owner"}, {"invite"}, {"users", "role", "u1", "member"}, {"users", "role", "u1", "OWNER"},
	} {
		if code, _, stderr := runQuarry(t.Context(), append(args, "--server", server.URL)...); code != exitOK {
			t.Errorf("%q: exit status %d, %q", args, code, stderr)
		}
	}
	if want := []string{"MEMBER", "OWNER", "MEMBER", "MEMBER", "OWNER"}; !slices.Equal(sent, want) {
		t.Errorf("the server receives %q, want %q", sent, want)
	}
	if code, _, stderr := runQuarry(t.Context(), "invite", "--role", "admin"); code != exitUsage || !strings.Contains(stderr, "want owner or member") {
		t.Errorf("--role admin: exit status %d, %q", code, stderr)
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--server", "http://x", "search", "foo"}, exitUsage, `flag --server belongs after the command` + "\n" + `run "quarry --help" for help`},
		{[]string{"--dlqueue", "search", "foo"}, exitUsage, "unknown flag --dlqueue"},
		{[]string{"replay", "--verify", "--server", "http://x"}, exitUsage, "--verify reads the data directory of a stopped server"},
		{[]string{"frobnicate"}, exitUsage, `unknown command "frobnicate"` + "\n" + `run "quarry --help" for help`},
		{[]string{"serach", "x"}, exitUsage, `did you mean "search"?`},
		{[]string{"users", "aprove", "x"}, exitUsage, `unknown command "aprove"; did you mean "approve"?` + "\n" + `run "quarry users --help"`},
		{[]string{"help", "serach"}, exitUsage, `did you mean "search"?`},
		{[]string{"search", "--jsn", "x"}, exitUsage, `did you mean "--json"?`},
		{[]string{"search", "-foo", "x"}, exitUsage, "after the other words, or after --"},
		{[]string{"search", "-ocarina", "x"}, exitUsage, "there is no flag -a. To exclude a word, write it after the other words, or after --."},
		{[]string{"search", "-vuvuzela", "x"}, exitUsage, "there is no flag -v: write -line:PATTERN for lines without a text, or a minus before what files must not contain. To exclude a word, write it after the other words, or after --."},
		{[]string{"index"}, exitUsage, "path-or-url"},
		{[]string{"index", "--name", "x", "a", "b"}, exitUsage, "--name"},
		{[]string{"dlq", "replay"}, exitUsage, "or --all"},
		{[]string{"dlq", "show", "x"}, exitUsage, "want one such as 2-170"},
		{[]string{"deliveries", "show", "x"}, exitUsage, "CONNECTION/ID"},
		{[]string{"audit", "list", "--since", "x"}, exitUsage, "--since"},
		{[]string{"events", "tail", "--server", "nowhere"}, exitUsage, "nowhere"},
		{[]string{"search", "--server", "nowhere", "x"}, exitUsage, "nowhere"},
		{[]string{"search", "--server", "http://127.0.0.1:1", "x"}, exitUsage, "no server answers"},
		{[]string{"serve", "--listen", "here"}, exitFailed, "host:port"},
	} {
		code, _, stderr := runQuarry(t.Context(), c.args...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit code %d, %q; want %d, %q", c.args, code, stderr, c.code, c.want)
		}
	}
	if code, stdout, _ := runQuarry(t.Context(), "--version"); code != exitOK || !strings.HasPrefix(stdout, "quarry ") {
		t.Errorf("--version: %d, %q", code, stdout)
	}
	if code, stdout, _ := runQuarry(t.Context(), "--help"); code != exitOK || !strings.Contains(stdout, "serve") {
		t.Errorf("--help: %d, %q", code, stdout)
	}
	if code, stdout, _ := runQuarry(t.Context(), "version"); code != exitOK || !strings.HasPrefix(stdout, "quarry ") {
		t.Errorf("version: %d, %q", code, stdout)
	}
	if code, stdout, _ := runQuarry(t.Context(), "serve", "--listen", "127.0.0.1:1", "--print-config"); code != exitOK || !strings.Contains(stdout, "listen: 127.0.0.1:1") {
		t.Errorf("--print-config: %d, %q", code, stdout)
	}
}
