package places

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Liveness returns which documents of a segment must outlive it: bit d is set if some
// manifest, of any ref, names document d and no older segment holds it, except the lost
// ones. It returns code.ErrNotFound if the segment is not live or is absent. It reads one
// row for each document, which takes about 2 µs.
//
// A merge that drops the other documents is safe: if one of them becomes live again in
// the meantime, the merge is refused.
func (v *View) Liveness(id segment.ID, lost ...segment.ID) (live []uint64, documents int, err error) {
	for _, part := range v.parts {
		i := slices.IndexFunc(part.handles, func(h *handle) bool { return h.id == id })
		if i < 0 {
			continue
		}
		var lostSequences []uint32
		for _, h := range part.handles {
			if slices.Contains(lost, h.id) {
				lostSequences = append(lostSequences, h.sequence)
			}
		}
		return part.computeLiveness(part.handles[i].sequence, part.segments[i].Reader, lostSequences)
	}
	return nil, 0, fmt.Errorf("places: segment %s: %w", id, code.ErrNotFound)
}

func (pv *partitionView) computeLiveness(sequence uint32, reader *segment.Reader, lost []uint32) ([]uint64, int, error) {
	keys, err := reader.Keys()
	if err != nil {
		return nil, 0, err
	}
	live := make([]uint64, (len(keys)+63)/64)
	for d, k := range keys {
		value, ok, err := pv.snapshot.Read(documentKey(kindDocument, pv.number, k))
		if err != nil {
			return nil, 0, err
		}
		if !ok {
			continue
		}
		row, err := decodeDocumentRow(value)
		if err != nil {
			return nil, 0, err
		}
		row.holders = slices.DeleteFunc(row.holders, func(l location) bool { return slices.Contains(lost, l.sequence) })
		if row.count > 0 && row.firstHolder() == (location{sequence, segment.DocID(d)}) {
			live[d/64] |= 1 << (d % 64)
		}
	}
	return live, len(keys), nil
}

// UnheldDocuments returns at most limit documents that manifests name and no segment
// holds.
func (v *View) UnheldDocuments(limit int) ([]code.DocumentKey, error) {
	var unheld []code.DocumentKey
	for _, part := range v.parts {
		prefix := partitionPrefix(kindUnheld, part.number)
		it, err := part.snapshot.Iter(prefix, store.Successor(prefix))
		if err != nil {
			return nil, err
		}
		for ok := it.First(); ok && len(unheld) < limit; ok = it.Next() {
			unheld = append(unheld, parseDocument(it.Key()))
		}
		if err := it.Close(); err != nil {
			return nil, err
		}
	}
	return unheld, nil
}

// Broken returns at most limit refs whose last event could not be applied. Each error
// explains how to repair the ref.
func (v *View) Broken(limit int) ([]*BrokenError, error) {
	var broken []*BrokenError
	for _, part := range v.parts {
		err := forEachRow(part.snapshot, newKey(kindBroken, 0), func(_, value []byte) error {
			b := new(BrokenError)
			if err := json.Unmarshal(value, b); err != nil {
				return err
			}
			if b.Position.Partition == part.number && len(broken) < limit {
				broken = append(broken, b)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return broken, nil
}

// Namers calls visit for each repository of a segment's partition and each document of the
// segment that an entry of the repository names. It reads all entries of the partition, at
// about a microsecond each.
func (v *View) Namers(ctx context.Context, id segment.ID, visit func(*Repository, segment.DocID)) error {
	h := v.findHandle(id)
	if h == nil || h.reader == nil {
		return fmt.Errorf("places: segment %s: %w", id, code.ErrNotFound)
	}
	keys, err := h.reader.Keys()
	if err != nil {
		return err
	}
	documents := make(map[code.DocumentKey]segment.DocID, len(keys))
	for d, k := range keys {
		documents[k] = segment.DocID(d)
	}
	part := v.findPartition(h.partition)
	for _, r := range v.repos {
		if r == nil || r.Partition != h.partition {
			continue
		}
		_, err := part.namesAny(ctx, repositoryPrefix(kindEntry, r.ID), func(k code.DocumentKey) (bool, error) {
			if d, found := documents[k]; found {
				visit(r, d)
			}
			return false, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
