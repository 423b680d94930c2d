package places

import (
	"context"
	"fmt"
	"slices"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
)

// maxBrokenCounted bounds the refs that Missing counts, because it reads a row for each.
const maxBrokenCounted = 100_000

// Missing counts lost documents and refs that searches do not find.
type Missing struct {
	// Documents counts the documents that a manifest names but no segment holds.
	Documents int
	// Refs counts the refs whose last event could not be applied.
	Refs int
}

// Missing counts the missing documents and refs.
func (v *View) Missing() (Missing, error) {
	broken, err := v.Broken(maxBrokenCounted)
	return Missing{Documents: v.UnheldCount(), Refs: len(broken)}, err
}

// LacksText reports whether a ref names a document that no segment holds. It looks up
// each entry until it finds one, which takes about 2 µs per entry.
func (v *View) LacksText(ctx context.Context, id code.RepositoryID, ref code.Ref) (bool, error) {
	part, _, err := v.refLevels(id, ref)
	if err != nil || part.unheld == 0 {
		return false, err
	}
	return v.NamesAny(ctx, id, ref, func(d code.DocumentKey) (bool, error) {
		_, unheld, err := part.snapshot.Read(documentKey(kindUnheld, part.number, d))
		return unheld, err
	})
}

// NamesAny reports whether a ref names a document for which wanted returns true, in its
// manifest or an ancestor, at any of their versions. The ref does not necessarily show
// that document: entries that a manifest keeps for another one also count, until both are
// rewritten.
func (v *View) NamesAny(ctx context.Context, id code.RepositoryID, ref code.Ref, wanted func(code.DocumentKey) (bool, error)) (bool, error) {
	part, l, err := v.refLevels(id, ref)
	if err != nil {
		return false, err
	}
	for _, level := range l {
		found, err := part.namesAny(ctx, manifestPrefix(kindEntry, id, level.manifest), wanted)
		if err != nil || found {
			return found, err
		}
	}
	return false, nil
}

func (pv *partitionView) namesAny(ctx context.Context, prefix []byte, wanted func(code.DocumentKey) (bool, error)) (found bool, err error) {
	it, err := pv.snapshot.Iter(prefix, store.Successor(prefix))
	if err != nil {
		return false, err
	}
	defer func() { err = firstError(err, it.Close()) }()
	n := 0
	for ok := it.First(); ok && !found && err == nil; ok = it.Next() {
		var e entry
		if e, err = decodeEntry(it.Value()); err == nil && e.kind == entryDocument {
			found, err = wanted(e.document)
		}
		if n++; n%checkEvery == 0 {
			err = firstError(err, ctx.Err())
		}
	}
	return found, err
}

// SegmentKeys returns the documents of a live segment, or none if it is not live or is
// absent.
func (v *View) SegmentKeys(id segment.ID) ([]code.DocumentKey, error) {
	h := v.findHandle(id)
	if h == nil || h.reader == nil {
		return nil, nil
	}
	return h.reader.Keys()
}

// CopySegment writes a live segment to a file in the format of the segment store. It
// returns segment.ErrCorrupt if the copy differs from the sealed segment.
func (v *View) CopySegment(id segment.ID, path string) (err error) {
	h := v.findHandle(id)
	if h == nil || h.reader == nil {
		return fmt.Errorf("places: segment %s: %w", id, code.ErrNotFound)
	}
	lo, hi := segment.KeyRange(id)
	it, err := v.p.store.Iter(lo, hi)
	if err != nil {
		return err
	}
	defer func() { err = firstError(err, it.Close()) }()
	size, err := segment.Copy(path, it)
	infos := v.SegmentInfos() // the row of the handle belongs to the goroutine that applies records
	want := infos[slices.IndexFunc(infos, func(i SegmentInfo) bool { return i.ID == id })].SizeBytes
	if err == nil && size != want {
		err = fmt.Errorf("the copy has %d bytes, the segment had %d: %w", size, want, segment.ErrCorrupt)
	}
	if err != nil {
		return fmt.Errorf("places: segment %s: %w", id, err)
	}
	return nil
}

// findHandle returns the segment with that ID, or nil if it is not live.
func (v *View) findHandle(id segment.ID) *handle {
	for _, part := range v.parts {
		for _, h := range part.handles {
			if h.id == id {
				return h
			}
		}
	}
	return nil
}
