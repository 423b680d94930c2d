package mirror

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/quarrysearch/quarry/schemas/code"
)

// A push sets two refs of a mirror, or one if git fetch sets the other. Each would cost
// git a process and some milliseconds. Writing the file directly works as well, as long
// as no other process writes the ref, which is true for the indexed state and for the
// branches of a mirror of copies.

// setRef makes a ref point to an existing commit. It uses git for cases that need more
// than a file: another ref format, or a conflicting name.
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

// writeRef atomically writes a loose ref. It does not sync, as git by default does not
// either: a mirror is a cache.
func (m *Mirror) writeRef(name string, commit code.CommitID) error {
	path := filepath.Join(m.gitDir(), filepath.FromSlash(name))
	// Not in the refs directory: git would take a file that a crash leaves there for a
	// ref.
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

// looseRefs reports whether the mirror stores its refs in files.
func (m *Mirror) looseRefs() bool {
	config, err := os.ReadFile(filepath.Join(m.gitDir(), "config"))
	return err == nil && !bytes.Contains(bytes.ToLower(config), []byte("refstorage"))
}
