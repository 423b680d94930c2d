package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Bounds of the repair: how often it looks, and how many refs it asks for at once.
const (
	repairEvery = 10 * time.Second
	maxRepairs  = 64
)

// A repairer asks for refs to be told in full that could not be taken over,
// because what their last event builds on is not there. It asks once for each
// such event; the answer removes the cause.
type repairer struct {
	log    eventlog.Log
	broken func(limit int) ([]*places.BrokenError, error)
	logger *slog.Logger
	asked  map[event.Position]bool
}

func newRepairer(log eventlog.Log, p *places.Places, logger *slog.Logger) *repairer {
	return &repairer{log: log, logger: logger, asked: map[event.Position]bool{}, broken: func(limit int) ([]*places.BrokenError, error) {
		v := p.Acquire()
		defer v.Release()
		return v.Broken(limit)
	}}
}

// Run looks for broken refs until ctx ends.
func (r *repairer) Run(ctx context.Context) error {
	ticker := time.NewTicker(repairEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			r.look(ctx)
		}
	}
}

// look asks for what is broken now. A failure is logged and left to the next look.
func (r *repairer) look(ctx context.Context) {
	broken, err := r.broken(maxRepairs)
	if err != nil {
		r.logger.Error("broken refs could not be listed; looking again later", "error", err)
		return
	}
	still := map[event.Position]bool{}
	for _, b := range broken {
		still[b.Position] = r.asked[b.Position] || r.ask(ctx, b)
	}
	r.asked = still
}

// ask appends the request for one ref and reports whether the log has it.
func (r *repairer) ask(ctx context.Context, b *places.BrokenError) bool {
	ev := &event.Push{Repository: b.Repository, Ref: b.Ref, Action: event.ActionRefresh, ReceivedAt: b.IndexedAt}
	env := event.Envelope{ID: event.DerivedID(b.Position, "repair"), Source: "/quarry/repair", Time: b.IndexedAt}
	rec, err := event.Encode(env, ev)
	if err == nil {
		_, err = r.log.Append(ctx, event.TopicEvents, eventlog.AnyPartition, rec)
	}
	if err != nil {
		r.logger.Error("a broken ref could not be asked for; trying again later", "repository", b.Repository, "ref", string(b.Ref), "error", err)
		return false
	}
	r.logger.Warn("a ref is told again in full: what its last event builds on is not there", "repository", b.Repository,
		"ref", string(b.Ref), "offset", b.Position.Offset, "partition", b.Position.Partition)
	return true
}
