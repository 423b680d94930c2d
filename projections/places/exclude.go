package places

import (
	"context"
	"errors"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Restore repairs a segment whose keys in the store cannot be read. It ingests the
// segment from the segment store again or, if that has no intact copy either, makes it
// absent, as in a store that is built from the log now. Its documents are then unheld
// until their refs are re-indexed. Restore reports whether the segment is readable
// afterwards.
//
// It must be called on the goroutine that applies the partition. The caller must commit b
// and call Committed and Publish, or call Discarded.
func (p *Places) Restore(ctx context.Context, b *store.Batch, partition int32, id segment.ID) (held bool, err error) {
	c := p.newChange(b, event.Position{Topic: event.TopicEvents, Partition: partition})
	h := c.part.byID[id]
	if h == nil || h.reader == nil {
		return false, nil // merged away in the meantime, or already absent
	}
	c.claimKeys(id)
	next := &handle{id: id, partition: partition, sequence: h.sequence, row: h.row, origins: h.origins, removedAt: h.removedAt}
	if err := p.restoreSegment(ctx, next); err != nil {
		return false, err
	}
	if next.reader == nil {
		return false, c.makeAbsent(next)
	}
	// What the reader of h holds in memory, and its frames in the cache, may be damaged as well.
	c.added, c.stage.moved = append(c.added, next), true
	return true, c.flush()
}

// makeAbsent makes the segment of h absent. h is a handle without a reader that replaces
// the one that held the segment's documents.
func (c *change) makeAbsent(h *handle) error {
	c.mayLose = true
	c.added = append(c.added, h)
	if err := c.loseHolder(h.sequence); err != nil {
		return err
	}
	return c.flush()
}

// excludeLost makes segments absent while the store is opened, before anything but the
// segments is loaded.
func (p *Places) excludeLost(lost []*handle) error {
	for _, h := range lost {
		b := p.store.NewBatch()
		c := p.newChange(b, event.Position{Topic: event.TopicEvents, Partition: h.partition})
		c.part.applied = nil // the rest is loaded from the rows
		if err := c.makeAbsent(h); err != nil {
			return errors.Join(err, b.Close())
		}
		if err := b.Commit(); err != nil {
			return err
		}
		p.log.Error("segment lost; its files are missing until their refs are re-indexed", "segment", h.row.ID, "partition", h.partition, "documents", h.row.Documents)
	}
	return nil
}

// PartitionOf returns the partition in which a segment is live, and reports whether there
// is one.
func (v *View) PartitionOf(id segment.ID) (int32, bool) {
	for _, part := range v.parts {
		for _, h := range part.handles {
			if h.id == id {
				return part.number, true
			}
		}
	}
	return 0, false
}
