package places

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
)

// sweepRetry is the pause after the segment store failed to delete an object.
const sweepRetry = 30 * time.Second

// sweeper removes segments that are no longer referenced: their keys from the store,
// their objects from the segment store.
type sweeper struct {
	// wake signals that there may be segments to remove. Its buffer has room for one
	// signal.
	wake chan struct{}
	// purged counts the segments with removed text that were deleted since the last time
	// that none was pending. It belongs to Run.
	purged purgeSummary
	mu     struct {
		sync.Mutex
		// queue holds the dropped segments, in the order in which they were dropped.
		queue []*handle
		// live counts the partitions in which a segment is live or in flight: its keys
		// must be kept even if it was dropped before.
		live map[segment.ID]int
	}
}

func newSweeper() *sweeper {
	s := &sweeper{wake: make(chan struct{}, 1)}
	s.mu.live = map[segment.ID]int{}
	return s
}

// claimKeys prevents the deletion of a segment's keys until it was released as often as
// claimed.
func (s *sweeper) claimKeys(id segment.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.live[id]++
}

func (s *sweeper) releaseKeys(id segment.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.live[id]--; s.mu.live[id] <= 0 {
		delete(s.mu.live, id)
	}
}

// enqueueSegments adds dropped segments to the queue.
func (s *sweeper) enqueueSegments(handles ...*handle) {
	s.mu.Lock()
	s.mu.queue = append(s.mu.queue, handles...)
	s.mu.Unlock()
	s.signalWork()
}

// markWaiting marks the queued segments of a partition that have no mark.
func (s *sweeper) markWaiting(partition int32, at time.Time) {
	s.mu.Lock()
	for _, h := range s.mu.queue {
		if h.partition == partition && h.doomedRow != nil {
			h.removedAt = earlierTime(h.removedAt, at)
		}
	}
	s.mu.Unlock()
	s.signalWork()
}

func (s *sweeper) signalWork() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// pendingRemoval returns the number of queued segments with removed text, the size of
// their text and the time of the oldest removal.
func (s *sweeper) pendingRemoval() (w PendingRemoval) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.mu.queue {
		w.add(h.removedAt, h.row.TextBytes)
	}
	return w
}

// len returns the number of queued segments.
func (s *sweeper) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.queue)
}

// Run excises segments and deletes their objects once no view needs them. It returns nil
// when ctx ends, or the error of the store.
func (p *Places) Run(ctx context.Context) error {
	retry := time.NewTicker(sweepRetry)
	defer retry.Stop()
	for {
		if err := p.sweepAll(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-p.sweep.wake:
		case <-retry.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// sweepAll removes segments from the head of the queue that no view references. Objects
// that a snapshot names go to the end of the queue, and the next call tries them again.
func (p *Places) sweepAll(ctx context.Context) error {
	for kept := 0; ctx.Err() == nil; {
		p.sweep.mu.Lock()
		var head *handle
		if len(p.sweep.mu.queue) > kept && p.sweep.mu.queue[0].views.Load() == 0 {
			head = p.sweep.mu.queue[0]
		}
		p.sweep.mu.Unlock()
		if head == nil {
			return nil
		}
		deleted, err := p.sweepOne(ctx, head)
		inSnapshot := errors.Is(err, segmentstore.ErrKept)
		if !inSnapshot && (err != nil || !deleted) {
			return err
		}
		p.sweep.mu.Lock()
		p.sweep.mu.queue = p.sweep.mu.queue[1:]
		if inSnapshot {
			p.sweep.mu.queue = append(p.sweep.mu.queue, head)
			kept++
		}
		removedAt := head.removedAt
		p.sweep.mu.Unlock()
		if !inSnapshot {
			p.notePurge(removedAt)
		}
	}
	return nil
}

// sweepOne removes one segment. It returns false if the segment store did not delete the
// object, and segmentstore.ErrKept if a snapshot names it; any other error is that of the
// store.
func (p *Places) sweepOne(ctx context.Context, h *handle) (bool, error) {
	p.sweep.mu.Lock()
	removedAt := h.removedAt
	p.sweep.mu.Unlock()
	if !removedAt.IsZero() {
		if err := p.deleteCopies(ctx, h, removedAt); err != nil {
			p.log.Warn("cannot delete a segment with removed text yet; trying again later", "segment", h.id.String(), "error", err)
			return false, nil
		}
	}
	// A concurrent claim of the segment either waits until its keys are deleted, or comes
	// first and keeps them.
	p.sweep.mu.Lock()
	revived := p.sweep.mu.live[h.id] > 0
	var err error
	if !revived && h.reader != nil && !h.excised {
		lo, hi := segment.KeyRange(h.id)
		if err = p.store.Excise(ctx, lo, hi); err == nil && h.doomedRow != nil {
			p.metrics.excised.Inc()
		}
		h.excised = err == nil
	}
	p.sweep.mu.Unlock()
	if err != nil || h.doomedRow == nil || !p.deleteObjects.Load() {
		return true, err
	}
	held, err := isHeld(p.store, h.partition, h.id)
	if err != nil {
		return true, err
	}
	if err := p.deleteObject(ctx, h, revived || held); err != nil {
		if errors.Is(err, segmentstore.ErrKept) {
			return false, err
		}
		if !errors.Is(err, segmentstore.ErrHeld) { // a backup is running
			p.log.Warn("a merged segment could not be deleted from the segment store; trying again later", "segment", h.id.String(), "error", err)
		}
		return false, nil
	}
	b := p.store.NewBatch()
	if err := b.Delete(h.doomedRow); err != nil {
		return true, err
	}
	return true, b.Commit()
}

// deleteCopies deletes what else has the text of a segment that will be deleted: copies of its
// owners and, if it is time, the snapshots that name it. Snapshots are not deleted sooner
// because every removed branch would delete all of them.
func (p *Places) deleteCopies(ctx context.Context, h *handle, removedAt time.Time) error {
	if p.beforePurge != nil {
		if err := p.beforePurge(ctx, h.id); err != nil {
			return err
		}
	}
	if p.dropSnapshots == nil || time.Since(removedAt) < p.purgeAfter/2 && !p.isErased(h.partition, removedAt) {
		return nil
	}
	return p.dropSnapshots(ctx, h.id)
}

// isErased reports whether an erasure covers the text of a removal.
func (p *Places) isErased(partition int32, removedAt time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, e := range p.mu.erasures {
		if at.Partition == partition && !removedAt.After(e.RequestedAt) {
			return true
		}
	}
	return false
}

// deleteObject deletes the object of a segment, unless it must stay. If it stays, forever or
// because a snapshot names it, the merge that dropped the segment is marked first, because
// objects that were dropped later are deleted now; see wasApplied.
func (p *Places) deleteObject(ctx context.Context, h *handle, stays bool) error {
	kept, mark := error(nil), segmentstore.MergeName(doomedBy(h.doomedRow))
	if !stays {
		kept = p.objects.Delete(ctx, segmentstore.SegmentName(h.id))
		if kept == nil && (h.marked || h.inherited) {
			return p.objects.Delete(ctx, mark) // the missing object is the proof now
		}
		if !errors.Is(kept, segmentstore.ErrKept) {
			return kept
		}
	}
	if !h.marked {
		if err := p.objects.PutBytes(ctx, mark, []byte("applied\n")); err != nil {
			return err
		}
		h.marked = true
	}
	return kept
}
