package places

import (
	"context"
	"errors"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Adopt makes a segment a holder of its documents that no record has named yet:
// a version that shows the past takes the documents of segments that were merged
// away from the segments that have them now. It reports false, and changes
// nothing, if the segment store does not have it or nothing unheld is in it.
//
// It moves no checkpoint; rows are then no function of the records, so a store in
// which it was called must not follow the log further. It is not called while
// records are applied.
func (p *Places) Adopt(ctx context.Context, partition int32, ref event.SegmentRef) (held bool, err error) {
	b := p.store.NewBatch()
	c := p.newChange(b, event.Position{Topic: event.TopicEvents, Partition: partition})
	h, err := c.ensureSegment(ctx, &ref, true)
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

// coversUnheld reports whether h holds a document that nothing else does.
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

// TakeOver makes this the store whose process deletes the objects of merged
// segments, after another version was it: from is the store of that version, and
// what it had still to delete is deleted here. Neither Run nor any Apply is running
// meanwhile.
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

// StopDeleting ends what TakeOver, or Options.DeleteObjects, began.
func (p *Places) StopDeleting() { p.deleteObjects.Store(false) }
