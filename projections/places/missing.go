package places

import (
	"context"
	"fmt"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
)

// maxBrokenCounted bounds what Missing counts: a row is read for each.
const maxBrokenCounted = 100_000

// Missing is what searches lack because it was lost.
type Missing struct {
	// Documents are named by a manifest, and no segment holds them.
	Documents int
	// Refs are those whose last event could not be applied.
	Refs int
}

// Missing counts what is missing.
func (v *View) Missing() (Missing, error) {
	broken, err := v.Broken(maxBrokenCounted)
	return Missing{Documents: v.UnheldCount(), Refs: len(broken)}, err
}

// LacksText reports whether a ref names a document that no segment holds. It costs a
// lookup for each entry up to the first, about 2 µs.
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

// NamesAny reports whether a document is wanted that a ref names: in its manifest or
// in those that it is derived from, at any of their versions. So it may be one that
// the ref does not show: an entry that a manifest keeps for another one counts as
// well, until both are written again.
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

// SegmentKeys returns the documents of a live segment; none if it is not live or is
// absent.
func (v *View) SegmentKeys(id segment.ID) ([]code.DocumentKey, error) {
	h := v.findHandle(id)
	if h == nil || h.reader == nil {
		return nil, nil
	}
	return h.reader.Keys()
}

// CopySegment writes a live segment to a file, as it is in the segment store. It
// fails with segment.ErrCorrupt if the copy cannot be what was sealed.
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
	if err == nil && size != h.row.SizeBytes {
		err = fmt.Errorf("the copy has %d bytes, the segment had %d: %w", size, h.row.SizeBytes, segment.ErrCorrupt)
	}
	if err != nil {
		return fmt.Errorf("places: segment %s: %w", id, err)
	}
	return nil
}

// findHandle returns the segment with that ID, nil if it is not live.
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
