package projections

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/schemas/event"
)

// Coverage describes how much of the log the readers of the projections see.
type Coverage struct {
	// Next is the next offset of each partition: readers see the records below it. It is
	// nil before Run and Inherit.
	Next []event.Offset
	// Age is the time since the latest moment of which it is known that readers see
	// everything that the log held then. It grows while the log cannot be read, and while
	// the process is frozen. It is 0 in a version of the past, and NeverCovered if there
	// was no such moment.
	Age time.Duration
}

// NeverCovered is the Age of a Coverage whose projections have never reached an end of the
// log.
const NeverCovered time.Duration = math.MaxInt64

// maxEndReadings bounds the readings of the end of the log that a Runner remembers while it
// is behind. If there are more, it forgets every second one.
const maxEndReadings = 64

// endReading is what the log held at a moment.
type endReading struct {
	at   time.Time // just before the log was read
	ends []event.Offset
}

// readEnds reads the high-water marks of the log, and remembers when it did: once readers
// see everything below them, they see all that the log held at that moment.
func (r *Runner) readEnds(ctx context.Context) ([]event.Offset, error) {
	at := r.o.Now()
	ends, err := r.o.Log.HighWater(ctx, r.o.Topic)
	if err != nil {
		return nil, fmt.Errorf("read the end of the log: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.advanceCoveredLocked()
	if len(r.mu.readings) == maxEndReadings {
		for i := range maxEndReadings / 2 {
			r.mu.readings[i] = r.mu.readings[2*i]
		}
		r.mu.readings = r.mu.readings[:maxEndReadings/2]
	}
	r.mu.readings = append(r.mu.readings, endReading{at, ends})
	return ends, nil
}

// Coverage returns what a reader sees that begins to read after the call. It does not read
// the log, whose end Run reads every lagInterval.
func (r *Runner) Coverage() Coverage {
	now := r.o.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	c := Coverage{Next: append([]event.Offset(nil), r.mu.published...)}
	if r.o.Until != nil {
		return c
	}
	r.advanceCoveredLocked()
	c.Age = NeverCovered
	if !r.mu.coveredAt.IsZero() {
		// The monotonic clock does not advance while the machine is suspended, and the wall
		// clock may be set back.
		c.Age = max(0, now.Sub(r.mu.coveredAt), now.Round(0).Sub(r.mu.coveredAt.Round(0)))
	}
	return c
}

// Inherit takes over the coverage of the Runner that filled the store and has ended. Without it,
// there is none before Run, and readers of a new version would seem to be behind the log.
func (r *Runner) Inherit(filled *Runner) {
	filled.mu.Lock()
	filled.advanceCoveredLocked()
	published, coveredAt := slices.Clone(filled.mu.published), filled.mu.coveredAt
	filled.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.published, r.mu.coveredAt = published, coveredAt
}

// advanceCoveredLocked drops the readings of which readers see everything. r.mu must be
// held.
func (r *Runner) advanceCoveredLocked() {
	for len(r.mu.readings) > 0 && r.coversLocked(r.mu.readings[0].ends) {
		r.mu.coveredAt = r.mu.readings[0].at
		r.mu.readings = r.mu.readings[1:]
	}
}

// coversLocked reports whether readers see everything below ends. r.mu must be held.
func (r *Runner) coversLocked(ends []event.Offset) bool {
	if len(r.mu.published) != len(ends) {
		return false
	}
	for i, end := range ends {
		if r.mu.published[i] < end {
			return false
		}
	}
	return true
}
