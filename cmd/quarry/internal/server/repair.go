package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Bounds of the repair: how often it looks, and how many refs it asks for at once.
const (
	repairEvery = 10 * time.Second
	maxRepairs  = 64
)

// A repairer asks for refs to be told in full that could not be taken over,
// because what their last event builds on is not there, and for refs with files
// whose text no segment has (unheld.go). It asks once for each cause; the answer
// removes it.
type repairer struct {
	log    eventlog.Log
	broken func(limit int) ([]*places.BrokenError, error)
	logger *slog.Logger
	asked  map[event.Position]bool
	unheld unheldSearch
}

// newRepairer returns what repairs p, which follows the log: caughtUp is closed
// once it has come to its end.
func newRepairer(log eventlog.Log, p *places.Places, caughtUp <-chan struct{}, logger *slog.Logger) *repairer {
	r := &repairer{log: log, logger: logger, asked: map[event.Position]bool{}, broken: func(limit int) ([]*places.BrokenError, error) {
		v := p.Acquire()
		defer v.Release()
		return v.Broken(limit)
	}}
	r.unheld = unheldSearch{caughtUp: caughtUp, acquire: p.Acquire, asked: map[unheldRef]bool{}}
	return r
}

// Run looks for broken refs until ctx ends.
func (r *repairer) Run(ctx context.Context) error {
	return every(ctx, repairEvery, r.look)
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
	r.lookUnheld(ctx)
}

// lookUnheld asks for what no segment has now.
func (r *repairer) lookUnheld(ctx context.Context) {
	refs, err := r.unheld.next(ctx)
	if err != nil && ctx.Err() == nil {
		r.logger.Error("files without a segment could not be listed; looking again later", "error", err)
	}
	for _, ref := range refs {
		if err := r.append(ctx, ref.repository, ref.ref, ref.eventID(), ref.indexedAt); err != nil {
			r.logger.Error("a ref with files whose text no segment has could not be asked for; trying again later",
				"repository", ref.repository, "ref", string(ref.ref), "error", err)
			continue
		}
		r.unheld.told(ref)
		r.logger.Warn("a ref is told again in full: it has files whose text no segment has", "repository", ref.repository,
			"ref", string(ref.ref), "commit", string(ref.commit))
	}
}

// append asks for one ref to be told in full.
func (r *repairer) append(ctx context.Context, id code.RepositoryID, ref code.Ref, eventID string, at time.Time) error {
	ev := &event.Push{Repository: id, Ref: ref, Action: event.ActionRefresh, ReceivedAt: at}
	rec, err := event.Encode(event.Envelope{ID: eventID, Source: "/quarry/repair", Time: at}, ev)
	if err == nil {
		_, err = r.log.Append(ctx, event.TopicEvents, eventlog.AnyPartition, rec)
	}
	return err
}

// ask appends the request for one ref and reports whether the log has it.
func (r *repairer) ask(ctx context.Context, b *places.BrokenError) bool {
	if err := r.append(ctx, b.Repository, b.Ref, event.DerivedID(b.Position, "repair"), b.IndexedAt); err != nil {
		r.logger.Error("a broken ref could not be asked for; trying again later", "repository", b.Repository, "ref", string(b.Ref), "error", err)
		return false
	}
	r.logger.Warn("a ref is told again in full: what its last event builds on is not there", "repository", b.Repository,
		"ref", string(b.Ref), "offset", b.Position.Offset, "partition", b.Position.Partition)
	return true
}
