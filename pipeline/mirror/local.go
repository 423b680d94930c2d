package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// A repository on disk is borrowed, not copied: the mirror has refs of its own,
// and its objects/info/alternates names the repository's objects. So an import
// begins at once and takes no space, and a push needs no transfer. What it costs:
// objects that the repository's owner prunes are gone for us as well. Then a
// difference cannot be computed and the whole manifest is written again, which is
// what happens to a lost mirror (docs/adr/0006-git-command-line.md).

// borrowed says where the objects of a repository on disk are.
type borrowed struct {
	path    string // as the policy resolved it
	gitDir  string // the common directory: refs and objects
	headDir string // the directory of HEAD, another one in a linked worktree
}

// borrow points the mirror to a repository on disk and copies its refs.
func (m *Mirror) borrow(ctx context.Context, r code.Repository, src source) (State, error) {
	b, format, err := m.locate(ctx, src)
	if err != nil {
		return State{}, err
	}
	listed, err := m.listLocal(ctx, b, maxRefsOutput)
	if err != nil {
		return State{}, err
	}
	s, err := listed.state(r)
	if err != nil {
		return State{}, err
	}
	if err := m.ensure(ctx, format); err != nil {
		return State{}, err
	}
	if err := m.pointTo(b); err != nil {
		return State{}, err
	}
	return s, m.copyRefs(ctx, s)
}

// locate finds the git directory of a path and checks that everything git will
// read of it is below the allowed roots.
func (m *Mirror) locate(ctx context.Context, src source) (borrowed, string, error) {
	dir := src.path
	if filepath.Base(dir) != ".git" && isFile(filepath.Join(dir, ".git")) {
		dir = filepath.Join(dir, ".git")
	}
	dir, err := followGitFile(dir)
	if err != nil {
		return borrowed{}, "", err
	}
	out, err := m.ms.git.output(ctx, command{gitDir: dir, args: []string{"rev-parse", "--path-format=absolute", "--git-common-dir", "--show-object-format"}})
	if err != nil {
		return borrowed{}, "", fmt.Errorf("%s is no git repository that can be read: %w", src.path, err)
	}
	common, format, ok := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if !ok {
		return borrowed{}, "", fmt.Errorf("%w: unexpected output %.200q of rev-parse", ErrGit, out)
	}
	b := borrowed{path: src.path, gitDir: common, headDir: dir}
	for _, d := range []string{b.gitDir, b.headDir, filepath.Join(b.gitDir, "objects")} {
		if err := m.checkBelow(d); err != nil {
			return borrowed{}, "", err
		}
	}
	return b, format, m.checkAlternates(filepath.Join(common, "objects"), 0)
}

// followGitFile returns the git directory of dir: dir itself, or, if dir is a
// file "gitdir: PATH" (a linked worktree, a submodule), what it names.
func followGitFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrVanished, err)
	}
	if info.IsDir() {
		return path, nil
	}
	b, err := readSmall(path)
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "gitdir: ")
	if !ok {
		return "", fmt.Errorf("%s is no git repository: %w", path, ErrVanished)
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	return filepath.Clean(target), nil
}

func (m *Mirror) checkBelow(path string) error {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrVanished, err)
	}
	if !m.ms.o.Policy.below(resolved) {
		return m.ms.o.Policy.outside(path)
	}
	return nil
}

// maxAlternates bounds the chain of repositories that borrow from one another;
// git itself stops at 5.
const maxAlternates = 5

// checkAlternates refuses a repository that borrows from outside the roots: its
// owner must not decide which other files we index.
func (m *Mirror) checkAlternates(objects string, depth int) error {
	if depth > maxAlternates {
		return fmt.Errorf("%w: more than %d repositories borrow from one another", ErrRefused, maxAlternates)
	}
	b, err := readSmall(filepath.Join(objects, "info", "alternates"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '"' {
			return fmt.Errorf("%w: the repository borrows objects from a path with special characters", ErrRefused)
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(objects, line)
		}
		if err := m.checkBelow(line); errors.Is(err, ErrVanished) {
			continue
		} else if err != nil {
			return fmt.Errorf("objects borrowed by the repository: %w", err)
		}
		if err := m.checkAlternates(line, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// listLocal reads HEAD and the branches where they are.
func (m *Mirror) listLocal(ctx context.Context, b borrowed, limit int64) (listing, error) {
	out, err := m.ms.git.output(ctx, command{gitDir: b.gitDir, limit: limit, args: []string{"for-each-ref", "--format=" + refFormat, branchPrefix}})
	if err != nil {
		return listing{}, err
	}
	branches, err := parseRefs(out)
	if err != nil {
		return listing{}, err
	}
	l := listing{branches: branches}
	// Exit status 1 and no words: HEAD is detached.
	if out, err := m.ms.git.output(ctx, command{gitDir: b.headDir, args: []string{"symbolic-ref", "--quiet", "HEAD"}}); err == nil {
		l.head = code.Ref(strings.TrimSpace(string(out)))
		return l, nil
	}
	if out, err := m.ms.git.output(ctx, command{gitDir: b.headDir, args: []string{"rev-parse", "--quiet", "--verify", "HEAD^{commit}"}}); err == nil {
		l.headCommit, _ = code.ParseCommitID(strings.TrimSpace(string(out)))
	}
	return l, nil
}

// pointTo writes objects/info/alternates, and the list of commits without
// parents if the repository is a shallow clone.
func (m *Mirror) pointTo(b borrowed) error {
	objects := filepath.Join(b.gitDir, "objects")
	if strings.ContainsRune(objects, '\n') {
		return fmt.Errorf("%w: a path with a line break", ErrRefused)
	}
	file := m.alternates()
	if have, _ := os.ReadFile(file); string(have) != objects+"\n" {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), writeFile(file, []byte(objects+"\n"))); err != nil {
			return err
		}
		// Readers have read the former file.
		m.ms.endIdle(m)
	}
	shallow, err := os.ReadFile(filepath.Join(b.gitDir, "shallow"))
	if err == nil {
		err = writeFile(filepath.Join(m.gitDir(), "shallow"), shallow)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = removeIfThere(filepath.Join(m.gitDir(), "shallow"))
	}
	m.mu.Lock()
	m.mu.borrowed = &b
	m.mu.Unlock()
	return err
}

func (m *Mirror) alternates() string {
	return filepath.Join(m.gitDir(), "objects", "info", "alternates")
}

// returnBorrowed makes a mirror that borrowed start anew: it has no objects.
func (m *Mirror) returnBorrowed() error {
	if !isFile(m.alternates()) {
		return nil
	}
	return m.reset()
}

// copyRefs makes the branches of the mirror those of s.
func (m *Mirror) copyRefs(ctx context.Context, s State) error {
	have, err := m.branches(ctx)
	if err != nil {
		return err
	}
	var update, remove refUpdate
	for _, r := range s.Revisions {
		if have[r.Ref] != r.Commit {
			if err := update.set(string(r.Ref), r.Commit); err != nil {
				return err
			}
		}
		delete(have, r.Ref)
	}
	for ref := range have {
		if err := remove.set(string(ref), ""); err != nil {
			return err
		}
	}
	// Two transactions: in one, branch a cannot make room for a/b.
	if err := m.updateRefs(ctx, remove); err != nil {
		return err
	}
	return m.updateRefs(ctx, update)
}

// borrowRefs brings branches of a repository on disk and puts their commits into
// commits. One branch that is there takes no process as a rule; otherwise one reads
// them, one writes them and one removes those that are gone.
func (m *Mirror) borrowRefs(ctx context.Context, src source, refs []code.Ref, commits map[code.Ref]code.CommitID) error {
	from, err := m.lender(ctx, src)
	if err != nil {
		return err
	}
	if len(refs) == 1 {
		if id, ok := m.lentRef(ctx, from, refs[0]); ok {
			commits[refs[0]] = id
			return m.setRef(ctx, string(refs[0]), id)
		}
	}
	args := []string{"for-each-ref", "--format=" + refFormat}
	for _, ref := range refs {
		args = append(args, string(ref))
	}
	out, err := m.ms.git.output(ctx, command{gitDir: from.gitDir, limit: maxRefsOutput, args: args})
	if err != nil {
		// Moved or gone: look for it again next time.
		m.forget()
		return err
	}
	there, err := parseRefs(out)
	if err != nil {
		return err
	}
	var update, remove refUpdate
	for _, ref := range refs {
		id, ok := there[ref]
		if ok {
			err = update.set(string(ref), id)
			commits[ref] = id
		} else {
			err = remove.set(string(ref), "")
		}
		if err != nil {
			return err
		}
	}
	// Two transactions: in one, branch a cannot make room for a/b.
	if err := m.updateRefs(ctx, remove); err != nil {
		return err
	}
	if id := commits[refs[0]]; len(refs) == 1 && id != "" {
		return m.setRef(ctx, string(refs[0]), id)
	}
	return m.updateRefs(ctx, update)
}

// lender returns where the objects of a repository on disk are, as they were found
// last or anew.
func (m *Mirror) lender(ctx context.Context, src source) (borrowed, error) {
	m.mu.Lock()
	known := m.mu.borrowed
	m.mu.Unlock()
	if known != nil && known.path == src.path {
		return *known, nil
	}
	b, _, err := m.locate(ctx, src)
	if err != nil {
		return b, err
	}
	return b, m.pointTo(b)
}

// formatOfConfig finds extensions.objectFormat in a configuration that git
// wrote itself.
func formatOfConfig(b []byte) string {
	if bytes.Contains(bytes.ToLower(b), []byte("objectformat = sha256")) {
		return "sha256"
	}
	return "sha1"
}

// readSmall reads a file of at most maxSmallOutput bytes.
func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSmallOutput {
		return nil, fmt.Errorf("%s: want a file of at most %d bytes", path, maxSmallOutput)
	}
	return os.ReadFile(path)
}

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
