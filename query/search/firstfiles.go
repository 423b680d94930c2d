package search

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/match"
)

// Which segment holds a document, and at which position, depends on every repository that
// contains the document or was indexed before it, including hidden ones. So if a caller
// may not see everything and there are more matches than the limit, the answer counts the
// first files of a tier by repository, path and ref: an order that reveals nothing to the
// caller. The search visits every segment, but does not read files after a bound, which
// falls as files are found.

// A filePosition is the position of a file in that order, without its ref.
type filePosition struct {
	repo *corpus.Repository
	path []byte // memory of the view
}

func comparePositions(a, b filePosition) int {
	if a.repo != b.repo {
		if c := cmp.Or(strings.Compare(a.repo.Name, b.repo.Name), cmp.Compare(a.repo.ID, b.repo.ID)); c != 0 {
			return c
		}
	}
	return bytes.Compare(a.path, b.path)
}

// A firstHit is the position of a hit and the number of matches that it counts toward the
// limit.
type firstHit struct {
	at      filePosition
	ref     string
	matches int
}

func compareFirstHits(a, b firstHit) int {
	return cmp.Or(comparePositions(a.at, b.at), strings.Compare(a.ref, b.ref))
}

// firstFiles holds the first files found in a band of a tier, enough to exceed the limit,
// and the bound after which no file counts. It is safe for concurrent use.
type firstFiles struct {
	limit    int
	distinct bool                         // files at the same position count as one
	after    *filePosition                // the end of the previous band, nil for none
	bound    atomic.Pointer[filePosition] // nil for none

	mu struct {
		sync.Mutex
		found []firstHit // in order
	}
}

// isAll reports whether every file may count toward the answer. f may be nil.
func (f *firstFiles) isAll() bool { return f == nil || f.after == nil && f.bound.Load() == nil }

// mayCount reports whether a file may count toward the answer.
func (f *firstFiles) mayCount(k filePosition) bool {
	if bound := f.bound.Load(); bound != nil && comparePositions(k, *bound) > 0 {
		return false
	}
	return f.after == nil || comparePositions(k, *f.after) > 0
}

// add adds the sorted files found in a segment, and lowers the bound to the last file
// that counts.
func (f *firstFiles) add(hits []firstHit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := mergeFirstHits(f.mu.found, hits)
	if f.distinct {
		all = slices.CompactFunc(all, func(a, b firstHit) bool { return comparePositions(a.at, b.at) == 0 })
	}
	sum := 0
	for i := range all {
		if sum += all[i].matches; sum > f.limit {
			all = all[:i+1]
			f.lowerLocked(all[i].at)
			break
		}
	}
	f.mu.found = all
}

// mergeFirstHits merges two sorted lists. It may return one of them.
func mergeFirstHits(a, b []firstHit) []firstHit {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	merged := make([]firstHit, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if compareFirstHits(b[0], a[0]) < 0 {
			a, b = b, a
		}
		merged, a = append(merged, a[0]), a[1:]
	}
	return append(append(merged, a...), b...)
}

func (f *firstFiles) lowerLocked(k filePosition) {
	if bound := f.bound.Load(); bound == nil || comparePositions(k, *bound) < 0 {
		f.bound.Store(&k)
	}
}

// lowerBound lowers the bound to a file, unless the bound is lower already.
func (f *firstFiles) lowerBound(k filePosition) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lowerLocked(k)
}

const (
	// bandShare is the ratio of files expected in the first band, by the estimate from
	// the index, to the limit. bandGrowth is the ratio of the second band to the first.
	bandShare, bandGrowth = 2, 8
	// bandSamples bounds the files that are sampled to find the end of a band.
	bandSamples = 1 << 10
)

// setBands divides the tiers into bands if there are many more candidates than the limit,
// because the files of the first band usually suffice. The bands change only the work and
// not the answer.
func (n *searchRun) setBands() {
	a := n.plan.schedule
	var ends []filePosition
	if !n.plan.scope.Query.ListsRepositories() {
		ends = n.bandEnds()
	}
	a.bands = len(ends) + 1
	a.first = make([]firstFiles, len(a.tiers)*a.bands)
	for i := range a.first {
		f := &a.first[i]
		f.limit, f.distinct = n.plan.limit, n.plan.scope.Query.ListsRepositories()
		band := i % a.bands
		if band > 0 {
			f.after = &ends[band-1]
		}
		if band < len(ends) {
			f.bound.Store(&ends[band])
		}
	}
}

// bandEnds returns the end of each band but the last. It assumes that matching files are
// evenly distributed.
func (n *searchRun) bandEnds() (ends []filePosition) {
	all := 0
	for i := range n.plan.segments {
		all += n.plan.segments[i].Places.Len()
	}
	share := float64(bandShare*n.plan.limit) / float64(max(n.estimateMatchingFiles(all), 1))
	if share > 1./bandShare {
		return nil
	}
	var sample []filePosition
	step, next := max(all/bandSamples, 1), 0
	for i := range n.plan.segments {
		seg := &n.plan.segments[i]
		for ; next < seg.Places.Len(); next += step {
			if seg.IsVisible(next) {
				sample = append(sample, positionOf(n.plan.scope, seg, next))
			}
		}
		next -= seg.Places.Len()
	}
	slices.SortFunc(sample, comparePositions)
	for ; share <= 1./bandShare; share *= bandGrowth {
		if at := int(share * float64(len(sample))); at > 0 {
			ends = append(ends, sample[at])
		}
	}
	return ends
}

// estimateMatchingFiles estimates how many of all files match.
func (n *searchRun) estimateMatchingFiles(all int) int {
	surveyed := 0
	for i := range n.plan.schedule.segmentStates {
		if n.plan.schedule.segmentStates[i].candidates != nil {
			surveyed += n.plan.segments[i].Places.Len()
		}
	}
	if surveyed == 0 {
		return all
	}
	return min(int(float64(n.mu.candidates)*float64(all)/float64(surveyed)), all)
}

// positionOf returns the position of a place of a segment. If the answer lists
// repositories, all files of a repository have one position.
func positionOf(s *match.Scope, seg *corpus.Segment, place int) filePosition {
	k := filePosition{repo: s.Repos[seg.Places.Repo[place]]}
	if !s.Query.ListsRepositories() {
		k.path = seg.Places.Path(place)
	}
	return k
}

// firstHitOf returns the firstHit of a hit.
func firstHitOf(s *match.Scope, seg *corpus.Segment, h *hit) firstHit {
	return firstHit{positionOf(s, seg, h.Place), string(s.RefOf(*seg, h.Place)), h.Count}
}

// sortHits sorts hits by the positions of their files.
func (n *searchRun) sortHits(hits []hit) {
	if n.plan.remote != nil {
		slices.SortFunc(hits, func(a, b hit) int { return n.plan.remote.compareHits(n.plan.scope, &a, &b) })
		return
	}
	slices.SortFunc(hits, func(a, b hit) int {
		sa, sb := &n.plan.segments[a.segment], &n.plan.segments[b.segment]
		c := comparePositions(positionOf(n.plan.scope, sa, a.Place), positionOf(n.plan.scope, sb, b.Place))
		if c != 0 || n.plan.scope.Refs == nil {
			return c
		}
		return cmp.Compare(n.plan.scope.RefOf(*sa, a.Place), n.plan.scope.RefOf(*sb, b.Place))
	})
}

// firstHits returns the hits of a segment in the form that firstFiles takes.
func (n *searchRun) firstHits(hits []hit) []firstHit {
	out := make([]firstHit, len(hits))
	for i := range hits {
		out[i] = firstHitOf(n.plan.scope, &n.plan.segments[hits[i].segment], &hits[i])
	}
	slices.SortFunc(out, compareFirstHits)
	return out
}

// mayCount reports whether any place of a document of the current segment may count
// toward the answer.
func (t *taskVisit) mayCount(d int) bool {
	if t.first.isAll() {
		return true
	}
	f := t.v.finder
	for i := int(f.Seg.Places.First[d]); i < int(f.Seg.Places.First[d+1]); i++ {
		if f.Allows(i) && t.first.mayCount(positionOf(t.v.scope, &f.Seg, i)) {
			return true
		}
	}
	t.passed++
	return false
}

// narrowEvery is the number of documents after the bound that are skipped one by one
// before all later places are removed from the candidates.
const narrowEvery = 64

// narrowPlaces removes the places after the bound from the candidates.
func (t *taskVisit) narrowPlaces() {
	if t.passed = 0; t.first.isAll() {
		return
	}
	f := t.v.finder
	f.KeepPlaces(func(i int) bool { return t.first.mayCount(positionOf(t.v.scope, &f.Seg, i)) })
}

// cutBehind drops hits that no longer count because enough hits precede them, and lowers
// the bound. To save work, it acts only after enough matches were added.
func (t *taskVisit) cutBehind() {
	v, seg := t.v, &t.v.finder.Seg
	if t.count <= v.limit || t.count-t.counted < max(v.limit/2, narrowEvery) {
		return
	}
	slices.SortFunc(t.hits, func(a, b hit) int {
		return compareFirstHits(firstHitOf(v.scope, seg, &a), firstHitOf(v.scope, seg, &b))
	})
	sum := 0
	for i := range t.hits {
		if sum += t.hits[i].Count; sum <= v.limit {
			continue
		}
		for k := i + 1; k < len(t.hits); k++ {
			t.kept -= len(t.hits[k].Matches)
			v.document.ReserveMemory(-match.HitBytes - int64(len(t.hits[k].Matches))*match.MatchBytes)
		}
		clear(t.hits[i+1:])
		t.hits = t.hits[:i+1]
		t.first.lowerBound(positionOf(v.scope, seg, t.hits[i].Place))
		break
	}
	t.count, t.counted = sum, sum
}
