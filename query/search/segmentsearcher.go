package search

import (
	"errors"
	"math"
	"slices"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/memory"
	"github.com/quarrysearch/quarry/query/match"
	"github.com/quarrysearch/quarry/query/search/internal/admission"
)

// A hit is a place and its matches, with what decides whether it is shown.
type hit struct {
	match.Hit
	segment        int     // index in the view's segments
	estimatedScore float32 // see estimateScore
	dropped        int32   // number of matches removed from matches
	shown          bool
}

// segmentSearcher runs the tasks of a search, one at a time. It belongs to one goroutine.
type segmentSearcher struct {
	// These fields are set before the first task.
	scope     *match.Scope
	finder    *match.Finder
	document  *match.Matcher
	limit     int  // matches after which a task may end
	maxKept   int  // matches per task whose details are kept
	bestOnly  bool // keep the matches of the best files rather than the first ones
	orders    bool // rank the matches of each file by their lines, even if all may be shown
	requested int  // matches of which one more ends a task that has looked at maxDocuments; 0 for the limit alone

	turn *admission.Worker // of the worker that owns the searcher; nil if there is no other

	// The worker that owns the searcher writes these.
	task            int   // the current step of the run
	scannedReported int64 // scanned bytes already reported, see countScanned

	// A task writes these, for the current segment: see placeTermsOnce.
	together, phrase match.TermPlaces
}

func newSegmentSearcher(s *match.Scope, keep, limit int, stop func() bool, budget *memory.Budget) *segmentSearcher {
	d := match.NewMatcher(s, limit, stop, budget)
	return &segmentSearcher{scope: s, finder: &d.Finder, document: d, limit: limit, maxKept: keep}
}

// openSegment makes a segment the current one.
func (v *segmentSearcher) openSegment(seg corpus.Segment) {
	v.document.OpenSegment(seg)
	v.together, v.phrase = match.TermPlaces{}, match.TermPlaces{}
}

// startTask makes a segment the current one, for a task that visits some of its documents.
func (v *segmentSearcher) startTask(number int, seg corpus.Segment) *taskVisit {
	v.openSegment(seg)
	return &taskVisit{v: v, segment: number, floor: -math.MaxFloat32}
}

// lockState locks the state of a segment. A worker that has to wait gives up its processor
// meanwhile: the holder of the lock may need it, because a lookup yields its own.
func (v *segmentSearcher) lockState(o *segmentState) {
	if o.mu.TryLock() {
		return
	}
	if v.turn != nil {
		v.turn.Pause()
		defer v.turn.Resume()
	}
	o.mu.Lock()
}

// hasCandidates reports whether the index was searched for the current segment.
func (v *segmentSearcher) hasCandidates(o *segmentState) bool {
	v.lockState(o)
	defer o.mu.Unlock()
	return o.candidates != nil
}

// findNamedOnce finds the named documents of the current segment on the first call, and
// reuses the result later.
func (v *segmentSearcher) findNamedOnce(o *segmentState, a *schedule) (err error) {
	v.lockState(o)
	defer o.mu.Unlock()
	if !o.searched {
		o.named, err = v.finder.FindNamed(a.names, a.allSegments)
		for i := range o.named.Groups {
			o.named.Groups[i] = slices.DeleteFunc(o.named.Groups[i], o.isFirst)
		}
		o.searched = err == nil
	}
	v.finder.Named = o.named
	return err
}

// lookUpCandidates makes the index results of the current segment those of the finder. It
// keeps them for later tasks, unless the lookup was stopped: another segmentSearcher may
// need complete results.
func (v *segmentSearcher) lookUpCandidates(o *segmentState) error {
	v.lockState(o)
	defer o.mu.Unlock()
	if o.candidates != nil {
		v.finder.Candidates = o.candidates
		return nil
	}
	p, err := v.finder.LookUp()
	if err == nil && !p.Unfinished {
		o.candidates = p
	}
	return err
}

// hasNoHit reports whether the index was searched for the current segment and rules out a
// hit.
func (v *segmentSearcher) hasNoHit(o *segmentState) bool {
	v.lockState(o)
	defer o.mu.Unlock()
	if o.candidates == nil || o.candidates.Possible {
		return false
	}
	v.finder.Candidates = o.candidates
	return true
}

// placeTermsOnce finds the places of the current segment that may contain a match of each
// of several terms, and those that may contain them as a phrase. It reuses the result
// later.
func (v *segmentSearcher) placeTermsOnce(o *segmentState, a *schedule) (err error) {
	if len(a.requiredAtoms) == 0 {
		return nil
	}
	v.lockState(o)
	defer o.mu.Unlock()
	if !o.placed {
		if o.together, o.phrase, err = v.finder.PlaceTerms(a.requiredAtoms, a.phrase); err != nil {
			return err
		}
		o.placed = !v.finder.ShouldStop()
	}
	v.together, v.phrase = o.together, o.phrase
	return nil
}

// close releases the resources of the searcher, which must not be used afterwards.
func (v *segmentSearcher) close() error { return v.document.Close() }

// refindMatches finds the matches of a hit again. They were dropped for better ones that
// turned out to be beyond the limit of the search.
func (a *resultBuilder) refindMatches(h *hit) error {
	n := a.run
	v := newSegmentSearcher(n.plan.scope, n.keeps(), n.plan.limit, func() bool { return false }, nil)
	v.bestOnly, v.orders = true, true
	t := v.startTask(h.segment, n.plan.segments[h.segment])
	v.finder.Candidates = match.FullScanCandidates(n.plan.scope.Query)
	end := t.startMatching()
	hits, _, err := t.searchDocument(h.Doc)
	end()
	for i := range hits {
		if hits[i].Place == h.Place {
			h.Matches = hits[i].Matches
		}
	}
	a.result.Stats.ContentBytes += v.finder.Work.ContentBytes
	return errors.Join(err, v.close())
}
