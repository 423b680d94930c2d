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

// ErrReachable means that a ref reaches a commit that should be erased.
var ErrReachable = errors.New("a ref leads to the commit")

// EraseCommit removes a commit, and all other unreachable objects, from the mirror. It
// fails with ErrReachable if a ref reaches the commit. For a copy of a repository on
// disk, it removes all objects; the next fetch copies those that exist then. It does not
// change a mirror that lacks the commit.
func (m *Mirror) EraseCommit(ctx context.Context, commit code.CommitID) error {
	if err := m.lockMirror(ctx); err != nil {
		return err
	}
	defer m.unlockMirror()
	if err := m.removeDiscarded(); err != nil {
		return m.wrapError("erase a commit of", err)
	}
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

// ErasePath removes every version of a path, and all other unreachable objects, from the
// mirror. It fails with ErrReachable, and names the newest such commit, if a ref reaches
// a commit that adds, changes or removes a file at or below the path. For a copy of a
// repository on disk, it removes all objects, as EraseCommit does.
func (m *Mirror) ErasePath(ctx context.Context, path string) error {
	if err := m.lockMirror(ctx); err != nil {
		return err
	}
	defer m.unlockMirror()
	if err := m.removeDiscarded(); err != nil {
		return m.wrapError("erase a path of", err)
	}
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

// ReachesPath returns the newest commit that a ref reaches and that adds, changes or
// removes a file at or below a path; empty if there is none. It walks the history of all
// refs once.
func (m *Mirror) ReachesPath(ctx context.Context, path string) (code.CommitID, error) {
	if !m.hasRepository() {
		return "", nil
	}
	return m.changesPath(ctx, path, nil, "--all")
}

// HasPath reports whether the mirror has a commit that changes a path or something below
// it, even if no ref reaches the commit.
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
	if commits.Len() == 0 { // otherwise git would use HEAD
		return false, nil
	}
	commit, err := m.changesPath(ctx, path, commits.Bytes(), "--stdin")
	return commit != "", err
}

// changesPath returns the first commit of a walk that changes a path or something below
// it.
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

// HasCommit reports whether the mirror has an object with that name.
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

// unannouncedName is the file in a mirror that lists the segments put into the segment
// store for its repository since the last announcement. Nothing else refers to a segment
// that is never announced.
const unannouncedName = "unannounced"

// maxUnannounced bounds the bytes read from that file: a million segments.
const maxUnannounced = 33 << 20

// NoteUnannounced records a segment that is about to be stored.
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

// UnannouncedSegments returns the segments recorded by NoteUnannounced since
// ClearUnannounced.
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

// ClearUnannounced deletes the records of NoteUnannounced, once the log names the
// segments.
func (m *Mirror) ClearUnannounced() error {
	return removeIfThere(filepath.Join(m.dir, unannouncedName))
}
