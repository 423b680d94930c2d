package places

import (
	"context"
	"errors"
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Adopt makes a segment a holder of its documents although no record has named it yet: a
// version that shows the past reads the documents of segments that were merged away from
// the segments that contain them now. It returns false, without a change, if the segment
// store does not have the segment or the segment contains no unheld document.
//
// It does not move the checkpoint. Afterwards the rows depend on more than the records,
// so the store must no longer follow the log. It must not be called while records are
// applied.
func (p *Places) Adopt(ctx context.Context, partition int32, ref event.SegmentRef) (held bool, err error) {
	b := p.store.NewBatch()
	c := p.newChange(b, event.Position{Topic: event.TopicEvents, Partition: partition})
	h, err := c.ensureSegment(ctx, &ref, nil, true) // its origins are not known
	if err == nil {
		held, err = c.coversUnheld(h)
	}
	if held {
		err = c.flush()
	}
	if err != nil || !held {
		p.Discarded(partition)
		return false, errors.Join(err, b.Close())
	}
	if err := b.Commit(); err != nil {
		p.Discarded(partition)
		return false, err
	}
	p.Committed(partition)
	p.Publish(partition)
	return true, nil
}

// coversUnheld reports whether h holds a document that no other segment holds.
func (c *change) coversUnheld(h *handle) (bool, error) {
	if h.reader == nil {
		return false, nil
	}
	keys, err := h.reader.Keys()
	if err != nil {
		return false, err
	}
	for _, k := range keys {
		if _, found, err := c.b.Read(documentKey(kindUnheld, c.at.Partition, k)); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// UnheldIn returns the documents of a partition that manifests name and no
// segment holds.
func (v *View) UnheldIn(partition int32) (map[code.DocumentKey]bool, error) {
	unheld := map[code.DocumentKey]bool{}
	part := v.findPartition(partition)
	if part == nil || part.unheld == 0 {
		return unheld, nil
	}
	err := forEachRow(part.snapshot, partitionPrefix(kindUnheld, partition), func(k, _ []byte) error {
		unheld[parseDocument(k)] = true
		return nil
	})
	return unheld, err
}

// TakeOver makes this process's store the one that deletes the objects of merged
// segments, in place of another version: from is the store of that version, and the
// objects that it had not deleted yet are deleted here. Neither Run nor any Apply may be
// running.
func (p *Places) TakeOver(from store.Reader) error {
	b := p.store.NewBatch()
	var inherited []*handle
	err := forEachRow(from, doomedPrefix(), func(k, v []byte) error {
		h, err := doomedHandle(k, v)
		if err != nil {
			return err
		}
		inherited = append(inherited, h)
		return b.Set(k, v)
	})
	if err == nil {
		err = p.inheritErasures(from, b)
	}
	if err != nil {
		return errors.Join(err, b.Close())
	}
	if err := b.Commit(); err != nil {
		return err
	}
	p.sweep.enqueueSegments(inherited...)
	p.deleteObjects.Store(true)
	return nil
}

// Discard records segments of a log that this one replaces: the next process with
// Options.DeleteObjects deletes their objects. They have text that was removed at a time or
// before it. No Apply may be running.
func (p *Places) Discard(segments []segment.ID, at time.Time) error {
	b := p.store.NewBatch()
	for n, id := range segments {
		h := &handle{id: id, removedAt: at}
		// The first record of a partition is no merge, so no mark is taken for that of one.
		if err := b.Set(doomedKey(event.Position{Topic: event.TopicEvents}, n), h.appendDoomed(nil)); err != nil {
			return errors.Join(err, b.Close())
		}
	}
	return b.Commit()
}

// isDiscarded reports whether Discard has recorded the segment, whose text may be of any
// partition.
func (h *handle) isDiscarded() bool {
	return h.doomedRow != nil && doomedBy(h.doomedRow).Offset == 0
}

// StopDeleting ends the deletions that TakeOver or Options.DeleteObjects started.
func (p *Places) StopDeleting() { p.deleteObjects.Store(false) }
