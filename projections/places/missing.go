package places

import (
	"context"
	"fmt"

	"github.com/quarrysearch/quarry/projections/segment"
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
	return Missing{Documents: v.Unheld(), Refs: len(broken)}, err
}

// LacksText reports whether a ref has a file whose document no segment holds. It
// walks the manifest up to the first, with a lookup for each file, about 2 µs.
func (v *View) LacksText(ctx context.Context, id code.RepositoryID, ref code.Ref) (lacks bool, err error) {
	part, _, err := v.state(id, ref)
	if err != nil || part.unheld == 0 {
		return false, err
	}
	err = v.eachFile(ctx, id, ref, "", func(_, value []byte) (bool, error) {
		e, err := decodeEntry(value)
		if err != nil || e.kind != entryDocument {
			return true, err
		}
		_, lacks, err = part.snapshot.Read(documentKey(kindUnheld, part.number, e.document))
		return !lacks, err
	})
	return lacks, err
}

// SegmentKeys returns the documents of a live segment; none if it is not live or is
// absent.
func (v *View) SegmentKeys(id segment.ID) ([]code.DocumentKey, error) {
	h := v.handle(id)
	if h == nil || h.reader == nil {
		return nil, nil
	}
	return h.reader.Keys()
}

// CopySegment writes a live segment to a file, as it is in the segment store. It
// fails with segment.ErrCorrupt if the copy cannot be what was sealed.
func (v *View) CopySegment(id segment.ID, path string) (err error) {
	h := v.handle(id)
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

// handle returns the segment with that ID, nil if it is not live.
func (v *View) handle(id segment.ID) *handle {
	for _, part := range v.parts {
		for _, h := range part.handles {
			if h.id == id {
				return h
			}
		}
	}
	return nil
}
