package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/schemas/ledger"
)

// gitHost serves the repositories of a directory over HTTP. Requests for other paths than
// those of repositories get what a test sets.
type gitHost struct {
	*httptest.Server
	// broken makes every request fail with its status; zero means none.
	broken atomic.Int32
}

func newGitHost(t *testing.T, root string) *gitHost {
	t.Helper()
	h, git := &gitHost{}, gittest.HTTPHandler(t, root)
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch status := int(h.broken.Load()); {
		case status != 0:
			w.WriteHeader(status)
		case strings.HasPrefix(r.URL.Path, "/moved"):
			http.Redirect(w, r, "/kettle"+strings.TrimPrefix(r.URL.Path, "/moved"), http.StatusMovedPermanently)
		case strings.HasPrefix(r.URL.Path, "/page"):
			fmt.Fprintln(w, "<html>please sign in</html>")
		case strings.HasPrefix(r.URL.Path, "/secret"):
			w.WriteHeader(http.StatusUnauthorized)
		default:
			git.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

// TestNoRepositoryIsNotRegistered registers what is no repository. The response names the
// reason, and neither a registration nor a dead letter is left.
func TestNoRepositoryIsNotRegistered(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "kettle")
	g.commitFiles("a.txt", "a\n", "sub/b.txt", "b\n")
	root := filepath.Dir(g.dir)
	for _, dir := range []string{"empty", "unborn"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	g.runGitCommand("init", "--quiet", filepath.Join(root, "unborn"))
	host := newGitHost(t, root)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	s := runServer(t, testConfig(t, "git.allowedRoots="+root, "git.allowedProtocols=http,https,file", "git.allowedNetworks=127.0.0.0/8", "pipeline.maxAttempts=1"))
	type answer struct {
		Message, ErrorCode string
		registration
	}
	register := func(body string) (int, answer) {
		var a answer
		status := postJSON(t, s.URL()+"/api/repos", body, &a)
		return status, a
	}
	for _, tc := range []struct{ what, address, want string }{
		{"a directory", filepath.Join(root, "empty"), "no git repository"},
		{"a directory of a repository", filepath.Join(g.dir, "sub"), "no git repository"},
		{"a directory that does not exist", filepath.Join(root, "none"), "repository is not there"},
		{"a wrong path of a URL", host.URL + "/kettel.git", "repository is not there"},
		{"the URL of a page", host.URL + "/page/kettle", "git"},
		{"a URL that redirects", host.URL + "/moved/.git", "redirects to " + host.URL + "/kettle/.git"},
		{"a URL that wants credentials", host.URL + "/secret/x.git", "credentials"},
		{"a port where nothing listens", closed.URL + "/kettle.git", "host cannot be reached"},
	} {
		field := "cloneUrl"
		if strings.HasPrefix(tc.address, "/") {
			field = "path"
		}
		status, a := register(fmt.Sprintf(`{%q:%q,"name":"x"}`, field, tc.address))
		if status != http.StatusForbidden || a.ErrorCode != "REPOSITORY_REFUSED" || !strings.Contains(a.Message, tc.want) {
			t.Errorf("%s: %d %s %q, want 403 REPOSITORY_REFUSED with %q", tc.what, status, a.ErrorCode, a.Message, tc.want)
		}
	}
	_, body := getURL(t, s.URL()+"/api/repos")
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(body), &list); err != nil || len(list) != 0 {
		t.Errorf("registered are %s, want none: %v", body, err)
	}
	// A repository without commits is one.
	status, unborn := register(fmt.Sprintf(`{"path":%q,"name":"unborn"}`, filepath.Join(root, "unborn")))
	if status != http.StatusAccepted {
		t.Errorf("register a repository without commits: %d %s", status, unborn.Message)
	}
	status, kettle := register(fmt.Sprintf(`{"cloneUrl":%q,"name":"kettle"}`, host.URL+"/kettle/.git"))
	if status != http.StatusAccepted {
		t.Fatalf("register: %d %s", status, kettle.Message)
	}
	awaitStatus(t, s, unborn.RepoID, unborn.isApplied)
	awaitStatus(t, s, kettle.RepoID, kettle.isApplied)
	if letters, n := s.follower.List(ledger.DeadLetterQuery{}); n != 0 {
		t.Errorf("%d dead letters: %+v", n, letters)
	}
	// Another clone URL of a registered repository must work before it replaces the known
	// one.
	if status, a := register(fmt.Sprintf(`{"cloneUrl":%q}`, "https"+strings.TrimPrefix(host.URL, "http")+"/kettle/.git")); status != http.StatusForbidden || !strings.Contains(a.Message, "the clone URL stays "+host.URL+"/kettle/.git") {
		t.Errorf("register again with a URL that does not work: %d %s", status, a.Message)
	}
	// A registered repository whose host is down for a moment may be registered again.
	host.broken.Store(http.StatusServiceUnavailable)
	if status, a := register(fmt.Sprintf(`{"cloneUrl":%q,"name":"pot"}`, host.URL+"/kettle/.git")); status != http.StatusAccepted {
		t.Errorf("register again while the host is down: %d %s", status, a.Message)
	}
}
