package places

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/integrity"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
)

// handle is a segment of the store. Its row is that of the last committed record; a
// change works on copies.
type handle struct {
	id        segment.ID
	partition int32
	sequence  uint32
	row       segmentRow
	// origins are the repositories that brought the documents, sorted; nil if they are not
	// known. They never change.
	origins []code.RepositoryID
	// reader is nil if the segment is absent.
	reader *segment.Reader
	// removedAt is the mark of the segment: the time since which it contains text that a
	// removal left; zero if it contains none.
	removedAt time.Time
	// doomedRow is the key of the local row for the object to delete.
	doomedRow []byte
	// excised reports that the sweeper has removed the keys, and only the object is left.
	excised bool
	// marked reports that the sweeper has marked the merge that dropped the segment;
	// inherited, that an earlier process may have done so.
	marked, inherited bool
	// views counts the partition views that reference the segment.
	views atomic.Int64
}

// openOrIngest ingests the segment of h if it is not in the store yet, and opens it. h is
// absent, with a nil reader, if the segment is missing or damaged in the segment store.
func (p *Places) openOrIngest(ctx context.Context, h *handle) error {
	lo, hi := segment.KeyRange(h.id)
	found, err := p.store.HasSegment(lo, hi)
	if err != nil && !isUnreadable(err) {
		return err
	}
	if found && err == nil {
		if err := p.open(h); !isUnreadable(err) {
			return err
		}
	}
	return p.restoreSegment(ctx, h)
}

// restoreSegment ingests the segment of h from the segment store, replacing unreadable
// keys if there are any, and opens it. If the object is damaged, it goes to the
// quarantine; h is then absent, and the store has no keys of it.
func (p *Places) restoreSegment(ctx context.Context, h *handle) error {
	lo, hi := segment.KeyRange(h.id)
	name := segmentstore.SegmentName(h.id)
	path, err := p.store.Incoming(fmt.Sprintf("%d-%s", h.partition, h.id))
	if err != nil {
		return err
	}
	found, err := p.store.HasSegment(lo, hi)
	if err != nil && !isUnreadable(err) {
		return err
	}
	ingest := p.store.IngestSegment
	if found || err != nil {
		ingest = p.store.ReplaceSegment
	}
	err = p.objects.Fetch(ctx, name, path)
	if err == nil {
		if err = ingest(ctx, lo, hi, path); err == nil {
			err = p.openAll(h)
		}
		if !isUnreadable(err) {
			return err
		}
		moved, failed := p.objects.Quarantine(ctx, name)
		if failed != nil {
			return projections.ObjectError(failed)
		}
		if !moved {
			return err
		}
		err = code.ErrNotFound
	}
	if !errors.Is(err, code.ErrNotFound) {
		return projections.ObjectError(err)
	}
	h.reader, h.row.Absent, h.row.Live, h.row.LiveBytes = nil, true, 0, 0
	if found, err = p.store.HasSegment(lo, hi); err == nil && !found {
		return nil
	}
	return p.store.Excise(ctx, lo, hi)
}

// openAll is an open that also reads the data of a segment that a change needs.
func (p *Places) openAll(h *handle) error {
	if err := p.open(h); err != nil {
		return err
	}
	if _, err := h.reader.Keys(); err != nil {
		return fmt.Errorf("places: %w", err)
	}
	return nil
}

// isUnreadable reports whether a segment cannot be read because its bytes are corrupted.
func isUnreadable(err error) bool {
	return errors.Is(err, segment.ErrCorrupt) || errors.Is(err, integrity.ErrDamaged) || errors.Is(err, store.ErrTable)
}

// open opens the reader of a segment that is in the store.
func (p *Places) open(h *handle) error {
	reader, err := segment.Open(segmentKeys{p.store, p}, h.id, p.cache)
	if errors.Is(err, segment.ErrCorrupt) || errors.Is(err, segment.ErrFormat) {
		return fmt.Errorf("places: %w: %w", projections.ErrPoison, err)
	}
	if err != nil {
		return fmt.Errorf("places: %w", err)
	}
	h.reader = reader
	return nil
}

// segmentKeys reads the keys of segments in a store.
type segmentKeys struct {
	*store.Store
	places *Places
}

var (
	_ segment.Walkable    = segmentKeys{}
	_ segment.DamageNoter = segmentKeys{}
)

// NoteDamage implements segment.DamageNoter.
func (s segmentKeys) NoteDamage(id segment.ID, err error) {
	if s.places.onDamage != nil {
		s.places.onDamage(id, err)
	}
}

// Get implements segment.Source. A missing part belongs to a segment that was removed
// because of damage after its reader was opened, or that never had the part.
func (s segmentKeys) Get(key []byte) ([]byte, io.Closer, error) {
	value, closer, err := s.Store.Get(key)
	if errors.Is(err, store.ErrNoKey) {
		err = fmt.Errorf("%w: %w", segment.ErrCorrupt, err)
	}
	return value, closer, err
}

// Walk implements segment.Walkable.
func (s segmentKeys) Walk() (segment.Walker, error) {
	return s.Iter([]byte{segment.KeyPrefix}, []byte{segment.KeyPrefix + 1})
}
