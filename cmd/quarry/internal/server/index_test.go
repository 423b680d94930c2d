package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
)

// gitTree creates a git repository with the given files and returns its path.
func gitTree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	run := func(args ...string) {
		c := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"}, args...)...)
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	run("init", "-q", "-b", "main")
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run("add", "-A")
	run("commit", "-q", "-m", "all")
	return dir
}

func postJSON(t testing.TB, url, body string, out any) int {
	t.Helper()
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(json.NewDecoder(response.Body).Decode(out), response.Body.Close())
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode
}

// awaitStatus polls the status of a repository until done returns true.
func awaitStatus(t testing.TB, s *Server, id uint64, done func(map[string]any) bool) (status map[string]any) {
	t.Helper()
	body := ""
	eventuallyOr(t, func() bool {
		code := 0
		code, body = getURL(t, fmt.Sprintf("%s/api/repos/%d/status", s.URL(), id))
		status = map[string]any{}
		if err := json.Unmarshal([]byte(body), &status); err != nil {
			t.Fatal(err)
		}
		return code == http.StatusOK && done(status)
	}, func() string { return "the status stays " + body })
	return status
}

type registration struct {
	RepoID   uint64
	RepoName string
	Position struct{ Offset float64 }
	Message  string
}

// isApplied reports whether the event of a registration has taken effect.
func (r *registration) isApplied(status map[string]any) bool {
	position, ok := status["appliedPosition"].(map[string]any)
	return ok && position["offset"].(float64) >= r.Position.Offset
}

func TestStatusOfAnImport(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.go": "package kazoo\n"}
	for i := range 5 {
		files[fmt.Sprintf("%d.bin", i)] = "\x00\x01\x02binary"
	}
	tree := gitTree(t, files)
	s := runServer(t, testConfig(t, "git.allowedRoots="+filepath.Dir(tree)))
	var r registration
	if status := postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q,"name":"kazoo"}`, tree), &r); status != http.StatusAccepted {
		t.Fatalf("register: %d %s", status, r.Message)
	}
	status := awaitStatus(t, s, r.RepoID, r.isApplied)
	if status["state"] != "indexed" || status["files"] != 1.0 || status["skippedFiles"] != 5.0 || status["segments"] != 1.0 || len(status["refs"].([]any)) != 1 {
		t.Errorf("status = %v", status)
	}
	code, body := getURL(t, fmt.Sprintf("%s/api/repos/%d/skipped?perPage=2&page=2&reason=binary", s.URL(), r.RepoID))
	var skipped []struct{ Path, Reason string }
	if err := json.Unmarshal([]byte(body), &skipped); err != nil || code != 200 {
		t.Fatalf("%d %s %v", code, body, err)
	}
	if len(skipped) != 2 || skipped[0].Path != "2.bin" || skipped[1].Path != "3.bin" {
		t.Errorf("second page of skipped files = %v", skipped)
	}

	// A second registration is handled, although it changes nothing.
	again := registration{}
	postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q}`, tree), &again)
	if again.RepoID != r.RepoID || again.RepoName != "kazoo" {
		t.Errorf("registered again as %+v", again)
	}
	awaitStatus(t, s, r.RepoID, again.isApplied)

	// The name is taken.
	var other registration
	if status := postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q,"name":"kazoo"}`, filepath.Dir(tree)), &other); status != http.StatusConflict {
		t.Errorf("another repository of the same name: %d %s", status, other.Message)
	}
}

func TestStatusOfAFailure(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	s := runServer(t, testConfig(t, "git.allowedRoots="+empty, "pipeline.maxAttempts=1"))
	// Over the API, it would be refused.
	number, at, err := s.registrar.Register(t.Context(), code.Repository{ID: code.NewRepositoryID("test", "nothing"), Kind: code.GenericGitHost, Name: "nothing", CloneURL: empty})
	if err != nil {
		t.Fatal(err)
	}
	r := registration{RepoID: uint64(number)}
	r.Position.Offset = float64(at.Offset)
	status := awaitStatus(t, s, r.RepoID, r.isApplied)
	if status["state"] != "failed" || status["lastError"] == nil {
		t.Errorf("status of a directory that is no repository = %v", status)
	}
}

// TestEmptyRepositoryIsNotAwaited checks that pages call a repository without commits empty, and do
// not wait for its import.
func TestEmptyRepositoryIsNotAwaited(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := runServer(t, testConfig(t, "git.allowedRoots="+root))
	number := registerNamed(t, s, root, "nothing")
	eventuallyOr(t, func() bool {
		st, ok := s.newStatusReader().Work(s.accounts.Numbers.Repository(number))
		return ok && st.Empty
	}, func() string { return "the repository is not empty" })
	for path, want := range map[string]string{"/": "0 repositories to search", "/repos": ">empty<", fmt.Sprintf("/repos/%d", number): ">empty<"} {
		if _, page := getURL(t, s.URL()+path); !strings.Contains(page, want) || strings.Contains(page, "Being imported") {
			t.Errorf("%s is\n%s", path, page)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	tree := gitTree(t, map[string]string{"a.go": "package kazoo\n"})
	s := runServer(t, testConfig(t, "git.allowedRoots="+filepath.Dir(tree)))
	var r registration
	postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q,"name":"kazoo"}`, tree), &r)
	awaitStatus(t, s, r.RepoID, r.isApplied)
	for _, c := range []struct {
		candidate code.Repository
		found     bool
	}{
		{code.Repository{ID: s.accounts.Numbers.Repository(code.RepositoryNumber(r.RepoID))}, true},
		{code.Repository{ID: 1, CloneURL: tree}, true},
		{code.Repository{ID: 1, CloneURL: "file://" + tree + "/"}, true},
		{code.Repository{ID: 1, Name: "kazoo"}, true},
		{code.Repository{ID: 1, CloneURL: tree + "2", Name: "kazoo"}, false},
		{code.Repository{ID: 1, Name: "kazo"}, false},
		{code.Repository{}, false},
	} {
		got, err := s.repositories.Find(t.Context(), c.candidate)
		if c.found != (err == nil) || (c.found && got.Name != "kazoo") || (!c.found && !errors.Is(err, code.ErrNotFound)) {
			t.Errorf("Find(%+v) = %+v, %v; want found = %v", c.candidate, got, err, c.found)
		}
	}
}
