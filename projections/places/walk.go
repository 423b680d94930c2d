package places

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
)

// level is a manifest at a version.
type level struct{ manifest, version uint32 }

// levels is the chain of manifests that a ref reads: its own manifest, then its
// ancestors, each at the pinned version. The first level with an entry for a path
// determines the result.
type levels []level

// readLevels returns the levels of a manifest at its newest version.
func readLevels(r store.Reader, id code.RepositoryID, manifest uint32) (levels, *manifestRow, error) {
	if manifest == 0 {
		return nil, nil, nil
	}
	row := new(manifestRow)
	if err := readManifest(r, id, manifest, row); err != nil {
		return nil, nil, err
	}
	chain, err := readAncestors(r, id, row)
	return append(levels{{manifest, row.Version}}, chain...), row, err
}

// readAncestors returns the levels above a manifest.
func readAncestors(r store.Reader, id code.RepositoryID, row *manifestRow) (levels, error) {
	var chain levels
	for next := *row; next.Parent != 0; {
		chain = append(chain, level{next.Parent, next.ParentVersion})
		if len(chain) > MaxDepth {
			return nil, fmt.Errorf("places: manifest chain of %s is too deep: %w", id, ErrCorrupt)
		}
		parent := next.Parent
		next = manifestRow{}
		if err := readManifest(r, id, parent, &next); err != nil {
			return nil, err
		}
	}
	return chain, nil
}

func readManifest(r store.Reader, id code.RepositoryID, manifest uint32, row *manifestRow) error {
	found, err := readRow(r, manifestPrefix(kindManifest, id, manifest), row)
	if err == nil && !found {
		err = fmt.Errorf("places: manifest %d of %s is not there: %w", manifest, id, ErrCorrupt)
	}
	return err
}

// walk iterates over the files that levels show, in the order of their paths.
type walk struct {
	cursors []cursor
	path    []byte // of the current file; a copy
	value   []byte
}

// cursor is the position of one level: its entry for a path.
type cursor struct {
	it      *store.Iterator
	version uint32
	path    []byte // nil at the end
}

func newWalk(r store.Reader, id code.RepositoryID, l levels) (*walk, error) {
	w := &walk{}
	for _, level := range l {
		prefix := manifestPrefix(kindEntry, id, level.manifest)
		it, err := r.Iter(prefix, store.Successor(prefix))
		if err != nil {
			return nil, errors.Join(err, w.Close())
		}
		w.cursors = append(w.cursors, cursor{it: it, version: level.version})
		c := &w.cursors[len(w.cursors)-1]
		c.seekVisible(c.it.First())
	}
	return w, nil
}

// seekVisible moves from the iterator's position to the first entry that is visible at
// the version.
func (c *cursor) seekVisible(ok bool) {
	for ; ok; ok = c.it.Next() {
		path, version := parseEntry(c.it.Key())
		if version <= c.version {
			c.path = path
			return
		}
	}
	c.path = nil
}

// skipPath moves past the cursor's current path.
func (c *cursor) skipPath(path []byte) {
	ok := c.it.Next()
	for ok {
		if next, _ := parseEntry(c.it.Key()); !bytes.Equal(next, path) {
			break
		}
		ok = c.it.Next()
	}
	c.seekVisible(ok)
}

// Next moves to the next file and reports whether there is one.
func (w *walk) Next() bool {
	for {
		first := w.lowestCursor()
		if first < 0 {
			return false
		}
		w.path = append(w.path[:0], w.cursors[first].path...)
		w.value = append(w.value[:0], w.cursors[first].it.Value()...)
		for i := range w.cursors[first:] {
			if c := &w.cursors[first+i]; c.path != nil && bytes.Equal(c.path, w.path) {
				c.skipPath(w.path)
			}
		}
		if len(w.value) > 0 && w.value[0] != entryTombstone {
			return true
		}
	}
}

// lowestCursor returns the first cursor with the lowest path, or -1 if all are at the
// end.
func (w *walk) lowestCursor() int {
	first := -1
	for i := range w.cursors {
		if p := w.cursors[i].path; p != nil && (first < 0 || bytes.Compare(p, w.cursors[first].path) < 0) {
			first = i
		}
	}
	return first
}

// Seek makes the next file the first one at or after path.
func (w *walk) Seek(id code.RepositoryID, l levels, path []byte) {
	for i := range w.cursors {
		k := append(manifestPrefix(kindEntry, id, l[i].manifest), path...)
		w.cursors[i].seekVisible(w.cursors[i].it.SeekGE(k))
	}
}

// Close releases the iterators and returns the error that ended the walk. Further calls
// do nothing.
func (w *walk) Close() error {
	var err error
	for i := range w.cursors {
		err = errors.Join(err, w.cursors[i].it.Close())
	}
	w.cursors = nil
	return err
}

// finder looks up single paths in manifests of one repository.
type finder struct {
	id  code.RepositoryID
	it  *store.Iterator
	key []byte
}

func newFinder(r store.Reader, id code.RepositoryID) (*finder, error) {
	prefix := repositoryPrefix(kindEntry, id)
	it, err := r.Iter(prefix, store.Successor(prefix))
	return &finder{id: id, it: it}, err
}

// ownEntry returns the entry of the level's own manifest for path: the newest at or
// below the version. The value is valid until the next call.
func (f *finder) ownEntry(l level, path []byte) (value []byte, version uint32, found bool) {
	f.key = appendEntryKey(f.key[:0], kindEntry, f.id, l.manifest, path, l.version)
	if !f.it.SeekGE(f.key) {
		return nil, 0, false
	}
	k := f.it.Key()
	if n := len(f.key) - versionSuffixLen + 1; len(k) != len(f.key) || !bytes.Equal(k[:n], f.key[:n]) {
		return nil, 0, false
	}
	_, version = parseEntry(k)
	return f.it.Value(), version, true
}

// hasOlder reports whether the manifest has an older entry for the path that ownEntry has
// just found. It may be called once, and invalidates the value.
func (f *finder) hasOlder() bool {
	n := len(f.key) - versionSuffixLen + 1
	return f.it.Next() && len(f.it.Key()) == len(f.key) && bytes.Equal(f.it.Key()[:n], f.key[:n])
}

// visibleValue returns the value of path in the levels, or nil if there is none. The
// value is valid until the next call.
func (f *finder) visibleValue(l levels, path []byte) []byte {
	for _, level := range l {
		if value, _, found := f.ownEntry(level, path); found {
			if value[0] == entryTombstone {
				return nil
			}
			return value
		}
	}
	return nil
}

func (f *finder) close() error { return f.it.Close() }
