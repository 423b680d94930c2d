package worker

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/schemas/event"
)

// Backpressure: workers start no new batch while the projections lag too far behind the
// log, and webhooks get 503 while the workers lag too far behind. The backlog is
// therefore always in the log, on disk, and never in memory.

// GroupOffsets is the part of a log that backpressure reads.
type GroupOffsets interface {
	HighWater(ctx context.Context, topic event.Topic) ([]event.Offset, error)
	Committed(ctx context.Context, group string, topic event.Topic) ([]event.Offset, error)
}

// ProjectionLag reports how far the projections lag behind the log. It implements
// Pressure.
type ProjectionLag struct {
	Log GroupOffsets
	// Applied returns, for each partition, the offset below which the projections have
	// applied the records. The projections may run in this process, or another process
	// may have noted the offsets.
	Applied func(ctx context.Context) ([]event.Offset, error)
}

var _ Pressure = (*ProjectionLag)(nil)

// Behind implements Pressure. If no position is noted it returns 0, because there is no
// projection to wait for.
func (p *ProjectionLag) Behind(ctx context.Context) (int64, error) {
	next, err := p.Applied(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the positions of the projections: %w", err)
	}
	var sum event.Offset
	for _, offset := range next {
		sum += offset
	}
	if sum == 0 {
		return 0, nil
	}
	return countWaiting(ctx, p.Log, next)
}

// countWaiting returns the number of records of the log at or after the given offsets.
func countWaiting(ctx context.Context, log GroupOffsets, next []event.Offset) (int64, error) {
	high, err := log.HighWater(ctx, event.TopicEvents)
	if err != nil {
		return 0, fmt.Errorf("read the high-water mark of the log: %w", err)
	}
	var sum int64
	for i, offset := range next {
		if i < len(high) {
			sum += max(0, int64(high[i]-offset))
		}
	}
	return sum, nil
}

// pollBacklog is the interval at which the length of the backlog is read.
const pollBacklog = time.Second

// Backlog tracks how many records wait for the workers of DefaultGroup, and reports when
// there are too many to accept more.
type Backlog struct {
	log    GroupOffsets
	max    int64
	logger *slog.Logger
	over   atomic.Bool
	backlogMetrics
}

// NewBacklog returns a backlog that is full above max records.
func NewBacklog(log GroupOffsets, maxRecords int64, logger *slog.Logger, reg prometheus.Registerer) *Backlog {
	return &Backlog{log: log, max: maxRecords, logger: logger, backlogMetrics: newBacklogMetrics(reg)}
}

// Run polls until ctx ends.
func (b *Backlog) Run(ctx context.Context) error {
	b.updateBacklog(ctx)
	tick := time.NewTicker(pollBacklog)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			b.updateBacklog(ctx)
		case <-ctx.Done():
			return nil
		}
	}
}

// updateBacklog reads the number of waiting records. If the log does not answer, nothing
// changes: such a log accepts no events either.
func (b *Backlog) updateBacklog(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*pollBacklog)
	defer cancel()
	committed, err := b.log.Committed(ctx, DefaultGroup, event.TopicEvents)
	if err != nil {
		return
	}
	records, err := countWaiting(ctx, b.log, committed)
	if err != nil {
		return
	}
	b.records.Set(float64(records))
	switch over := records > b.max; {
	case over && !b.over.Swap(true):
		b.logger.Warn("backlog is full, rejecting webhooks with 503", "records", records)
	case !over && b.over.Swap(false):
		b.logger.Info("backlog has room, accepting webhooks", "records", records)
	}
}

// IsFull reports whether more records wait than the maximum.
func (b *Backlog) IsFull() bool { return b.over.Load() }
