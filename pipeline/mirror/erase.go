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

// ErrReachable says that a ref leads to a commit that is to be erased.
var ErrReachable = errors.New("a ref leads to the commit")

// EraseCommit removes a commit, and all else that no ref leads to, from the mirror. It
// fails with ErrReachable if a ref leads to the commit. The objects of a copy of a
// repository on disk are removed altogether: the next fetch copies what is there then.
// A mirror that lacks the commit is left as it is.
func (m *Mirror) EraseCommit(ctx context.Context, commit code.CommitID) error {
	if err := m.acquire(ctx); err != nil {
		return err
	}
	defer m.release()
	if has, err := m.HasCommit(ctx, commit); err != nil || !has {
		return err
	}
	reach, err := m.Reach(ctx, commit)
	switch {
	case err != nil:
		return err
	case reach != ReachNone:
		return m.wrap("erase a commit of", ErrReachable)
	case m.isCopy():
		return m.reset()
	}
	if err := m.repackReachable(ctx); err != nil {
		return err
	}
	if has, err := m.HasCommit(ctx, commit); err != nil || has {
		return errors.Join(err, m.wrap("erase a commit of", fmt.Errorf("it is still there: %w", ErrGit)))
	}
	return nil
}

// HasCommit reports whether the mirror has an object of that name.
func (m *Mirror) HasCommit(ctx context.Context, commit code.CommitID) (bool, error) {
	if err := validateCommit(commit); err != nil || !m.exists() {
		return false, err
	}
	out, err := m.ms.git.output(ctx, command{gitDir: m.gitDir(), args: []string{"cat-file", "--batch-check"}, stdin: []byte(string(commit) + "\n")})
	if err != nil {
		return false, m.wrap("look for a commit of", err)
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
		return m.wrap("note a segment in", err)
	}
	_, err = fmt.Fprintln(f, segment)
	if err = errors.Join(err, f.Close()); err != nil {
		return m.wrap("note a segment in", err)
	}
	return nil
}

// Unannounced returns the segments that NoteUnannounced noted since ClearUnannounced.
func (m *Mirror) Unannounced() ([]string, error) {
	path := filepath.Join(m.dir, unannouncedName)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && info.Size() > maxUnannounced {
		err = fmt.Errorf("%s: want a file of at most %d bytes", path, maxUnannounced)
	}
	if err != nil {
		return nil, m.wrap("read segments of", err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, m.wrap("read segments of", err)
	}
	return strings.Fields(string(b)), nil
}

// ClearUnannounced forgets what NoteUnannounced noted: the log names it.
func (m *Mirror) ClearUnannounced() error {
	return removeIfThere(filepath.Join(m.dir, unannouncedName))
}
