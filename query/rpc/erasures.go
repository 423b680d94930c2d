package rpc

import (
	"context"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/erasure"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Erasures are those of a shard.
type Erasures interface {
	// List returns the erasures of the partitions of the shard, newest first.
	List(ctx context.Context) ([]erasure.Erasure, error)
	// CountShared returns how many documents of a repository other repositories also contain.
	CountShared(ctx context.Context, id code.RepositoryID) (int, error)
	// ListNamed returns the segments that the shard names.
	ListNamed(ctx context.Context) ([]segment.ID, error)
}

// shownErasure is an erasure with what its row does not have.
type shownErasure struct {
	erasure.Erasure
	At       event.Position
	State    erasure.State
	WaitsFor erasure.Wait
}

func encodeErasures(list []erasure.Erasure) []shownErasure {
	out := make([]shownErasure, len(list))
	for i, e := range list {
		out[i] = shownErasure{e, e.At, e.State, e.WaitsFor}
	}
	return out
}

// Erasures returns the erasures of the shard. Errors are those of CreateSnapshot.
func (p *Peer) Erasures() Erasures { return remoteErasures{p} }

type remoteErasures struct{ p *Peer }

// List implements Erasures.
func (r remoteErasures) List(ctx context.Context) ([]erasure.Erasure, error) {
	var shown []shownErasure
	err := r.p.callOperation(ctx, operationListErasures, nil, &shown)
	list := make([]erasure.Erasure, len(shown))
	for i, s := range shown {
		list[i] = s.Erasure
		list[i].At, list[i].State, list[i].WaitsFor = s.At, s.State, s.WaitsFor
	}
	return list, err
}

// CountShared implements Erasures.
func (r remoteErasures) CountShared(ctx context.Context, id code.RepositoryID) (n int, err error) {
	return n, r.p.callOperation(ctx, operationCountShared, id, &n)
}

// ListNamed implements Erasures.
func (r remoteErasures) ListNamed(ctx context.Context) (names []segment.ID, err error) {
	return names, r.p.callOperation(ctx, operationListNamed, nil, &names)
}
