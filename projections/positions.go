package projections

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/schemas/event"
)

// Group is the group under which the projections note how far they
// are. With several processes of the role query it is the position of the one
// that noted last.
const Group = "quarry-projections"

const (
	// NoteInterval is how old a position may be that other processes see, and also
	// how long one attempt to note it may take.
	NoteInterval = time.Second
	// noteAgainAfter is when a position is noted that has not changed: brokers
	// forget one after some days.
	noteAgainAfter = time.Hour
)

// Noter is a log as a PositionNoter writes to it.
type Noter interface {
	// Note stores how far a group without members is in each partition.
	Note(ctx context.Context, group string, topic event.Topic, offsets []event.Offset) error
}

// PositionNoter notes in the log how far the projections are: other processes show
// it as lag and hold back for it. The projections themselves do not read it.
type PositionNoter struct {
	log         Noter
	checkpoints func() []Checkpoint
	logger      *slog.Logger
	noteMetrics

	noted   []event.Offset
	notedAt time.Time
	failing bool
}

// NewPositionNoter returns a noter; checkpoints returns nil until there are some.
func NewPositionNoter(log Noter, checkpoints func() []Checkpoint, logger *slog.Logger, reg prometheus.Registerer) *PositionNoter {
	return &PositionNoter{log: log, checkpoints: checkpoints, logger: logger, noteMetrics: newNoteMetrics(reg)}
}

// Run notes positions until ctx ends.
func (p *PositionNoter) Run(ctx context.Context) error {
	tick := time.NewTicker(NoteInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.notePosition(ctx)
		case <-ctx.Done():
			return nil
		}
	}
}

// notePosition notes the position if others do not know it yet. A failure is left to the
// next call.
func (p *PositionNoter) notePosition(ctx context.Context) {
	offsets := NextOffsets(p.checkpoints())
	if len(offsets) == 0 || slices.Equal(offsets, p.noted) && time.Since(p.notedAt) < noteAgainAfter {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, NoteInterval)
	defer cancel()
	err := p.log.Note(ctx, Group, event.TopicEvents, offsets)
	switch {
	case err != nil:
		p.recordFailure(err)
	case p.failing:
		p.failing = false
		p.logger.Info("noting the position of the projections works again")
		fallthrough
	default:
		p.noted, p.notedAt = offsets, time.Now()
	}
}

// recordFailure says so once until it succeeds again.
func (p *PositionNoter) recordFailure(err error) {
	p.failures.Inc()
	if !p.failing {
		p.logger.Warn("the position of the projections could not be noted; trying again every second", "group", Group, "error", err)
	}
	p.failing = true
}

// NextOffsets returns the next offset of each partition; nil if one is not there yet.
func NextOffsets(checkpoints []Checkpoint) []event.Offset {
	offsets := make([]event.Offset, len(checkpoints))
	for _, c := range checkpoints {
		if int(c.Partition) >= len(offsets) {
			return nil // not all of them are there yet
		}
		offsets[c.Partition] = c.Next
	}
	return offsets
}
