package search

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Which segment has a document, and where, depends on every repository that has it
// or came before it, including hidden ones. So where a caller may not see
// everything and there are more matches than the limit, the files that count are
// the first of a tier by repository, path and ref: an order that reveals nothing to
// the caller. Every segment is visited, but files after a bound, which falls as
// files are found, are not read.

// A filePosition is where a file is in that order, without its ref.
type filePosition struct {
	repo *Repository
	path []byte // of the view
}

func comparePositions(a, b filePosition) int {
	if a.repo != b.repo {
		if c := cmp.Or(strings.Compare(a.repo.Name, b.repo.Name), cmp.Compare(a.repo.ID, b.repo.ID)); c != 0 {
			return c
		}
	}
	return bytes.Compare(a.path, b.path)
}

// A firstHit is the position of a hit, and how many matches it counts for the limit.
type firstHit struct {
	at      filePosition
	ref     string
	matches int
}

func compareFirstHits(a, b firstHit) int {
	return cmp.Or(comparePositions(a.at, b.at), strings.Compare(a.ref, b.ref))
}

// firstFiles are the first files found in a band of a tier, as many as it takes to
// exceed the limit, and the bound after which no file counts. It is safe for
// concurrent use.
type firstFiles struct {
	limit    int
	distinct bool                         // files at one position are one
	after    *filePosition                // the end of the band before, nil for none
	bound    atomic.Pointer[filePosition] // nil for none

	mu struct {
		sync.Mutex
		found []firstHit // in order
	}
}

// isAll reports whether every file may count. f may be nil.
func (f *firstFiles) isAll() bool { return f == nil || f.after == nil && f.bound.Load() == nil }

// mayCount reports whether a file may count.
func (f *firstFiles) mayCount(k filePosition) bool {
	if bound := f.bound.Load(); bound != nil && comparePositions(k, *bound) > 0 {
		return false
	}
	return f.after == nil || comparePositions(k, *f.after) > 0
}

// add adds the files found in a segment, in order, and lowers the bound to the last one
// that counts.
func (f *firstFiles) add(hits []firstHit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := append(f.mu.found, hits...)
	slices.SortFunc(all, compareFirstHits)
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

func (f *firstFiles) lowerLocked(k filePosition) {
	if bound := f.bound.Load(); bound == nil || comparePositions(k, *bound) < 0 {
		f.bound.Store(&k)
	}
}

// lowerBound sets the bound to a file, unless it is lower already.
func (f *firstFiles) lowerBound(k filePosition) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lowerLocked(k)
}

const (
	// bandShare is how many times more files than the limit the first band should have, if
	// what the index says is true; bandGrowth is how many times as many the second has.
	bandShare, bandGrowth = 2, 8
	// bandSamples bounds the files that are looked at to find where a band ends.
	bandSamples = 1 << 10
)

// setBands divides the tiers into bands where there are many more candidates than the
// limit: the files of the first are mostly enough. Where bands end changes the work and
// not the answer, so that it may depend on what is hidden.
func (n *searchRun) setBands() {
	a := n.schedule
	var ends []filePosition
	if !n.scope.c.listsRepositories() {
		ends = n.bandEnds()
	}
	a.bands = len(ends) + 1
	a.first = make([]firstFiles, len(a.tiers)*a.bands)
	for i := range a.first {
		f := &a.first[i]
		f.limit, f.distinct = n.limit, n.scope.c.listsRepositories()
		band := i % a.bands
		if band > 0 {
			f.after = &ends[band-1]
		}
		if band < len(ends) {
			f.bound.Store(&ends[band])
		}
	}
}

// bandEnds returns where bands end, but the last: by the share of the files that are
// needed, if those that match lie evenly among all.
func (n *searchRun) bandEnds() (ends []filePosition) {
	all := 0
	for i := range n.segments {
		all += n.segments[i].Places.Len()
	}
	share := float64(bandShare*n.limit) / float64(max(n.estimateMatchingFiles(all), 1))
	if share > 1./bandShare {
		return nil
	}
	var sample []filePosition
	step, next := max(all/bandSamples, 1), 0
	for i := range n.segments {
		seg := &n.segments[i]
		for ; next < seg.Places.Len(); next += step {
			if seg.isVisible(next) {
				sample = append(sample, n.scope.positionOf(seg, next))
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

// estimateMatchingFiles returns about how many of all files may match.
func (n *searchRun) estimateMatchingFiles(all int) int {
	surveyed := 0
	for i := range n.schedule.segmentStates {
		if n.schedule.segmentStates[i].candidates != nil {
			surveyed += n.segments[i].Places.Len()
		}
	}
	if surveyed == 0 {
		return all
	}
	return min(int(float64(n.mu.candidates)*float64(all)/float64(surveyed)), all)
}

// positionOf returns the key of a place of a segment. Where repositories are the answer, all
// files of one are one.
func (s *scope) positionOf(seg *Segment, place int) filePosition {
	k := filePosition{repo: s.repos[seg.Places.Repo[place]]}
	if !s.c.listsRepositories() {
		k.path = seg.Places.Path(place)
	}
	return k
}

// firstHitOf returns a hit as it is ordered.
func (s *scope) firstHitOf(seg *Segment, h *hit) firstHit {
	return firstHit{s.positionOf(seg, h.place), string(s.refOf(*seg, h.place)), h.count}
}

// sortHits puts hits in the order of their files.
func (n *searchRun) sortHits(hits []hit) {
	slices.SortFunc(hits, func(a, b hit) int {
		sa, sb := &n.segments[a.segment], &n.segments[b.segment]
		if c := comparePositions(n.scope.positionOf(sa, a.place), n.scope.positionOf(sb, b.place)); c != 0 || n.scope.refs == nil {
			return c
		}
		return cmp.Compare(n.scope.refOf(*sa, a.place), n.scope.refOf(*sb, b.place))
	})
}

// firstHits returns the hits of a segment as firstFiles takes them.
func (n *searchRun) firstHits(hits []hit) []firstHit {
	out := make([]firstHit, len(hits))
	for i := range hits {
		out[i] = n.scope.firstHitOf(&n.segments[hits[i].segment], &hits[i])
	}
	slices.SortFunc(out, compareFirstHits)
	return out
}

// mayCount reports whether some place of a document of the current segment may count.
func (v *segmentSearcher) mayCount(d int) bool {
	if v.first.isAll() {
		return true
	}
	places := v.seg.Places
	for i := int(places.First[d]); i < int(places.First[d+1]); i++ {
		if v.seg.isVisible(i) && (v.allowed == nil || v.allowed.has(i)) && v.first.mayCount(v.s.positionOf(&v.seg, i)) {
			return true
		}
	}
	v.passed++
	return false
}

// narrowEvery is how many documents after the bound are skipped one by one before
// the rest are removed at once.
const narrowEvery = 64

// narrowPlaces removes the places after the bound from the candidates.
func (v *segmentSearcher) narrowPlaces() {
	if v.passed = 0; v.first.isAll() {
		return
	}
	p := *v.segmentCandidates // others may hold it
	p.allowed = newBitset(v.seg.Places.Len())
	for i := range v.seg.Places.Len() {
		if v.seg.isVisible(i) && (v.allowed == nil || v.allowed.has(i)) && v.first.mayCount(v.s.positionOf(&v.seg, i)) {
			p.allowed.set(i)
		}
	}
	v.segmentCandidates = &p
}

// cutBehind drops hits that do not count once there are enough before them, and lowers
// the bound. It does so now and then: added are the matches found since.
func (v *segmentSearcher) cutBehind(hits []hit, count int) ([]hit, int) {
	if v.first == nil || count <= v.limit || count-v.counted < max(v.limit/2, narrowEvery) {
		return hits, count
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return compareFirstHits(v.s.firstHitOf(&v.seg, &a), v.s.firstHitOf(&v.seg, &b))
	})
	sum := 0
	for i := range hits {
		if sum += hits[i].count; sum <= v.limit {
			continue
		}
		for k := i + 1; k < len(hits); k++ {
			v.kept -= len(hits[k].matches)
			v.reserveMemory(-hitBytes - int64(len(hits[k].matches))*matchBytes)
		}
		clear(hits[i+1:])
		hits = hits[:i+1]
		v.first.lowerBound(v.s.positionOf(&v.seg, hits[i].place))
		break
	}
	v.counted = sum
	return hits, sum
}
