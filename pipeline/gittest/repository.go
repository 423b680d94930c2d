package gittest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Repository is a git repository with a work tree.
type Repository struct {
	t testing.TB
	// Dir is the work tree; its repository is Dir/.git.
	Dir     string
	commits int
	// last is the last snapshot of the repository or restored to it.
	last *Snapshot
}

// initArgs are the arguments of git init for every repository.
var initArgs = []string{"init", "--quiet", "--template=", "--initial-branch=main"}

// New returns an empty repository whose HEAD is main. args are passed to git init.
func New(t testing.TB, args ...string) *Repository {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatalf("the tests of pipeline need git: %v", err)
	}
	r := &Repository{t: t, Dir: filepath.Join(t.TempDir(), "repository")}
	if len(args) > 0 {
		r.run("", append(slices.Clip(initArgs), append(args, r.Dir)...)...)
		return r
	}
	empty, err := emptyRepository()
	if err != nil {
		t.Fatal(err)
	}
	r.Restore(empty)
	return r
}

// Clone returns a clone in a new directory. Its history is independent of r from then on.
func (r *Repository) Clone(dir string) *Repository {
	r.t.Helper()
	r.run("", "clone", "--quiet", "--template=", r.Dir, dir)
	return &Repository{t: r.t, Dir: dir, commits: r.commits}
}

// Git runs git in the repository and returns its output without the final line
// feed.
func (r *Repository) Git(args ...string) string {
	r.t.Helper()
	return r.run(r.Dir, args...)
}

func (r *Repository) run(dir string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, environment(r.commits)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// environment returns the environment of git after a number of commits.
func environment(commits int) []string {
	at := fmt.Sprintf("%d +0000", 1_700_000_000+60*commits)
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir(), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_AUTHOR_DATE=" + at,
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org", "GIT_COMMITTER_DATE=" + at,
		"GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_0=maintenance.auto", "GIT_CONFIG_VALUE_0=false",
		"GIT_CONFIG_KEY_1=protocol.file.allow", "GIT_CONFIG_VALUE_1=always",
		"GIT_CONFIG_KEY_2=uploadpack.allowAnySHA1InWant", "GIT_CONFIG_VALUE_2=true",
	}
}

// Write writes a file of the work tree.
func (r *Repository) Write(path, content string) {
	r.t.Helper()
	name := filepath.Join(r.Dir, path)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// Remove removes a file of the work tree.
func (r *Repository) Remove(path string) {
	r.t.Helper()
	if err := os.RemoveAll(filepath.Join(r.Dir, path)); err != nil {
		r.t.Fatal(err)
	}
}

// Commit commits the whole work tree, even if unchanged, and returns the commit.
func (r *Repository) Commit() code.CommitID {
	r.t.Helper()
	r.commits++
	r.Git("add", "--all", "--force", ".")
	r.Git("commit", "--quiet", "--allow-empty", "--message", fmt.Sprintf("commit %d", r.commits))
	return r.CommitOf("HEAD")
}

// CommitOf returns the commit of HEAD or of a full name of a branch.
func (r *Repository) CommitOf(ref string) code.CommitID {
	r.t.Helper()
	// Reading a file takes a hundredth of the time of a git process. A ref that is packed
	// has no file.
	text, err := os.ReadFile(filepath.Join(r.Dir, ".git", ref))
	if err != nil {
		return code.CommitID(r.Git("rev-parse", ref))
	}
	if target, symbolic := strings.CutPrefix(string(text), "ref: "); symbolic {
		return r.CommitOf(strings.TrimSpace(target))
	}
	return code.CommitID(strings.TrimSpace(string(text)))
}

// CommitFiles writes pairs of path and content, and commits.
func (r *Repository) CommitFiles(pairs ...string) code.CommitID {
	r.t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		r.Write(pairs[i], pairs[i+1])
	}
	return r.Commit()
}

// Code returns the repository for registration under a name, with its path as the clone
// URL.
func (r *Repository) Code(name string, branches ...string) code.Repository {
	return code.Repository{ID: code.NewRepositoryID("test", name), Kind: code.GenericGitHost, Name: name, CloneURL: r.Dir, Branches: branches}
}
