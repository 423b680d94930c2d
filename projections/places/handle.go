package places

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
)

// handle is a segment of the store. Its row is that of the last record
// committed; a change works on copies.
type handle struct {
	id        segment.ID
	partition int32
	sequence  uint32
	row       segmentRow
	// reader is nil if the segment is absent.
	reader *segment.Reader
	// removedAt is the mark of the segment: since when it has text that a removal left;
	// zero if it has none.
	removedAt time.Time
	// doomed is the local row that remembers the object to delete.
	doomed []byte
	// views counts the partition views that name the segment.
	views atomic.Int64
}

// bring ingests the segment of h, if it is not in the store yet, and opens it.
// h is absent, with a nil reader, if the segment store does not have it.
func (p *Places) bring(ctx context.Context, h *handle) error {
	lo, hi := segment.KeyRange(h.id)
	found, err := p.store.HasSegment(lo, hi)
	if err != nil {
		return err
	}
	if !found {
		path, err := p.store.Incoming(fmt.Sprintf("%d-%s", h.partition, h.id))
		if err != nil {
			return err
		}
		err = p.objects.Fetch(ctx, segmentstore.SegmentName(h.id), path)
		if errors.Is(err, code.ErrNotFound) {
			h.row.Absent = true
			return nil
		}
		if err != nil {
			return projections.ObjectError(err)
		}
		if err := p.store.IngestSegment(ctx, lo, hi, path); err != nil {
			return err
		}
	}
	return p.open(h)
}

// open opens the reader of a segment that is in the store.
func (p *Places) open(h *handle) error {
	reader, err := segment.Open(segmentKeys{p.store}, h.id, p.cache)
	if errors.Is(err, segment.ErrCorrupt) || errors.Is(err, segment.ErrFormat) {
		return fmt.Errorf("places: %w: %w", projections.ErrPoison, err)
	}
	if err != nil {
		return fmt.Errorf("places: %w", err)
	}
	h.reader = reader
	return nil
}

// segmentKeys are the keys of segments in a store.
type segmentKeys struct{ *store.Store }

var _ segment.Walkable = segmentKeys{}

// Walk implements segment.Walkable.
func (s segmentKeys) Walk() (segment.Walker, error) {
	return s.Iter([]byte{segment.KeyPrefix}, []byte{segment.KeyPrefix + 1})
}
