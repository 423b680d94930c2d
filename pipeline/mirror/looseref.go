package mirror

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/quarrysearch/quarry/schemas/code"
)

// A push sets two refs of a mirror, or one where git fetch sets the other. git
// needs a process and some milliseconds for each; a file does as well, as long as
// no other process writes the ref: the indexed state is ours, and so are the branches
// of a mirror of copies.

// setRef makes a ref point to a commit that is there. It leaves to git what is more
// than a file: another format of refs, or a name in the way.
func (m *Mirror) setRef(ctx context.Context, name string, commit code.CommitID) error {
	if err := validateCommit(commit); err != nil {
		return m.wrapError("update", err)
	}
	if m.looseRefs() && m.writeRef(name, commit) == nil {
		return nil
	}
	var u refUpdate
	if err := u.setRef(name, commit); err != nil {
		return m.wrapError("update", err)
	}
	return m.updateRefs(ctx, u)
}

// writeRef writes a loose ref in one step. It is not synced, nor would it be by git
// with its defaults: a mirror is a cache.
func (m *Mirror) writeRef(name string, commit code.CommitID) error {
	path := filepath.Join(m.gitDir(), filepath.FromSlash(name))
	// Not in the refs directory: git would take a file that a crash leaves there
	// for a ref.
	tmp, err := os.CreateTemp(m.gitDir(), "quarry-ref-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.WriteString(string(commit) + "\n")
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err == nil || !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// looseRefs reports whether the mirror keeps its refs in files.
func (m *Mirror) looseRefs() bool {
	config, err := os.ReadFile(filepath.Join(m.gitDir(), "config"))
	return err == nil && !bytes.Contains(bytes.ToLower(config), []byte("refstorage"))
}
