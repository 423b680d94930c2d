package server

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/schemas/event"
)

// projectionsGroup is the group under which the projections note how far they
// are. With several processes of the role query it is the position of the one
// that noted last.
const projectionsGroup = "quarry-projections"

const (
	// noteEvery is how old a position may be that other processes see, and also
	// how long one attempt to note it may take.
	noteEvery = time.Second
	// noteAgainAfter is when a position is noted that has not changed: brokers
	// forget one after some days.
	noteAgainAfter = time.Hour
)

// positions notes in the log how far the projections are: other processes show
// it as lag and hold back for it. The projections themselves do not read it.
type positionNoter struct {
	log         eventlog.Log
	checkpoints func() []projections.Checkpoint // nil until there are some
	logger      *slog.Logger
	failures    prometheus.Counter

	noted   []event.Offset
	notedAt time.Time
	failing bool
}

func newPositionNoter(log eventlog.Log, checkpoints func() []projections.Checkpoint, logger *slog.Logger, reg prometheus.Registerer) *positionNoter {
	return &positionNoter{
		log: log, checkpoints: checkpoints, logger: logger,
		failures: promauto.With(reg).NewCounter(prometheus.CounterOpts{
			Name: "quarry_server_position_failures_total",
			Help: "Attempts to note in the log how far the projections are that failed. Other processes then see an old position.",
		}),
	}
}

// Run notes positions until ctx ends.
func (p *positionNoter) Run(ctx context.Context) error {
	return runEvery(ctx, noteEvery, p.notePosition)
}

// notePosition notes the position if others do not know it yet. A failure is left to the
// next call.
func (p *positionNoter) notePosition(ctx context.Context) {
	offsets := offsetsOf(p.checkpoints())
	if len(offsets) == 0 || slices.Equal(offsets, p.noted) && time.Since(p.notedAt) < noteAgainAfter {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, noteEvery)
	defer cancel()
	err := p.log.Note(ctx, projectionsGroup, event.TopicEvents, offsets)
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
func (p *positionNoter) recordFailure(err error) {
	p.failures.Inc()
	if !p.failing {
		p.logger.Warn("the position of the projections could not be noted; trying again every second", "group", projectionsGroup, "error", err)
	}
	p.failing = true
}

// offsetsOf returns the offsets by partition.
func offsetsOf(checkpoints []projections.Checkpoint) []event.Offset {
	offsets := make([]event.Offset, len(checkpoints))
	for _, c := range checkpoints {
		if int(c.Partition) >= len(offsets) {
			return nil // not all of them are there yet
		}
		offsets[c.Partition] = c.Next
	}
	return offsets
}
