package places

import (
	"bytes"
	"errors"
	"slices"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
)

// versionsPinned returns the versions of a manifest that children read at this record, in
// ascending order.
func (c *change) versionsPinned(id code.RepositoryID, manifest uint32) ([]uint32, error) {
	prefix := manifestPrefix(kindPin, id, manifest)
	it, err := c.b.Iter(prefix, store.Successor(prefix))
	if err != nil {
		return nil, err
	}
	var versions []uint32
	for ok := it.First(); ok; ok = it.Next() {
		if p := parsePin(it.Key()); !c.unpinned[p] {
			versions = append(versions, p.version)
		}
	}
	for _, p := range c.pinned {
		if p.parent == manifest && !c.unpinned[p] {
			versions = append(versions, p.version)
		}
	}
	slices.Sort(versions)
	return slices.Compact(versions), it.Close()
}

// newestPin returns the highest pinned version of a manifest, or 0 if none is pinned.
func (c *change) newestPin(id code.RepositoryID, manifest uint32) (uint32, error) {
	prefix := manifestPrefix(kindPin, id, manifest)
	it, err := c.b.Iter(prefix, store.Successor(prefix))
	if err != nil {
		return 0, err
	}
	version := uint32(0)
	if it.Last() {
		version = parsePin(it.Key()).version
	}
	return version, it.Close()
}

// isPinnedBetween reports whether one of the versions, which are in ascending order, is
// in [from, to).
func isPinnedBetween(versions []uint32, from, to uint32) bool {
	i, _ := slices.BinarySearch(versions, from)
	return i < len(versions) && versions[i] < to
}

// discardManifest deletes a manifest that no ref uses any more, except for the entries
// that children read.
func (c *change) discardManifest(id code.RepositoryID, manifest uint32) error {
	row := new(manifestRow)
	if err := readManifest(c.b, id, manifest, row); err != nil {
		return err
	}
	versions, err := c.versionsPinned(id, manifest)
	if err != nil {
		return err
	}
	if err := c.pruneEntries(id, manifest, versions); err != nil {
		return err
	}
	k := manifestPrefix(kindManifest, id, manifest)
	if len(versions) > 0 {
		row.Deleted = true
		return writeRow(c.b, k, row)
	}
	if err := c.b.Delete(k); err != nil {
		return err
	}
	if row.Parent == 0 {
		return nil
	}
	return c.removePin(id, pin{row.Parent, row.ParentVersion, manifest})
}

// pruneEntries removes the entries of a manifest without a ref that no pinned version
// shows, and marks the others as kept.
func (c *change) pruneEntries(id code.RepositoryID, manifest uint32, versions []uint32) error {
	prefix := manifestPrefix(kindEntry, id, manifest)
	it, err := c.b.Iter(prefix, store.Successor(prefix))
	if err != nil {
		return err
	}
	var last []byte
	superseded := uint32(neverSuperseded)
	for ok := it.First(); ok; ok = it.Next() {
		path, version := parseEntry(it.Key())
		if !bytes.Equal(path, last) {
			last, superseded = append(last[:0], path...), neverSuperseded
		}
		if isPinnedBetween(versions, version, superseded) {
			err = c.b.Set(entryKey(kindKept, id, manifest, path, version), store.AppendUint32(nil, superseded))
		} else {
			err = c.deleteEntry(id, manifest, path, version, it.Value())
		}
		if err != nil {
			return errors.Join(err, it.Close())
		}
		superseded = version
	}
	return it.Close()
}

// deleteEntry removes an entry and its kept row.
func (c *change) deleteEntry(id code.RepositoryID, manifest uint32, path []byte, version uint32, value []byte) error {
	return firstError(
		c.adjustCount(value, -1),
		c.b.Delete(entryKey(kindEntry, id, manifest, path, version)),
		c.b.Delete(entryKey(kindKept, id, manifest, path, version)))
}

// removePin removes a pin, and the entries that were kept only for it.
func (c *change) removePin(id code.RepositoryID, p pin) error {
	c.unpinned[p] = true
	if err := c.b.Delete(pinKey(id, p)); err != nil {
		return err
	}
	row := new(manifestRow)
	if err := readManifest(c.b, id, p.parent, row); err != nil {
		return err
	}
	versions, err := c.versionsPinned(id, p.parent)
	if err != nil {
		return err
	}
	if row.Deleted && len(versions) == 0 {
		return c.discardManifest(id, p.parent)
	}
	return c.deleteKeptEntries(id, p, versions)
}

// deleteKeptEntries deletes the kept entries that only p needed; versions are those that
// are still pinned.
func (c *change) deleteKeptEntries(id code.RepositoryID, p pin, versions []uint32) error {
	prefix := manifestPrefix(kindKept, id, p.parent)
	it, err := c.b.Iter(prefix, store.Successor(prefix))
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		path, version := parseEntry(it.Key())
		superseded, err := decodeUint32(it.Value())
		if err == nil && version <= p.version && p.version < superseded && !isPinnedBetween(versions, version, superseded) {
			var value []byte
			if value, _, err = c.b.Read(entryKey(kindEntry, id, p.parent, path, version)); err == nil {
				err = c.deleteEntry(id, p.parent, path, version, value)
			}
		}
		if err != nil {
			return errors.Join(err, it.Close())
		}
	}
	return it.Close()
}
