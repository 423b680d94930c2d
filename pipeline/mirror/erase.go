package mirror

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// ErrReachable says that a ref leads to a commit that is to be erased.
var ErrReachable = errors.New("a ref leads to the commit")

// EraseCommit removes a commit, and all else that no ref leads to, from the mirror. It
// fails with ErrReachable if a ref leads to the commit. The objects of a copy of a
// repository on disk are removed altogether: the next fetch copies what is there then.
// A mirror that lacks the commit is left as it is.
func (m *Mirror) EraseCommit(ctx context.Context, commit code.CommitID) error {
	if err := m.lockMirror(ctx); err != nil {
		return err
	}
	defer m.unlockMirror()
	if has, err := m.HasCommit(ctx, commit); err != nil || !has {
		return err
	}
	reach, err := m.Reach(ctx, commit)
	switch {
	case err != nil:
		return err
	case reach != ReachNone:
		return m.wrapError("erase a commit of", ErrReachable)
	case m.isCopy():
		return m.reset()
	}
	if err := m.repackReachable(ctx); err != nil {
		return err
	}
	if has, err := m.HasCommit(ctx, commit); err != nil || has {
		return errors.Join(err, m.wrapError("erase a commit of", fmt.Errorf("it is still there: %w", ErrGit)))
	}
	return nil
}

// ErasePath removes every version of a path, and all else that no ref leads to, from the
// mirror. It fails with ErrReachable, and names the newest such commit, if a ref leads to
// a commit that adds, changes or removes a file at the path or below it. The objects of
// a copy of a repository on disk are removed altogether, as EraseCommit does.
func (m *Mirror) ErasePath(ctx context.Context, path string) error {
	if err := m.lockMirror(ctx); err != nil {
		return err
	}
	defer m.unlockMirror()
	if !m.hasRepository() {
		return nil
	}
	commit, err := m.ReachesPath(ctx, path)
	switch {
	case err != nil:
		return err
	case commit != "":
		return m.wrapError("erase a path of", fmt.Errorf("%w %s, which has it", ErrReachable, commit))
	case m.isCopy():
		return m.reset()
	}
	if err := m.repackReachable(ctx); err != nil {
		return err
	}
	if has, err := m.HasPath(ctx, path); err != nil || has {
		return errors.Join(err, m.wrapError("erase a path of", fmt.Errorf("it is still there: %w", ErrGit)))
	}
	return nil
}

// ReachesPath returns the newest commit to which a ref leads and that adds, changes or
// removes a file at a path or below it; empty for none. It takes one walk through the
// history of all refs.
func (m *Mirror) ReachesPath(ctx context.Context, path string) (code.CommitID, error) {
	if !m.hasRepository() {
		return "", nil
	}
	return m.changesPath(ctx, path, nil, "--all")
}

// HasPath reports whether the mirror has a commit with a change at a path or below it,
// whether a ref leads to the commit or not.
func (m *Mirror) HasPath(ctx context.Context, path string) (bool, error) {
	if !m.hasRepository() {
		return false, nil
	}
	var commits bytes.Buffer
	c := command{gitDir: m.gitDir(), timeout: m.ms.o.FetchTimeout, args: []string{"cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objecttype) %(objectname)"}}
	err := m.ms.git.streamOutput(ctx, c, func(r io.Reader) error {
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			if id, ok := bytes.CutPrefix(lines.Bytes(), []byte("commit ")); ok {
				commits.Write(append(id, '\n'))
			}
		}
		return lines.Err()
	})
	if err != nil {
		return false, m.wrapError("list the commits of", err)
	}
	if commits.Len() == 0 { // git would take HEAD
		return false, nil
	}
	commit, err := m.changesPath(ctx, path, commits.Bytes(), "--stdin")
	return commit != "", err
}

// changesPath returns the first commit of a walk that has a change at a path or below it.
func (m *Mirror) changesPath(ctx context.Context, path string, stdin []byte, from string) (code.CommitID, error) {
	if err := code.ValidatePath(path); err != nil {
		return "", err
	}
	out, err := m.ms.git.readOutput(ctx, command{gitDir: m.gitDir(), stdin: stdin, env: literalPaths, timeout: m.ms.o.FetchTimeout,
		args: []string{"log", from, "--full-history", "--max-count=1", "--format=%H", "--", path}})
	if err != nil {
		return "", m.wrapError("look for a path in", err)
	}
	if len(out) == 0 {
		return "", nil
	}
	return code.ParseCommitID(strings.TrimSpace(string(out)))
}

// HasCommit reports whether the mirror has an object of that name.
func (m *Mirror) HasCommit(ctx context.Context, commit code.CommitID) (bool, error) {
	if err := validateCommit(commit); err != nil || !m.hasRepository() {
		return false, err
	}
	out, err := m.ms.git.readOutput(ctx, command{gitDir: m.gitDir(), args: []string{"cat-file", "--batch-check"}, stdin: []byte(string(commit) + "\n")})
	if err != nil {
		return false, m.wrapError("look for a commit of", err)
	}
	return !bytes.Contains(out, []byte(" missing")), nil
}

// unannouncedName is the file of a mirror with the segments that were put to the segment
// store for its repository since the last announcement. A segment that is never
// announced is named by nothing else.
const unannouncedName = "unannounced"

// maxUnannounced bounds what is read of that file: a million segments.
const maxUnannounced = 33 << 20

// NoteUnannounced notes a segment that is about to be put.
func (m *Mirror) NoteUnannounced(segment string) error {
	f, err := os.OpenFile(filepath.Join(m.dir, unannouncedName), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return m.wrapError("note a segment in", err)
	}
	_, err = fmt.Fprintln(f, segment)
	if err = errors.Join(err, f.Close()); err != nil {
		return m.wrapError("note a segment in", err)
	}
	return nil
}

// UnannouncedSegments returns the segments that NoteUnannounced noted since ClearUnannounced.
func (m *Mirror) UnannouncedSegments() ([]string, error) {
	path := filepath.Join(m.dir, unannouncedName)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && info.Size() > maxUnannounced {
		err = fmt.Errorf("%s: want a file of at most %d bytes", path, maxUnannounced)
	}
	if err != nil {
		return nil, m.wrapError("read segments of", err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, m.wrapError("read segments of", err)
	}
	return strings.Fields(string(b)), nil
}

// ClearUnannounced forgets what NoteUnannounced noted: the log names it.
func (m *Mirror) ClearUnannounced() error {
	return removeIfThere(filepath.Join(m.dir, unannouncedName))
}
