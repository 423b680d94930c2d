package repair

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/store"
)

// These are the bounds of a Restorer: how many segments it remembers, after which time it
// retries a segment that could not be restored because a store did not answer, and how long at
// most a segment that is damaged again waits.
const (
	maxDamagedSegments = 4096
	healRetry          = 10 * time.Second
	maxHealWait        = time.Hour
)

// A Restorer restores unreadable segments of a version, from the segment store or,
// through the Reindexer, from git. Searches skip the segments until then.
type Restorer struct {
	logger  *slog.Logger
	metrics *Metrics
	// wake has room for one signal.
	wake chan struct{}
	mu   struct {
		sync.Mutex
		damaged map[segment.ID]*damage
	}
}

// damage is a segment that is to be restored, or was a short time ago.
type damage struct {
	lost bool // it is to be restored
	// wait is the time after the last restoration until which it is not restored again. It
	// doubles each time: what a restoration does not heal, none does, and each one reads the
	// whole object and delays the records of the partition.
	wait time.Duration
	due  time.Time
}

// NewRestorer returns a Restorer. Run restores the segments that were passed to
// NoteDamage.
func NewRestorer(logger *slog.Logger, m *Metrics) *Restorer {
	h := &Restorer{logger: logger, metrics: m, wake: make(chan struct{}, 1)}
	h.mu.damaged = map[segment.ID]*damage{}
	return h
}

// NoteDamage records that a segment cannot be read, which a file, a missing key or its
// content shows. A segment that was restored is restored again after healRetry, and later after
// twice the time, up to maxHealWait. NoteDamage does not block, because the caller may be in the
// middle of a read.
func (h *Restorer) NoteDamage(id segment.ID, err error) {
	h.mu.Lock()
	d := h.mu.damaged[id]
	fresh := true
	switch {
	case d == nil && len(h.mu.damaged) < maxDamagedSegments:
		h.mu.damaged[id] = &damage{lost: true}
	case d != nil && !d.lost && !time.Now().Before(d.due):
		d.lost = true
	default: // it is known, or has to wait until others are restored
		fresh = false
	}
	h.mu.Unlock()
	if !fresh {
		return
	}
	h.logger.Error("segment cannot be read; searches skip it until it is restored", "segment", id.String(), "error", err)
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Owner holds the segments of a version, and the runner that applies the log to it.
type Owner struct {
	Places *places.Places
	Runner *projections.Runner // nil in a version of the past, which never changes
}

// Run restores segments of a version until ctx ends.
func (h *Restorer) Run(ctx context.Context, i Owner) error {
	retry := time.NewTicker(healRetry)
	defer retry.Stop()
	for {
		select {
		case <-h.wake:
		case <-retry.C:
			h.forgetRestored()
		case <-ctx.Done():
			return nil
		}
		for _, id := range h.damagedSegments() {
			if err := h.restoreSegment(ctx, i, id); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				h.logger.Error("segment could not be restored; retrying later", "segment", id.String(), "error", err)
				continue
			}
			h.mu.Lock()
			d := h.mu.damaged[id]
			d.lost, d.wait = false, min(max(2*d.wait, healRetry), maxHealWait)
			d.due = time.Now().Add(d.wait)
			h.mu.Unlock()
		}
	}
}

func (h *Restorer) damagedSegments() []segment.ID {
	h.mu.Lock()
	defer h.mu.Unlock()
	ids := make([]segment.ID, 0, len(h.mu.damaged))
	for id, d := range h.mu.damaged {
		if d.lost {
			ids = append(ids, id)
		}
	}
	return ids
}

// forgetRestored forgets segments that could be read for as long as they had to wait.
func (h *Restorer) forgetRestored() {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(h.mu.damaged, func(_ segment.ID, d *damage) bool { return !d.lost && now.After(d.due.Add(d.wait)) })
}

func (h *Restorer) restoreSegment(ctx context.Context, i Owner, id segment.ID) error {
	if i.Runner == nil {
		h.logger.Warn("segment of a past version is not restored; quarry replay --rollback returns to the present", "segment", id.String())
		return nil
	}
	v := i.Places.Acquire()
	partition, live := v.PartitionOf(id)
	v.Release()
	if !live {
		return nil // merged or already removed
	}
	held := false
	err := i.Runner.Do(ctx, partition, func(b *store.Batch) (err error) {
		held, err = i.Places.Restore(ctx, b, partition, id)
		return err
	})
	if err != nil {
		return err
	}
	if held {
		h.metrics.restored.WithLabelValues(restoredFromObject).Inc()
		h.logger.Info("segment restored from the segment store", "segment", id.String())
	} else {
		h.metrics.restored.WithLabelValues(restoredFromGit).Inc()
		h.logger.Error("segment lost; its files are missing until their refs are re-indexed", "segment", id.String(), "partition", partition)
	}
	return nil
}
