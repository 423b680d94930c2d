package server

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/indexer"
	"github.com/quarrysearch/quarry/pipeline/worker"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Back pressure: workers start nothing while the projections are too far behind the
// log, and webhooks get 503 while the workers are too far behind. The backlog is
// therefore always in the log, on disk, and never in memory.

// projected says how far the projections are behind the log.
type projectionLag struct {
	log eventlog.Log
	// checkpoints are those of this process; nil if it has no projections. Then it
	// counts what another process has noted.
	checkpoints func() []projections.Checkpoint
}

var _ worker.Pressure = (*projectionLag)(nil)

// Behind implements worker.Pressure. Without a noted position it returns 0: there
// is no projection to wait for.
func (p *projectionLag) Behind(ctx context.Context) (int64, error) {
	next, err := p.appliedOffsets(ctx)
	if err != nil {
		return 0, fmt.Errorf("how far the projections are: %w", err)
	}
	var sum event.Offset
	for _, offset := range next {
		sum += offset
	}
	if sum == 0 {
		return 0, nil
	}
	return countWaiting(ctx, p.log, next)
}

func (p *projectionLag) appliedOffsets(ctx context.Context) ([]event.Offset, error) {
	if p.checkpoints != nil {
		return offsetsOf(p.checkpoints()), nil
	}
	return p.log.Committed(ctx, projectionsGroup, event.TopicEvents)
}

// countWaiting returns the number of records of the log at or after the given offsets.
func countWaiting(ctx context.Context, log eventlog.Log, next []event.Offset) (int64, error) {
	high, err := log.HighWater(ctx, event.TopicEvents)
	if err != nil {
		return 0, fmt.Errorf("how far the log is: %w", err)
	}
	var sum int64
	for i, offset := range next {
		if i < len(high) {
			sum += max(0, int64(high[i]-offset))
		}
	}
	return sum, nil
}

// pollBacklog is how often the length of the backlog is read.
const pollBacklog = time.Second

// backlog keeps how many records wait for the workers, and says when that is too
// many for more.
type backlog struct {
	log    eventlog.Log
	max    int64
	logger *slog.Logger
	gauge  prometheus.Gauge
	over   atomic.Bool
}

func newBacklog(log eventlog.Log, bound int64, logger *slog.Logger, reg prometheus.Registerer) *backlog {
	return &backlog{log: log, max: bound, logger: logger, gauge: promauto.With(reg).NewGauge(prometheus.GaugeOpts{
		Name: "quarry_server_backlog_records",
		Help: "Records in the log that the workers have not handled. Above ingest.maxBacklog webhooks get 503.",
	})}
}

// Run polls until ctx ends.
func (b *backlog) Run(ctx context.Context) error {
	b.updateBacklog(ctx)
	return runEvery(ctx, pollBacklog, b.updateBacklog)
}

// updateBacklog takes in how much waits. A log that does not answer changes nothing: it
// takes no events either.
func (b *backlog) updateBacklog(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*pollBacklog)
	defer cancel()
	committed, err := b.log.Committed(ctx, workerGroup, event.TopicEvents)
	if err != nil {
		return
	}
	records, err := countWaiting(ctx, b.log, committed)
	if err != nil {
		return
	}
	b.gauge.Set(float64(records))
	switch over := records > b.max; {
	case over && !b.over.Swap(true):
		b.logger.Warn("backlog is full, rejecting webhooks with 503", "records", records)
	case !over && b.over.Swap(false):
		b.logger.Info("backlog has room, accepting webhooks", "records", records)
	}
}

// isFull implements webhook.Options.Full.
func (b *backlog) isFull() bool { return b.over.Load() }

// spaceGate lets nothing be indexed while a disk that it writes to is almost full.
// Removals go on: they free space.
type spaceGate struct {
	worker.Handler
	disks *diskGuard
}

// Handle implements worker.Handler.
func (g spaceGate) Handle(ctx context.Context, records []event.Record) (int, error) {
	if !indexer.IsRemoval(records[0]) {
		if err := g.disks.checkSpace(directoryData, directorySegments, directoryProjections, directoryMirrors); err != nil {
			return 1, fmt.Errorf("%w: %w", worker.ErrUnavailable, err)
		}
	}
	return g.Handler.Handle(ctx, records)
}

// checkWritable implements api.Options.Writable.
func (s *Server) checkWritable() error { return s.disks.checkSpace(directoryData, directoryLog) }

// checkRemovable implements api.Options.Removable: removals free space, and are accepted
// until half of storage.minFreeBytes is left. The log accepts them as long.
func (s *Server) checkRemovable() error { return s.disks.checkHalfSpace(directoryData, directoryLog) }
