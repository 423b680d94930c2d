package shards

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/quarrysearch/quarry/query/rpc"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// Snapshots creates the snapshots of a shard.
type Snapshots interface {
	// Create begins to create a snapshot. The error wraps failure.ErrConflict if it does not.
	Create(ctx context.Context) error
	// State reports whether one is being created, and why the last one failed.
	State() (creating bool, failed string)
}

// CreateSnapshots has a replica of each share begin to create a snapshot of its partitions. The
// error names the shares that create none; the others do. It wraps failure.ErrConflict, or
// failure.ErrUnavailable for shares without a replica. While a shard creates one, none begins: shares
// that begin while others refuse would refuse the next attempt in turn.
func (f *Front) CreateSnapshots(ctx context.Context) error {
	if creating, _ := f.ReadSnapshotState(ctx); creating {
		return fmt.Errorf("%w: a shard is creating a snapshot; try again when it is complete", failure.ErrConflict)
	}
	l := pickLayout(f.layouts, nil)
	failures := make([]error, len(l))
	var g sync.WaitGroup
	for i, s := range l {
		g.Go(func() { failures[i] = s.createSnapshot(ctx) })
	}
	g.Wait()
	return errors.Join(failures...)
}

// createSnapshot has the first replica that is reached create a snapshot, of those whose release
// can.
func (s *share) createSnapshot(ctx context.Context) error {
	var older error
	for _, p := range s.listReached() {
		switch err := p.CreateSnapshot(ctx); {
		case err == nil:
			return nil
		case errors.Is(err, rpc.ErrOlderRelease): // replicas are updated one after another
			older = err
		case errors.Is(err, rpc.ErrOperation):
			return fmt.Errorf("%w: share %s: %w", failure.ErrConflict, s.name, err)
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
	if older != nil {
		return fmt.Errorf("%w: share %s: %w", failure.ErrConflict, s.name, older)
	}
	return fmt.Errorf("%w: %w", failure.ErrUnavailable, s.lostError())
}

// ReadSnapshotState asks all replicas whether they are creating a snapshot. failed says why the last
// one of the first replica of each share failed, and names the shares without a replica. Failures of
// the others may be long over: CreateSnapshots asks the first, and only a success clears a failure.
func (f *Front) ReadSnapshotState(ctx context.Context) (creating bool, failed string) {
	l := pickLayout(f.layouts, nil)
	states, reached := make([][]*rpc.State, len(l)), make([][]*peer, len(l))
	var g sync.WaitGroup
	for i, s := range l {
		reached[i] = s.listReached()
		states[i] = make([]*rpc.State, len(reached[i]))
		for j, p := range reached[i] {
			g.Go(func() { states[i][j], _ = p.ReadState(ctx) }) // nil is lost
		}
	}
	g.Wait()
	var failures []string
	for i, s := range l {
		answered := false
		for j, state := range states[i] {
			if state == nil {
				continue
			}
			if !answered && state.SnapshotError != "" {
				failures = append(failures, fmt.Sprintf("share %s at %s: %s", s.name, reached[i][j].Address, state.SnapshotError))
			}
			answered = true
			creating = creating || state.Creating
		}
		if !answered {
			failures = append(failures, s.lostError().Error())
		}
	}
	return creating, strings.Join(failures, "; ")
}

// listReached returns the replicas that are reached, in the order of the settings.
func (s *share) listReached() (reached []*peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.replicas {
		if p.state != nil {
			reached = append(reached, p)
		}
	}
	return reached
}
