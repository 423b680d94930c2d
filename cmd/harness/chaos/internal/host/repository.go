package host

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// These are the bounds of a repository.
const (
	maxBranches = 4
	paths       = 8
	// maxHistory bounds the number of earlier commits to which a forced push may return.
	maxHistory = 20
	// repackEvery is the number of pushes after which a repository packs its objects, as the
	// servers of code hosts do. Without it, hours of pushes fill the disk of the mirrors.
	repackEvery = 500
)

// Main is the default branch, which is never deleted.
const Main = "refs/heads/main"

const zeroCommit = "0000000000000000000000000000000000000000"

// branchState is a commit and the tokens of its files.
type branchState struct {
	commit string
	tokens map[string]string // by path
}

// Repository is a bare git repository and the model of its contents. It is used by one
// goroutine at a time.
type Repository struct {
	Dir, Name string

	family      int // number of the repository whose history it shares
	random      *rand.Rand
	branches    map[string]branchState
	history     []branchState
	tokenCount  int // tokens used so far
	branchCount int // branches created so far
	pushCount   int
}

// Move is the change of one ref by a push. Before is all zeros if the ref did not exist,
// and After if it no longer exists.
type Move struct{ Ref, Before, After string }

// NewRepository creates repository number n below root, with one commit.
func NewRepository(ctx context.Context, root string, n int, seed uint64) (*Repository, error) {
	r := &Repository{
		Name: fmt.Sprintf("chaos-%02d", n), family: n, random: rand.New(rand.NewPCG(seed, uint64(n)+1)), branches: map[string]branchState{},
	}
	r.Dir = filepath.Join(root, r.Name+".git")
	if out, err := exec.CommandContext(ctx, "git", "init", "--quiet", "--bare", "--initial-branch=main", r.Dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("git init %s: %w: %s", r.Dir, err, out)
	}
	first := branchState{tokens: map[string]string{}}
	for i := range paths {
		first.tokens[filePath(i)] = r.newToken()
	}
	return r, r.writeCommit(ctx, Main, branchState{}, first)
}

// NewFork creates repository number n below root as a fork of another one. Both use the
// same tokens at different times, so that they add, share and remove the same files.
func NewFork(ctx context.Context, root string, n int, seed uint64, of *Repository) (*Repository, error) {
	r := &Repository{
		Name: fmt.Sprintf("chaos-%02d", n), family: of.family, random: rand.New(rand.NewPCG(seed, uint64(n)+1)),
		branches: map[string]branchState{Main: of.branches[Main]}, history: []branchState{of.branches[Main]}, tokenCount: of.tokenCount,
	}
	r.Dir = filepath.Join(root, r.Name+".git")
	out, err := exec.CommandContext(ctx, "git", "clone", "--quiet", "--bare", "--no-hardlinks", "--single-branch", "--branch", "main", of.Dir, r.Dir).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("git clone %s: %w: %s", of.Dir, err, out)
	}
	return r, nil
}

func filePath(i int) string { return fmt.Sprintf("dir%d/file%d.txt", i%3, i) }

// newToken returns a token that was not used in this repository before.
func (r *Repository) newToken() string {
	r.tokenCount++
	return fmt.Sprintf("tok%dx%dz", r.family, r.tokenCount)
}

// TokenPattern matches the tokens of this repository, and those of its forks.
func (r *Repository) TokenPattern() string { return fmt.Sprintf("tok%dx[0-9]+z", r.family) }

// Want returns the expected token of each file, by ref and path.
func (r *Repository) Want() map[string]map[string]string {
	want := map[string]map[string]string{}
	for ref, s := range r.branches {
		want[ref] = maps.Clone(s.tokens)
	}
	return want
}

// Push makes a random change to the repository.
func (r *Repository) Push(ctx context.Context) (Move, error) {
	if r.pushCount++; r.pushCount%repackEvery == 0 {
		if _, err := r.runGit(ctx, "repack", "-a", "-d", "--quiet"); err != nil {
			return Move{}, err
		}
	}
	ref := r.anyBranch()
	before := r.branches[ref]
	var err error
	switch p := r.random.IntN(100); {
	case p < 10 && len(r.branches) < maxBranches:
		r.branchCount++
		ref, before = fmt.Sprintf("refs/heads/b%05d", r.branchCount), branchState{}
		err = r.createBranch(ctx, ref)
	case p < 18 && ref != Main:
		err = r.deleteBranch(ctx, ref)
	case p < 28 && len(r.history) > 0:
		err = r.forcePush(ctx, ref)
	default:
		err = r.writeCommit(ctx, ref, before, r.editRandomly(before))
	}
	return Move{ref, orZeroCommit(before.commit), orZeroCommit(r.branches[ref].commit)}, err
}

func orZeroCommit(commit string) string {
	if commit == "" {
		return zeroCommit
	}
	return commit
}

func (r *Repository) anyBranch() string {
	refs := slices.Sorted(maps.Keys(r.branches))
	return refs[r.random.IntN(len(refs))]
}

// editRandomly returns a state after some random edits: changed, removed, moved and new
// files.
func (r *Repository) editRandomly(before branchState) branchState {
	after := branchState{tokens: maps.Clone(before.tokens)}
	for range 1 + r.random.IntN(3) {
		p := filePath(r.random.IntN(paths))
		switch r.random.IntN(6) {
		case 0:
			if len(after.tokens) > 1 {
				delete(after.tokens, p)
			}
		case 1: // moved with its content, so that the same blob is at another path
			if token, ok := after.tokens[p]; ok {
				to := filePath(r.random.IntN(paths))
				delete(after.tokens, p)
				after.tokens[to] = token
			}
		default:
			after.tokens[p] = r.newToken()
		}
	}
	if maps.Equal(after.tokens, before.tokens) {
		after.tokens[filePath(0)] = r.newToken()
	}
	return after
}

// createBranch creates a branch, either at the commit of another branch or with a commit
// on top.
func (r *Repository) createBranch(ctx context.Context, ref string) error {
	from := r.branches[r.anyBranch()]
	if r.random.IntN(2) == 0 {
		return r.setBranch(ctx, ref, from)
	}
	return r.writeCommit(ctx, ref, from, r.editRandomly(from))
}

// forcePush moves a branch to an earlier commit of any branch, or creates a commit on top
// of it.
func (r *Repository) forcePush(ctx context.Context, ref string) error {
	to := r.history[r.random.IntN(len(r.history))]
	if to.commit == r.branches[ref].commit || r.random.IntN(2) == 0 {
		return r.writeCommit(ctx, ref, to, r.editRandomly(to))
	}
	return r.setBranch(ctx, ref, to)
}

func (r *Repository) setBranch(ctx context.Context, ref string, to branchState) error {
	if _, err := r.runGit(ctx, "update-ref", ref, to.commit); err != nil {
		return err
	}
	r.branches[ref] = to
	return nil
}

func (r *Repository) deleteBranch(ctx context.Context, ref string) error {
	if _, err := r.runGit(ctx, "update-ref", "-d", ref); err != nil {
		return err
	}
	delete(r.branches, ref)
	return nil
}

// writeCommit writes a commit with the files of after on top of from, and moves ref to
// it.
func (r *Repository) writeCommit(ctx context.Context, ref string, from, after branchState) error {
	var in bytes.Buffer
	fmt.Fprintf(&in, "commit %s\nmark :1\ncommitter Chaos <chaos@example.invalid> %d +0000\ndata 4\npush\n", ref, 1_700_000_000+r.tokenCount)
	if from.commit != "" {
		fmt.Fprintf(&in, "from %s\n", from.commit)
	}
	in.WriteString("deleteall\n")
	for _, p := range slices.Sorted(maps.Keys(after.tokens)) {
		content := r.fileContent(after.tokens[p])
		fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", p, len(content), content)
	}
	in.WriteString("get-mark :1\ndone\n")
	cmd := exec.CommandContext(ctx, "git", "fast-import", "--quiet", "--force", "--done")
	cmd.Dir, cmd.Stdin = r.Dir, &in
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("git fast-import in %s: %w: %s", r.Dir, err, stderr.Bytes())
	}
	after.commit = strings.TrimSpace(string(out))
	r.branches[ref] = after
	if r.history = append(r.history, after); len(r.history) > maxHistory {
		r.history = r.history[1:]
	}
	return nil
}

// fileContent returns the content of a file with a token. It does not depend on the path,
// because a moved file keeps its content.
func (r *Repository) fileContent(token string) string {
	return "A file of a repository that changes at random.\nIts token is " + token + " and no other content has it.\n"
}

func (r *Repository) runGit(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.Dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return out, fmt.Errorf("git %s in %s: %w: %s", strings.Join(args, " "), r.Dir, err, out)
	}
	return out, nil
}
