package corpus

import (
	"context"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/internal/bitset"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Bounds of a Screen.
const (
	// DefaultMaxScreens bounds the sets of repositories for which a Screen caches
	// results.
	DefaultMaxScreens = 256
	// DefaultMaxScreenBytes bounds the size of these cached results.
	DefaultMaxScreenBytes = 64 << 20
)

// ScreenOptions configure a Screen. The zero value works.
type ScreenOptions struct {
	MaxScreens int
	MaxBytes   int64
	// Registerer registers the metrics; nil for none.
	Registerer prometheus.Registerer
}

// A Screen filters views: it hides the repositories that a caller may not read. A hidden
// repository is nil, a segment without visible places is left out, and Segment.Visible
// has no bit for a hidden place.
//
// Filtering takes one call per repository and one check per place of the segments that
// changed. The result is cached by key for the current state of the index. A Screen is
// safe for concurrent use.
type Screen struct {
	o       ScreenOptions
	metrics *screenMetrics
	mu      struct {
		sync.Mutex
		of     stateID
		known  map[any]*screenedState // by key
		order  []any                  // keys, oldest first
		bytes  int64
		before []*screenedState // of the previous state
	}
}

// NewScreen returns a Screen.
func NewScreen(o ScreenOptions) *Screen {
	if o.MaxScreens <= 0 {
		o.MaxScreens = DefaultMaxScreens
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxScreenBytes
	}
	s := &Screen{o: o}
	s.mu.known = make(map[any]*screenedState)
	s.metrics = newScreenMetrics(o.Registerer, s)
	return s
}

// stateID identifies a state of a view. It holds the slices of the state, so no other
// state can have the same addresses.
type stateID struct {
	repos          **Repository
	segments       *Segment
	nrepos, nsegms int
}

func stateOf(v View) stateID {
	repos, segments := v.Repositories(), v.Segments()
	id := stateID{nrepos: len(repos), nsegms: len(segments)}
	if len(repos) > 0 {
		id.repos = &repos[0]
	}
	if len(segments) > 0 {
		id.segments = &segments[0]
	}
	return id
}

// Hide returns v without the repositories for which visible returns false. key identifies
// the results of visible: for equal keys, visible must return equal results.
func (s *Screen) Hide(v View, key any, visible func(*code.Repository) bool) View {
	id := stateOf(v)
	known, before := s.cachedState(id, key)
	if known == nil {
		s.metrics.misses.Inc()
		known = newScreenedState(v, visible, before)
		s.cacheState(id, key, known)
	}
	return screenedView{v, known}
}

// cachedState returns the cached state for a key, or the states whose tables may be
// reused.
func (s *Screen) cachedState(id stateID, key any) (known *screenedState, before []*screenedState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.of == id {
		if known = s.mu.known[key]; known != nil {
			return known, nil
		}
	}
	before = slices.Clone(s.mu.before)
	for _, k := range s.mu.order {
		before = append(before, s.mu.known[k])
	}
	return nil, before
}

// cacheState caches the result for a state of the index and drops results for older
// states.
func (s *Screen) cacheState(id stateID, key any, known *screenedState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.of != id {
		s.mu.before = s.mu.before[:0]
		for _, k := range s.mu.order {
			s.mu.before = append(s.mu.before, s.mu.known[k])
		}
		s.mu.of, s.mu.order, s.mu.bytes = id, nil, 0
		clear(s.mu.known)
	}
	if s.mu.known[key] == nil {
		s.mu.order = append(s.mu.order, key)
		s.mu.bytes += known.bytes
		s.mu.known[key] = known
	}
	for len(s.mu.order) > s.o.MaxScreens || s.mu.bytes > s.o.MaxBytes && len(s.mu.order) > 1 {
		oldest := s.mu.order[0]
		s.mu.bytes -= s.mu.known[oldest].bytes
		delete(s.mu.known, oldest)
		s.mu.order = s.mu.order[1:]
	}
}

// cachedBytes returns the size of the results cached for the current state.
func (s *Screen) cachedBytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.bytes
}

// screenedState is a state of the index as one caller sees it. It is immutable.
type screenedState struct {
	seen     bitset.Set // repositories, by number
	repos    []*Repository
	segments []Segment
	// tables holds the visible places of each segment: nil means all, empty means none.
	tables map[*segment.Places]bitset.Set
	// indexed reports for each segment whether its index may be read.
	indexed map[*segment.Reader]bool
	bytes   int64
	byID    func() map[code.RepositoryID]struct{}
}

// newScreenedState computes the part of a view that visible allows. It reuses tables of
// callers who see the same repositories, and of the previous state.
func newScreenedState(v View, visible func(*code.Repository) bool, before []*screenedState) *screenedState {
	all := v.Repositories()
	s := &screenedState{seen: bitset.New(len(all)), repos: make([]*Repository, len(all)), tables: make(map[*segment.Places]bitset.Set), indexed: make(map[*segment.Reader]bool)}
	for i, r := range all {
		if r != nil && visible(&r.Repository) {
			s.seen.Add(i)
			s.repos[i] = r
		}
	}
	like, sees := s.reuseTables(before), s.originsCheck(v, visible)
	s.bytes = int64(8 * (len(s.repos) + len(s.seen)))
	for _, seg := range v.Segments() {
		shown, ok := like[seg.Places]
		if !ok {
			shown = shownPlaces(seg.Places, s.seen)
		}
		s.tables[seg.Places] = shown
		seg.NoIndex = seg.NoIndex || !sees(seg.Origins)
		s.indexed[seg.Reader] = !seg.NoIndex
		s.bytes += int64(8*len(shown)) + tableBytes
		if shown == nil || len(shown) > 0 {
			seg.Visible = shown
			s.segments = append(s.segments, seg)
		}
	}
	s.byID = sync.OnceValue(func() map[code.RepositoryID]struct{} {
		ids := make(map[code.RepositoryID]struct{})
		for _, r := range s.repos {
			if r != nil {
				ids[r.ID] = struct{}{}
			}
		}
		return ids
	})
	return s
}

// originsCheck returns a function that reports whether the caller may see all repositories
// that brought documents of a segment. A removed repository is visible to the same callers
// as before.
func (s *screenedState) originsCheck(v View, visible func(*code.Repository) bool) func(origins []uint32) bool {
	removed := sync.OnceValue(func() map[uint32]*code.Repository {
		if v, ok := v.(interface {
			Removed() map[uint32]*code.Repository
		}); ok {
			return v.Removed()
		}
		return nil
	})
	hidden := func(n uint32) bool {
		if int(n) < len(s.repos) && s.repos[n] != nil {
			return false
		}
		r := removed()[n]
		return r == nil || !visible(r)
	}
	return func(origins []uint32) bool { return origins != nil && !slices.ContainsFunc(origins, hidden) }
}

// tableBytes is the approximate size of a segment in a screenedState, without its table.
const tableBytes = 96

// reuseTables returns the tables of a previous state with the same repositories, if there
// is one. A number always identifies the same repository.
func (s *screenedState) reuseTables(before []*screenedState) map[*segment.Places]bitset.Set {
	for _, b := range before {
		if samePrefix(b.seen, s.seen, len(b.repos)) {
			return b.tables
		}
	}
	return nil
}

// samePrefix reports whether two sets have the same members below n.
func samePrefix(a, b bitset.Set, n int) bool {
	words := n / 64
	if len(b) < len(a) || !slices.Equal(a[:words], b[:words]) {
		return false
	}
	mask := uint64(1)<<(n%64) - 1
	return mask == 0 || (a[words]^b[words])&mask == 0
}

// shownPlaces returns the places of the repositories in seen. It returns nil if all
// places are shown, and an empty set if none is, because a segment without places may
// contain hidden text.
func shownPlaces(p *segment.Places, seen bitset.Set) bitset.Set {
	shown, n := bitset.New(p.Len()), 0
	for i, r := range p.Repo {
		if seen.Has(int(r)) {
			shown.Add(i)
			n++
		}
	}
	switch n {
	case 0:
		return bitset.Set{}
	case p.Len():
		return nil
	}
	return shown
}

// screenedView is a view with hidden parts.
type screenedView struct {
	View
	*screenedState
}

// Restricted reports that answers must not reveal hidden parts: see Restricted.
func (v screenedView) Restricted() bool { return true }

// AsOf returns the moment in the past that the view shows; empty for the present.
func (v screenedView) AsOf() string {
	if past, ok := v.View.(interface{ AsOf() string }); ok {
		return past.AsOf()
	}
	return ""
}

// MissingDocuments returns the number of documents that the view lacks, hidden ones included.
func (v screenedView) MissingDocuments() int {
	if lacking, ok := v.View.(interface{ MissingDocuments() int }); ok {
		return lacking.MissingDocuments()
	}
	return 0
}

// Segments implements View.
func (v screenedView) Segments() []Segment { return v.segments }

// Repositories implements View.
func (v screenedView) Repositories() []*Repository { return v.repos }

// Revisions implements View. Refs of hidden repositories match nothing.
func (v screenedView) Revisions(ctx context.Context, match func(*Repository, code.Ref) bool) ([]Segment, []code.Ref, error) {
	ids := v.byID()
	segments, refs, err := v.View.Revisions(ctx, func(r *Repository, ref code.Ref) bool {
		if _, ok := ids[r.ID]; !ok {
			return false
		}
		return match(r, ref)
	})
	segments = slices.Clone(segments) // the view may cache them
	for i := range segments {
		segments[i].NoIndex = segments[i].NoIndex || !v.indexed[segments[i].Reader]
	}
	return segments, refs, err
}

// Removed returns the removed repositories of the underlying view, by number.
func (v screenedView) Removed() map[uint32]*code.Repository {
	if under, ok := v.View.(interface {
		Removed() map[uint32]*code.Repository
	}); ok {
		return under.Removed()
	}
	return nil
}
