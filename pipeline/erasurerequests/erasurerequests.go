package erasurerequests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/erasure"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// Options are the options of New. All are required.
type Options struct {
	Versions *versions.Versions
	// Append appends an event and returns once it is durable.
	Append func(ctx context.Context, ev event.Event) (event.Position, error)
	// Rewrites reports whether segments are rewritten in this process.
	Rewrites func() bool
	// Mirrors returns the mirrors of this process, or nil if it has none.
	Mirrors func() *mirror.Mirrors
	// PresentError converts an error of a mirror to one for callers.
	PresentError func(error) error
}

// Erasures requests and lists erasures.
type Erasures struct{ o Options }

// New returns an Erasures that requests and lists erasures.
func New(o Options) *Erasures { return &Erasures{o} }

// Erase requests an erasure, unless a branch leads to the text.
func (x *Erasures) Erase(ctx context.Context, r erasure.Request) (erasure.Erasure, error) {
	if err := x.checkErasable(ctx, r); err != nil {
		return erasure.Erasure{}, err
	}
	shared, err := x.countShared(r)
	if err != nil {
		return erasure.Erasure{}, err
	}
	var ev event.Event = &event.RepositoryRemoved{Repository: r.Repository, Reason: "erased by the API", Erase: true, At: time.Now().UTC()}
	if !r.IsRepository() {
		ev = &event.ErasureRequested{Repository: r.Repository, Commit: r.Commit, Path: r.Path, At: time.Now().UTC()}
	}
	at, err := x.o.Append(ctx, ev)
	if err != nil {
		return erasure.Erasure{}, err
	}
	return erasure.Erasure{
		At: at, Repository: r.Repository, Commit: r.Commit, Path: r.Path, State: erasure.Working, WaitsFor: erasure.WaitForWorkers,
		SharedFiles: shared, RequestedAt: time.Now().UTC(),
	}, nil
}

// checkErasable returns an error if the current state allows no erasure.
func (x *Erasures) checkErasable(ctx context.Context, r erasure.Request) error {
	mirrors := x.o.Mirrors()
	switch asOf := x.o.Versions.AsOf(); {
	case asOf != "":
		return fmt.Errorf("%w: the index shows %s, and nothing is deleted meanwhile; return to the present first: quarry replay --rollback",
			failure.ErrConflict, asOf)
	case !x.o.Rewrites():
		return fmt.Errorf("%w: segments are not rewritten, because pipeline.mergeInterval is 0; set it, restart the server, and erase again",
			failure.ErrConflict)
	case r.IsRepository() || mirrors == nil:
		return nil
	}
	m := mirrors.Mirror(r.Repository)
	if r.Path != "" {
		commit, err := m.ReachesPath(ctx, r.Path)
		if err == nil && commit != "" {
			err = fmt.Errorf("%w: a branch or tag leads to commit %s, which has the path; rewrite the history at the code host "+
				"(git filter-repo --invert-paths), wait until it is indexed or refresh the repository, and erase the path again", failure.ErrConflict, commit)
		}
		return x.o.PresentError(err)
	}
	has, err := m.HasCommit(ctx, r.Commit)
	if err != nil || !has {
		return x.o.PresentError(err)
	}
	reach, err := m.Reach(ctx, r.Commit)
	if err == nil && reach != mirror.ReachNone {
		err = fmt.Errorf("%w: a branch or tag leads to commit %s; rewrite or delete it at the code host, "+
			"wait until the push is indexed or refresh the repository, and erase the commit again", failure.ErrConflict, r.Commit)
	}
	return err
}

// countShared returns how many documents of the repository other repositories also
// contain.
func (x *Erasures) countShared(r erasure.Request) (int, error) {
	if !r.IsRepository() {
		return 0, nil
	}
	i := x.o.Versions.Acquire()
	defer i.Release()
	v := i.Places.Acquire()
	defer v.Release()
	n, err := v.SharedDocuments(r.Repository)
	if errors.Is(err, code.ErrNotFound) {
		return 0, nil // not indexed yet
	}
	return n, err
}

// List returns the erasures, newest first.
func (x *Erasures) List(context.Context) ([]erasure.Erasure, error) {
	i := x.o.Versions.Acquire()
	defer i.Release()
	list := i.Places.Erasures()
	for n := range list {
		e := &list[n]
		switch {
		case e.EndedAt.IsZero():
			e.State = erasure.Working
			if i.Eraser != nil {
				e.WaitsFor = i.Eraser.WaitReason(e.At)
			}
		case e.Error != "":
			e.State, e.Proof = erasure.Failed, nil
		default:
			e.State = erasure.Done
		}
	}
	slices.Reverse(list) // newest first
	return list, nil
}
