package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// A push sets two refs of a mirror, or one if git fetch sets the other, and lists the
// indexed state. Each would cost git a process and some milliseconds. Using the files
// directly works as well, as long as no other process writes the ref, which is true for
// the indexed state and for the branches of a mirror of copies.

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

// maxPackedRefs bounds the file of packed refs that is read. In a larger one git searches.
const maxPackedRefs = 1 << 20

// readIndexed reads the indexed state from the files of the refs, ordered by name. It
// fails with errDamaged, or with errLeftToGit if git must read it: refs are stored in another
// format, a file is not what this package writes, or the mirror was removed in the meantime.
func (m *Mirror) readIndexed() (revisions []code.Revision, err error) {
	commits := map[string]code.CommitID{}
	// Loose refs first: git packs a ref before it removes the file.
	if !m.readIndexedBelow(strings.TrimSuffix(indexedPrefix, "/"), maxIndexedDepth, commits) {
		return nil, errLeftToGit
	}
	err = m.readPackedIndexed(commits)
	// Last, because the refs of a mirror that is being removed are gone before all of it is.
	if !m.hasRepository() || !m.looseRefs() {
		return nil, errLeftToGit
	}
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(commits)) {
		if ref, isIndexed := strings.CutSuffix(strings.TrimPrefix(name, indexedPrefix), indexedSuffix); isIndexed {
			revisions = append(revisions, code.Revision{Ref: code.Ref(ref), Commit: commits[name]})
		}
	}
	return revisions, nil
}

// errLeftToGit means that git must read the indexed state.
var errLeftToGit = errors.New("left to git")

// readPackedIndexed adds the commits of the packed refs without a loose one to commits. A
// damaged file is an error, also where git returns the refs that it finds: those that it lacks
// would count as never indexed, and so would not be removed when they are deleted.
func (m *Mirror) readPackedIndexed(commits map[string]code.CommitID) error {
	packed, err := readAtMost(filepath.Join(m.gitDir(), "packed-refs"), maxPackedRefs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return errLeftToGit
	}
	if len(packed) > 0 && packed[len(packed)-1] != '\n' {
		return fmt.Errorf("packed refs: the end is missing: %w", errDamaged)
	}
	for line := range bytes.Lines(packed) {
		if line[0] == '#' || line[0] == '^' {
			continue // the header, and the object of a tag
		}
		id, name, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		if validateCommit(code.CommitID(id)) != nil || name == "" {
			return fmt.Errorf("packed refs: unexpected line %.200q: %w", line, errDamaged)
		}
		if strings.HasPrefix(name, indexedPrefix) && commits[name] == "" {
			commits[name] = code.CommitID(id)
		}
	}
	return nil
}

// maxIndexedDepth bounds the directories of a ref. Deeper ones are left to git.
const maxIndexedDepth = 64

// readIndexedBelow adds the commits of the refs in a directory, and in the directories in
// it, to commits. It returns false for a file that it cannot read as a ref.
func (m *Mirror) readIndexedBelow(dir string, depth int, commits map[string]code.CommitID) bool {
	entries, err := os.ReadDir(filepath.Join(m.gitDir(), filepath.FromSlash(dir)))
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil || depth == 0 {
		return false
	}
	for _, e := range entries {
		name := dir + "/" + e.Name()
		if e.IsDir() {
			if !m.readIndexedBelow(name, depth-1, commits) {
				return false
			}
			continue
		}
		if strings.HasSuffix(name, ".lock") {
			continue
		}
		b, err := readSmall(filepath.Join(m.gitDir(), filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // packed or deleted in the meantime
		}
		id := code.CommitID(strings.TrimSuffix(string(b), "\n"))
		if err != nil || validateCommit(id) != nil {
			return false
		}
		commits[name] = id
	}
	return true
}
