package outcomes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/deadletters"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// Waits between two looks at a position that is not reached.
const (
	minPositionPause = 10 * time.Millisecond
	maxPositionPause = 250 * time.Millisecond
)

// Positions waits until searches see what events have changed.
type Positions struct {
	versions    *versions.Versions
	deadLetters *deadletters.Follower
}

// NewPositions returns the positions of the live version. All arguments are required.
func NewPositions(v *versions.Versions, f *deadletters.Follower) *Positions {
	return &Positions{versions: v, deadLetters: f}
}

// WaitFor waits until a search that begins later sees wanted. The live version may change meanwhile: to one that has
// caught up, so an event that is reached is not looked at again.
func (p *Positions) WaitFor(ctx context.Context, wanted event.LogPosition, sees func(*code.Repository) bool) ([]event.Offset, error) {
	for pause := minPositionPause; ; pause = min(2*pause, maxPositionPause) {
		reached, err := p.isReached(ctx, &wanted, sees)
		if reached || err != nil {
			return nil, err
		}
		if err := clock.Sleep(ctx, pause); err != nil {
			return nil, fmt.Errorf("wait for a position: %w", err)
		}
	}
}

// isReached reports whether readers see wanted, and removes the events that are reached from
// it.
func (p *Positions) isReached(ctx context.Context, wanted *event.LogPosition, sees func(*code.Repository) bool) (bool, error) {
	i := p.versions.Acquire()
	defer i.Release()
	next := projections.NextOffsets(i.Runner.Checkpoints())
	if len(next) == 0 {
		return false, nil // the projections have just been opened
	}
	if len(wanted.Next) > len(next) {
		return false, fmt.Errorf("%w: the log has %d partitions", failure.ErrPosition, len(next))
	}
	for partition, offset := range wanted.Next {
		if next[partition] < offset {
			return false, nil
		}
	}
	for ; len(wanted.Events) > 0; wanted.Events = wanted.Events[1:] {
		at := wanted.Events[0]
		if int(at.Partition) >= len(next) {
			return false, fmt.Errorf("%w: %s: the log has %d partitions", failure.ErrPosition, at, len(next))
		}
		if reached, err := p.hasEffect(ctx, i, at, next[at.Partition], sees); !reached || err != nil {
			return false, err
		}
	}
	return true, nil
}

// hasEffect reports whether an event has its full effect for readers who see the records
// below next. The rows answer it for a push, so that the pushes of other repositories do not
// delay it; for other events, the offsets of the workers in the log do.
func (p *Positions) hasEffect(ctx context.Context, i *versions.Version, at event.Position, next event.Offset, sees func(*code.Repository) bool) (bool, error) {
	if next <= at.Offset {
		return false, nil
	}
	repository, answered, err := i.Ledger.Answer(at)
	switch {
	case errors.Is(err, code.ErrNotFound):
		if sees != nil {
			return false, nil // it may be an event of a hidden repository
		}
		applied, err := i.Fence.AppliedOffset(ctx, at.Partition)
		return err == nil && applied > at.Offset, nil // without an answer of the log, it is not known
	case err != nil:
		return false, err
	}
	if known, ok := i.Catalog.Snapshot().ByID(repository); sees != nil && (!ok || !sees(&known.Repository)) {
		return false, nil
	}
	if answered == nil {
		return p.deadLetters.OfPush(at) != nil, nil
	}
	return next > answered.Offset, nil
}
