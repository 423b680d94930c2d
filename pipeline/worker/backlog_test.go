package worker

import (
	"context"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// noted is a log with fixed high-water marks and committed offsets.
type noted struct {
	eventlog.Log
	groups map[string][]event.Offset
	high   []event.Offset
	err    error
}

func (n *noted) Committed(_ context.Context, group string, _ event.Topic) ([]event.Offset, error) {
	return n.groups[group], n.err
}

func (n *noted) HighWater(context.Context, event.Topic) ([]event.Offset, error) { return n.high, n.err }

// TestHowFarBehindIsSummed adds up the lag of the partitions, and expects no wait if no
// position was noted.
func TestHowFarBehindIsSummed(t *testing.T) {
	log := &noted{high: []event.Offset{10, 20}, groups: map[string][]event.Offset{}}
	over := NewBacklog(log, 15, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	const noteGroup = "projections"
	lag := &ProjectionLag{Log: log, Applied: func(ctx context.Context) ([]event.Offset, error) {
		return log.Committed(ctx, noteGroup, event.TopicEvents)
	}}
	for _, c := range []struct {
		projections, workers []event.Offset
		behind               int64
		full                 bool
	}{
		{[]event.Offset{0, 0}, []event.Offset{0, 0}, 0, true},
		{[]event.Offset{0, 1}, []event.Offset{10, 5}, 29, false},
		{[]event.Offset{12, 5}, []event.Offset{10, 4}, 15, true}, // noted after the high-water marks were read
		{[]event.Offset{10, 20}, []event.Offset{10, 20}, 0, false},
	} {
		log.groups[noteGroup], log.groups[DefaultGroup] = c.projections, c.workers
		behind, err := lag.Behind(t.Context())
		over.updateBacklog(t.Context())
		if err != nil || behind != c.behind || over.IsFull() != c.full {
			t.Errorf("projections at %v, workers at %v: %d behind, full %t, %v; want %+v", c.projections, c.workers, behind, over.IsFull(), err, c)
		}
	}
	log.err = eventlog.ErrClosed
	if _, err := lag.Behind(t.Context()); err == nil {
		t.Error("a log that does not answer says nothing")
	}
}
