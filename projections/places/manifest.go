package places

import (
	"bytes"
	"errors"
	"math"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// MaxDepth bounds the ancestors of a manifest. A ref derived from a manifest at the bound
// copies that manifest's own entries, of which a branch has few, and becomes a child of
// its parent.
const MaxDepth = 8

// neverSuperseded is the version that supersedes the newest entries of a deleted
// manifest: they exist as long as a pin needs them.
const neverSuperseded = math.MaxUint32

// target is the manifest that an event writes to.
type target struct {
	id       code.RepositoryID
	number   uint32
	row      manifestRow
	isNew    bool
	ancestor levels
	// before holds the levels of the ref before the event's changes.
	before levels
	// copied holds the entries that a new manifest copied from its base.
	copied map[string][]byte
	// newestPin is the highest pinned version of the manifest; 0 if none.
	newestPin uint32
	files     int
	skipped   map[code.SkipReason]int
	isDefault bool
}

// extendManifest creates the next version of a ref's manifest.
func (c *change) extendManifest(id code.RepositoryID, ref *refRow) (*target, error) {
	t := &target{id: id, number: ref.Manifest, files: ref.Files, skipped: cloneCounts(ref.Skipped)}
	chain, row, err := readLevels(c.b, id, ref.Manifest)
	if err != nil {
		return nil, err
	}
	t.before, t.ancestor, t.row = chain, chain[1:], *row
	t.row.Version++
	if t.newestPin, err = c.newestPin(id, t.number); err != nil {
		return nil, err
	}
	return t, nil
}

// deriveManifest creates a new manifest that is derived from another ref's, or an empty
// one if base is nil.
func (c *change) deriveManifest(id code.RepositoryID, repo *repositoryRow, base *refRow) (*target, error) {
	repo.NextManifest++
	t := &target{id: id, number: repo.NextManifest, isNew: true, row: manifestRow{Version: 1}, skipped: map[code.SkipReason]int{}}
	if base == nil {
		return t, nil
	}
	chain, row, err := readLevels(c.b, id, base.Manifest)
	if err != nil {
		return nil, err
	}
	t.before, t.files, t.skipped = chain, base.Files, cloneCounts(base.Skipped)
	t.row.Parent, t.row.ParentVersion, t.row.Depth = base.Manifest, row.Version, row.Depth+1
	t.ancestor = chain
	if row.Depth >= MaxDepth {
		t.row.Parent, t.row.ParentVersion, t.row.Depth = row.Parent, row.ParentVersion, row.Depth
		t.ancestor = chain[1:]
		if err := c.copyEntries(t, chain[0]); err != nil {
			return nil, err
		}
	}
	c.pinned = append(c.pinned, pin{t.row.Parent, t.row.ParentVersion, t.number})
	return t, c.b.Set(pinKey(id, c.pinned[len(c.pinned)-1]), nil)
}

// copyEntries copies the entries that one level shows, including tombstones, to a new
// manifest.
func (c *change) copyEntries(t *target, from level) error {
	t.copied = map[string][]byte{}
	prefix := manifestPrefix(kindEntry, t.id, from.manifest)
	it, err := c.b.Iter(prefix, store.Successor(prefix))
	if err != nil {
		return err
	}
	cur := cursor{it: it, version: from.version}
	for cur.seekVisible(it.First()); cur.path != nil; {
		path, value := bytes.Clone(cur.path), bytes.Clone(it.Value())
		t.copied[string(path)] = value
		err := c.b.Set(entryKey(kindEntry, t.id, t.number, path, t.row.Version), value)
		if err = firstError(err, c.adjustCount(value, 1)); err != nil {
			return errors.Join(err, it.Close())
		}
		cur.skipPath(path)
	}
	return it.Close()
}

// saveManifest writes the manifest's row.
func (c *change) saveManifest(t *target) error {
	return writeRow(c.b, manifestPrefix(kindManifest, t.id, t.number), &t.row)
}

// editManifest applies changes, ordered by path, to the target.
func (c *change) editManifest(t *target, changes []event.Change) error {
	f, err := newFinder(c.b, t.id)
	if err != nil {
		return err
	}
	for i := range changes {
		if err := c.editPath(t, f, []byte(changes[i].Path), entryOf(&changes[i])); err != nil {
			return errors.Join(err, f.close())
		}
	}
	return f.close()
}

// editPath sets the value of a path from the target's version on.
func (c *change) editPath(t *target, f *finder, path, value []byte) error {
	var above []byte
	if len(t.ancestor) > 0 {
		above = bytes.Clone(f.visibleValue(t.ancestor, path))
	}
	own, version, found := t.ownEntry(f, path)
	// Without a tombstone, an older entry that a pin keeps would become visible again.
	hides := above != nil || found && !t.isNew && f.hasOlder()
	before := above
	if found {
		before = own
	}
	if isNothing(before) && isNothing(value) || bytes.Equal(before, value) {
		return nil
	}
	if found {
		kept, err := c.supersedeEntry(t, path, own, version)
		if err != nil {
			return err
		}
		hides = hides || kept
	}
	if !isNothing(value) || hides {
		if err := c.b.Set(entryKey(kindEntry, t.id, t.number, path, t.row.Version), value); err != nil {
			return err
		}
		if err := c.adjustCount(value, 1); err != nil {
			return err
		}
	}
	return c.tallyFile(t, path, before, value)
}

func isNothing(value []byte) bool { return len(value) == 0 || value[0] == entryTombstone }

// ownEntry returns a copy of the target's own entry for path before the event.
func (t *target) ownEntry(f *finder, path []byte) (value []byte, version uint32, found bool) {
	if t.isNew {
		value, found = t.copied[string(path)]
		return value, t.row.Version, found
	}
	value, version, found = f.ownEntry(level{t.number, t.row.Version - 1}, path)
	return bytes.Clone(value), version, found
}

// supersedeEntry removes an entry that a newer version replaces, unless a pin needs it.
// In that case it marks the entry as kept.
func (c *change) supersedeEntry(t *target, path, value []byte, version uint32) (kept bool, err error) {
	if t.newestPin >= version {
		k := entryKey(kindKept, t.id, t.number, path, version)
		return true, c.b.Set(k, store.AppendUint32(nil, t.row.Version))
	}
	if err := c.adjustCount(value, -1); err != nil {
		return false, err
	}
	return false, c.b.Delete(entryKey(kindEntry, t.id, t.number, path, version))
}

// tallyFile counts files and skipped files, and records places if the target is the
// default branch.
func (c *change) tallyFile(t *target, path, before, after []byte) error {
	for _, side := range []struct {
		value []byte
		delta int
	}{{before, -1}, {after, 1}} {
		e, err := decodeEntry(side.value)
		if err != nil {
			return err
		}
		switch e.kind {
		case entryDocument:
			t.files += side.delta
		case entrySkipped:
			if t.skipped[e.skipped] += side.delta; t.skipped[e.skipped] == 0 {
				delete(t.skipped, e.skipped)
			}
			continue
		}
		if !t.isDefault || e.kind != entryDocument {
			continue
		}
		if err := c.notePlace(t.id, path, side.value, side.delta < 0); err != nil {
			return err
		}
	}
	return nil
}

// changesTo returns the changes after which the target shows exactly the files of whole,
// which is ordered by path. It recounts the existing files, because a full manifest may
// be the repair of a damaged row.
func (c *change) changesTo(t *target, whole []event.Change) ([]event.Change, error) {
	w, err := newWalk(c.b, t.id, t.before)
	if err != nil {
		return nil, err
	}
	t.files, t.skipped = 0, map[code.SkipReason]int{}
	next := func() bool { return w.Next() && t.countFile(w.value) }
	var changes []event.Change
	more := next()
	for i := range whole {
		path := []byte(whole[i].Path)
		for ; more && bytes.Compare(w.path, path) < 0; more = next() {
			changes = append(changes, event.Change{Path: string(w.path)})
		}
		if more && bytes.Equal(w.path, path) {
			if !bytes.Equal(w.value, entryOf(&whole[i])) {
				changes = append(changes, whole[i])
			}
			more = next()
		} else {
			changes = append(changes, whole[i])
		}
	}
	for ; more; more = next() {
		changes = append(changes, event.Change{Path: string(w.path)})
	}
	return changes, w.Close()
}

// countFile counts one file that the target shows. It ignores a value that cannot be
// decoded; the edit that follows fails on it if it is affected.
func (t *target) countFile(value []byte) bool {
	switch e, err := decodeEntry(value); {
	case err != nil:
	case e.kind == entryDocument:
		t.files++
	case e.kind == entrySkipped:
		t.skipped[e.skipped]++
	}
	return true
}

func cloneCounts(m map[code.SkipReason]int) map[code.SkipReason]int {
	clone := make(map[code.SkipReason]int, len(m))
	for k, v := range m {
		clone[k] = v
	}
	return clone
}
