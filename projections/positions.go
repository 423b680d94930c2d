package projections

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/schemas/event"
)

// Group is the consumer group under which the projections note their position. With
// several processes of the role query, it is the position of the process that noted last.
const Group = "quarry-projections"

const (
	// NoteInterval bounds the age of the position that other processes see, and the time
	// of one attempt to note it.
	NoteInterval = time.Second
	// noteAgainAfter is the interval at which an unchanged position is noted again,
	// because brokers forget positions after some days.
	noteAgainAfter = time.Hour
)

// Noter is the part of a log to which a PositionNoter writes.
type Noter interface {
	// Note stores the position of a group without members in each partition.
	Note(ctx context.Context, group string, topic event.Topic, offsets []event.Offset) error
}

// PositionNoter notes the position of the projections in the log: other processes show it
// as lag and throttle themselves by it. The projections themselves do not read it.
type PositionNoter struct {
	log         Noter
	checkpoints func() []Checkpoint
	logger      *slog.Logger
	noteMetrics

	noted   []event.Offset
	notedAt time.Time
	failing bool
}

// NewPositionNoter returns a noter. checkpoints returns nil until checkpoints exist.
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

// notePosition notes the position if it is new. After a failure, the next call tries
// again.
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
		p.logger.Info("recording the position of the projections works again")
		fallthrough
	default:
		p.noted, p.notedAt = offsets, time.Now()
	}
}

// recordFailure logs the first failure after a success.
func (p *PositionNoter) recordFailure(err error) {
	p.failures.Inc()
	if !p.failing {
		p.logger.Warn("position of the projections could not be recorded; retrying every second", "group", Group, "error", err)
	}
	p.failing = true
}

// NextOffsets returns the next offset of each partition, or nil if one is missing.
func NextOffsets(checkpoints []Checkpoint) []event.Offset {
	offsets := make([]event.Offset, len(checkpoints))
	for _, c := range checkpoints {
		if int(c.Partition) >= len(offsets) {
			return nil // a partition is missing
		}
		offsets[c.Partition] = c.Next
	}
	return offsets
}
