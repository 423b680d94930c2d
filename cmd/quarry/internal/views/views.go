package views

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Views gives queries the current view of the places.
type Views struct {
	// acquire returns the live version. The view releases it.
	acquire func() *versions.Version
	// hasNumber reports whether a repository has a number; repositories without one are
	// hidden.
	hasNumber func(code.RepositoryID) bool
	screen    *corpus.Screen
	// last is the state of the newest requested view. It is reused because views are
	// requested much more often than they change.
	last atomic.Pointer[viewState]
}

// New returns the views of the version that acquire returns. numbered reports whether a
// repository has a number.
func New(acquire func() *versions.Version, numbered func(code.RepositoryID) bool) *Views {
	return &Views{acquire: acquire, hasNumber: numbered, screen: corpus.NewScreen(corpus.ScreenOptions{})}
}

// viewState is the content of a places.View in the types of search. It refers to no
// snapshot, so it may outlive the view.
type viewState struct {
	index      *versions.Version
	generation uint64
	// catalog is the snapshot that the visibility of the repositories comes from: the
	// catalog alone applies every event that changes it. It is taken after the places and
	// published before them, so it is at least as new: no text is visible before an
	// earlier event has hidden it.
	catalog      *catalog.Snapshot
	segments     []corpus.Segment
	repositories []*corpus.Repository
	// known holds the places.Repository values from which the repositories were created.
	// Repositories that no push has changed are reused from the previous state.
	known []*places.Repository
	// numberless are the repositories without a number.
	numberless map[code.RepositoryID]bool
	// byID is built on demand, because only revisions other than the default branches
	// need it.
	byID func() map[code.RepositoryID]*corpus.Repository
}

// view adapts a places.View to corpus.View.
type view struct {
	*places.View
	*viewState
}

// Release implements corpus.View.
func (v view) Release() {
	v.View.Release()
	v.index.Release()
}

// AsOf returns the moment of the past that the view shows, or an empty string for the
// present.
func (v view) AsOf() string { return v.index.AsOf() }

// MissingDocuments returns the number of documents that refs name and no segment of the view
// holds, and of refs that do not show their last revision.
func (v view) MissingDocuments() int { return v.View.UnheldCount() + v.View.BrokenRefs() }

var _ corpus.View = view{}

// View returns the current view. The caller must release it.
func (v *Views) View(context.Context) (corpus.View, error) {
	i := v.acquire()
	acquired := i.Places.Acquire()
	snapshot := i.Catalog.Snapshot()
	current := v.last.Load()
	switch {
	case current == nil || current.index != i || current.generation != acquired.Generation() || current.gainedNumber(v.hasNumber) || current.changedVisibility(snapshot):
		current = newState(i, acquired, snapshot, current, v.hasNumber)
		v.last.Store(current)
	case current.catalog != snapshot:
		next := *current
		next.catalog = snapshot
		current = &next
		v.last.Store(current)
	}
	out := view{acquired, current}
	if len(current.numberless) == 0 {
		return out, nil
	}
	return v.screen.Hide(out, current, func(r *code.Repository) bool { return !current.numberless[r.ID] }), nil
}

// changedVisibility reports whether the visibility of a repository differs between the
// state and a snapshot.
func (s *viewState) changedVisibility(snapshot *catalog.Snapshot) bool {
	if s.catalog == snapshot {
		return false
	}
	return slices.ContainsFunc(snapshot.ChangedSince(s.catalog), func(r *catalog.Repository) bool {
		before, found := s.catalog.ByID(r.ID)
		return found && before.Private != r.Private
	})
}

// newState returns the state of a view. It costs a pointer for each repository, and more
// for each that changed since the state before, which may be nil.
func newState(of *versions.Version, v *places.View, snapshot *catalog.Snapshot, before *viewState, numbered func(code.RepositoryID) bool) *viewState {
	known := v.Repositories()
	if before != nil && before.index != of {
		before = nil // its snapshot is of another catalog
	}
	changed := map[code.RepositoryID]bool{}
	if before != nil && before.catalog != snapshot {
		for _, r := range snapshot.ChangedSince(before.catalog) {
			changed[r.ID] = true
		}
	}
	s := &viewState{
		index:        of,
		generation:   v.Generation(),
		catalog:      snapshot,
		segments:     searchSegments(v.Segments()),
		repositories: make([]*corpus.Repository, len(known)),
		known:        known,
	}
	for i, r := range known {
		taken := false
		switch {
		case r == nil:
			continue
		case before != nil && i < len(before.known) && before.known[i] == r && !changed[r.ID]:
			s.repositories[i], taken = before.repositories[i], !before.numberless[r.ID]
		default:
			s.repositories[i] = repositoryOf(r, snapshot)
		}
		if !taken && !numbered(r.ID) {
			if s.numberless == nil {
				s.numberless = map[code.RepositoryID]bool{}
			}
			s.numberless[r.ID] = true
		}
	}
	s.byID = sync.OnceValue(func() map[code.RepositoryID]*corpus.Repository {
		byID := make(map[code.RepositoryID]*corpus.Repository, len(s.repositories))
		for _, r := range s.repositories {
			if r != nil {
				byID[r.ID] = r
			}
		}
		return byID
	})
	return s
}

// gainedNumber reports whether a repository without a number in this state has one now.
func (s *viewState) gainedNumber(numbered func(code.RepositoryID) bool) bool {
	for id := range s.numberless {
		if numbered(id) {
			return true
		}
	}
	return false
}

func searchSegments(segments []places.Segment) []corpus.Segment {
	out := make([]corpus.Segment, len(segments))
	for i, s := range segments {
		out[i] = corpus.Segment{Reader: s.Reader, Places: s.Places, Origins: s.Origins, Partition: s.Partition}
	}
	return out
}

// repositoryOf returns a repository of the places with its visibility in the catalog. One
// that the catalog lacks was just removed; it is private.
func repositoryOf(r *places.Repository, snapshot *catalog.Snapshot) *corpus.Repository {
	out := &corpus.Repository{Repository: r.Repository, PushedAt: newestCommit(r)}
	known, found := snapshot.ByID(r.ID)
	out.Private = !found || known.Private
	if r.Default != nil {
		out.IndexedCommit, out.IndexedAt = r.Default.Commit, r.Default.IndexedAt
	}
	return out
}

func newestCommit(r *places.Repository) time.Time {
	var newest time.Time
	for _, ref := range r.Refs {
		if ref.CommitTime.After(newest) {
			newest = ref.CommitTime
		}
	}
	return newest
}

// Segments implements corpus.View.
func (v view) Segments() []corpus.Segment { return v.segments }

// Repositories implements corpus.View.
func (v view) Repositories() []*corpus.Repository { return v.repositories }

// Revisions implements corpus.View.
func (v view) Revisions(ctx context.Context, match func(*corpus.Repository, code.Ref) bool) ([]corpus.Segment, []code.Ref, error) {
	byID := v.byID()
	segments, refs, err := v.View.Revisions(ctx, func(r *places.Repository, ref code.Ref) bool { return match(byID[r.ID], ref) })
	if errors.Is(err, places.ErrTooMany) {
		// The query is at fault: it selects too much.
		err = fmt.Errorf("%w: %w", syntax.ErrInvalid, err)
	}
	return searchSegments(segments), refs, err
}
