package erasurerequests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
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
	// FindReaching returns a commit that a ref leads to and that keeps a commit or a path from being
	// erased; empty if there is none, or if no mirror can be asked: workers refuse it later then.
	FindReaching func(ctx context.Context, id code.RepositoryID, commit code.CommitID, path string) (code.CommitID, error)
	// CountShared is that of another process, in one without rows. Default: that of this one.
	CountShared func(ctx context.Context, id code.RepositoryID) (int, error)
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
	count := x.o.CountShared
	if count == nil {
		count = x.CountShared
	}
	shared := 0
	var err error
	if r.IsRepository() {
		shared, err = count(ctx, r.Repository)
	}
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
	switch asOf := x.o.Versions.AsOf(); {
	case asOf != "":
		return fmt.Errorf("%w: the index shows %s, and nothing is deleted meanwhile; return to the present first: quarry replay --rollback",
			failure.ErrConflict, asOf)
	case !x.o.Rewrites():
		return fmt.Errorf("%w: segments are not rewritten, because pipeline.mergeInterval is 0; set it, restart the server, and erase again",
			failure.ErrConflict)
	case r.IsRepository():
		return nil
	}
	commit, err := x.o.FindReaching(ctx, r.Repository, r.Commit, r.Path)
	switch {
	case err != nil || commit == "":
		return err
	case r.Path != "":
		return fmt.Errorf("%w: a branch or tag leads to commit %s, which has the path; rewrite the history at the code host "+
			"(git filter-repo --invert-paths), wait until it is indexed or refresh the repository, and erase the path again", failure.ErrConflict, commit)
	}
	return fmt.Errorf("%w: a branch or tag leads to commit %s; rewrite or delete it at the code host, "+
		"wait until the push is indexed or refresh the repository, and erase the commit again", failure.ErrConflict, commit)
}

// CountShared returns how many documents of a repository other repositories also contain.
func (x *Erasures) CountShared(_ context.Context, id code.RepositoryID) (int, error) {
	i := x.o.Versions.Acquire()
	defer i.Release()
	v := i.Places.Acquire()
	defer v.Release()
	n, err := v.SharedDocuments(id)
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

// ListNamed returns the segments that the live version names, of its partitions.
func (x *Erasures) ListNamed(context.Context) (names []segment.ID, err error) {
	i := x.o.Versions.Acquire()
	defer i.Release()
	named, err := i.Places.NamedSegments()
	for id := range named {
		names = append(names, id)
	}
	return names, err
}
