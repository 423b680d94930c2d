package server

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/worker"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// gitRepository is a repository on disk that a test pushes to.
type gitRepository struct {
	t   *testing.T
	dir string
	code.Repository
}

func newGitRepository(t *testing.T, name string, branches ...string) *gitRepository {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	g := &gitRepository{t: t, dir: dir, Repository: code.Repository{
		ID: code.NewRepositoryID("test", name), Kind: code.GenericGitHost, Name: name, CloneURL: dir, Branches: branches,
	}}
	g.runGitCommand("init", "--quiet", "--initial-branch=main")
	return g
}

func (g *gitRepository) runGitCommand(args ...string) string {
	g.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", g.dir, "-c", "user.name=Ada", "-c", "user.email=ada@example.org"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		g.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commitFiles writes files from pairs of path and text, and commits them.
func (g *gitRepository) commitFiles(pairs ...string) code.CommitID {
	g.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		path := filepath.Join(g.dir, pairs[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			g.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(pairs[i+1]), 0o644); err != nil {
			g.t.Fatal(err)
		}
	}
	g.runGitCommand("add", ".")
	g.runGitCommand("commit", "--quiet", "--allow-empty", "--message", "commit")
	return code.CommitID(g.runGitCommand("rev-parse", "HEAD"))
}

// registerAt registers a repository and waits until its default branch is at commit.
func (s *Server) registerAt(t *testing.T, g *gitRepository, commit code.CommitID) event.Position {
	t.Helper()
	_, at, err := s.registrar.Register(t.Context(), g.Repository)
	if err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool { return s.defaultAt(g.ID) == commit })
	return at
}

// defaultAt returns the commit that searches of the default branch see.
func (s *Server) defaultAt(id code.RepositoryID) code.CommitID {
	v := s.versions.Live().Places.Acquire()
	defer v.Release()
	if r := v.Repository(id); r != nil && r.Default != nil {
		return r.Default.Commit
	}
	return ""
}

// awaitWorkers waits until the workers have handled all records and committed their offsets.
func (s *Server) awaitWorkers(t *testing.T) {
	t.Helper()
	waitUntil(t, func() bool {
		high, err := s.log.HighWater(t.Context(), event.TopicEvents)
		done, errDone := s.log.Committed(t.Context(), worker.DefaultGroup, event.TopicEvents)
		return err == nil && errDone == nil && slices.Equal(done, high)
	})
}

// waitUntil polls until done returns true, or fails the test after a timeout.
func waitUntil(t testing.TB, done func() bool) {
	t.Helper()
	eventuallyOr(t, done, func() string { return "did not come to pass" })
}

// hangTimeout is how long a test waits for a state before it fails. It only ends a test
// that hangs, and is not a bound on how fast a server is.
const hangTimeout = 5 * time.Minute

// eventuallyOr is waitUntil with additional details for a failure.
func eventuallyOr(t testing.TB, done func() bool, otherwise func() string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hangTimeout)
	defer cancel()
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatalf("within %s: %s", hangTimeout, otherwise())
		case <-time.After(10 * time.Millisecond):
		}
	}
}
