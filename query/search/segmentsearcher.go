package search

import (
	"math"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
)

// A match is a range of a document's text, or a symbol by its number.
type match struct {
	start, end uint32 // offsets in the document
	symbol     int32  // number of the symbol in the document, or -1
}

// A hit is a place and its matches.
type hit struct {
	segment     int // index in the view's segments
	place       int
	doc         segment.DocID
	count       int // matches; at least 1
	matches     []match
	otherPlaces []int // places of the same document, repository and path on other refs
	relevance
	estimatedScore float32 // see estimateScore
	dropped        int32   // number of matches removed from matches
	shown          bool
}

// segmentSearcher runs the tasks of a search, one at a time. It visits the documents of a
// segment and keeps the hits that may be shown. It belongs to one goroutine.
type segmentSearcher struct {
	documentMatcher
	maxKept         int   // matches per task whose details are kept
	bestOnly        bool  // keep the matches of the best files rather than the first ones
	orders          bool  // rank the matches of each file by their lines, even if all may be shown
	task            int   // the current step of the run
	requested       int   // matches of which one more ends a task that has looked at maxDocuments; 0 for the limit alone
	scannedReported int64 // part of stats.ScannedBytes already reported, see countScanned

	// State of the current segment.
	looked       bool            // its documents were searched
	documents    int             // number of documents searched
	maxDocuments int             // see lookedEnough
	ended        bool            // the visit ended because of lookedEnough
	all          bool            // the visit does not end at the limit
	floor        float32         // score below which hits cannot be shown
	kept         int             // matches in hits
	soughtRepos  map[uint32]bool // repositories still to be found; nil unless the answer lists repositories
	first        *firstFiles     // of the current tier; nil for callers who may see everything
	passed       int             // documents skipped because they are after the bound of first
	counted      int             // matches when hits after the bound were last dropped
}

func newSegmentSearcher(s *scope, keep, limit int, stop func() bool) *segmentSearcher {
	v := &segmentSearcher{maxKept: keep, documentMatcher: documentMatcher{
		candidateFinder: newCandidateFinder(s, stop), limit: limit, maxHeld: maxHeld, outline: outlines.Get().(*segment.Outline), atomStates: make([]atomState, len(s.c.atoms)),
		mergesAtoms: len(s.c.atoms) > 1 || s.c.choosesSymbols() || s.c.hasConditions(),
	}}
	v.linkParts()
	return v
}

// visitSegment returns the hits in a segment, in order of documents and places, and the
// number of their matches. It stops once there are more than limit.
func (v *segmentSearcher) visitSegment(number int, seg corpus.Segment, names []termName) (hits []hit, count int, err error) {
	v.openSegment(seg)
	if err := v.prepareCandidates(); err != nil || !v.possible {
		return nil, 0, err
	}
	if v.bestOnly && len(names) > 0 {
		if _, v.definingDocs, v.namedDocs, err = v.findNamed(names, 0); err != nil {
			return nil, 0, err
		}
	}
	return v.visitDocuments(number, nil)
}

// openSegment makes a segment the current one.
func (v *segmentSearcher) openSegment(seg corpus.Segment) {
	v.setSegment(seg)
	v.kept, v.looked, v.floor, v.outlines = 0, false, -math.MaxFloat32, 0
	v.documents, v.ended = 0, false
}

// visitDocuments visits the documents that can match and for which wanted, if not nil,
// returns true.
func (v *segmentSearcher) visitDocuments(number int, wanted func(segment.DocID) bool) (hits []hit, count int, err error) {
	defer v.startMatching()()
	v.narrowPlaces()
	chosen := v.chooseDocuments(wanted)
	if hits, count, err = v.visitList(number, chosen); err != nil || v.shouldStop() {
		return hits, count, err
	}
	if v.ended = len(chosen) > 0 && count > v.requested; v.ended {
		return hits, count, nil
	}
	if v.scanner != nil {
		v.scanner.startSegment(wanted)
		defer v.scanner.endSegment()
	}
	for d := v.nextAllowed(0); d >= 0; {
		if next := v.nextDocument(v.s.c.root, d); next != d {
			if next < 0 {
				break
			}
			d = v.nextAllowed(next)
			continue
		}
		if v.shouldStop() || v.foundAll() {
			break
		}
		if _, done := slices.BinarySearch(chosen, segment.DocID(d)); !done && (wanted == nil || wanted(segment.DocID(d))) && v.mayCount(d) {
			found, n, err := v.searchDocument(number, segment.DocID(d))
			if err != nil {
				return nil, 0, err
			}
			var enough bool
			if hits, count, enough = v.keepHits(hits, found, count+n); enough {
				break
			}
		}
		if v.passed >= narrowEvery {
			v.narrowPlaces()
		}
		d = v.nextAllowed(d + 1)
	}
	if v.scanner != nil {
		err = v.scanner.err
	}
	return hits, count, err
}

// keepHits adds the hits of a document to those of a task, which then have count matches,
// and reports whether the task has enough.
func (v *segmentSearcher) keepHits(hits, found []hit, count int) ([]hit, int, bool) {
	hits = append(hits, found...)
	v.pruneHits(hits)
	if v.first == nil {
		v.ended = v.lookedEnough(count)
		return hits, count, count > v.limit && !v.all || v.ended
	}
	hits, count = v.cutBehind(hits, count)
	return hits, count, false
}

// lookedEnough reports whether a task with count matches may end before the limit: more
// matches than were requested were found in so many documents that more of them would
// hardly improve the choice.
func (v *segmentSearcher) lookedEnough(count int) bool {
	return v.maxDocuments > 0 && v.documents >= v.maxDocuments && count > v.requested
}

// startMatching prepares to read the text of the current segment, and returns a function
// to call when done.
func (v *segmentSearcher) startMatching() (end func()) {
	v.looked, v.counted = true, 0
	v.initSought()
	for i := range v.s.c.atoms {
		v.atomStates[i] = atomState{matches: v.atomStates[i].matches[:0]}
		v.matchers[i].prepareSegment(v.text, &v.atomCandidates[i])
	}
	loaded, started := v.text.LoadedBytes(), time.Now()
	return func() {
		v.stats.ContentBytes += v.text.LoadedBytes() - loaded
		v.stats.Verifying += time.Since(started)
	}
}

// searchDocument evaluates the query for the places of a document.
func (v *segmentSearcher) searchDocument(number int, d segment.DocID) (hits []hit, count int, err error) {
	v.stats.FilesConsidered++
	v.documents++
	v.reserveMemory(-int64(v.heldMatches) * matchBytes)
	v.heldMatches = 0
	places := v.seg.Places
	for i := int(places.First[d]); i < int(places.First[d+1]); i++ {
		if v.allowed != nil && !v.allowed.Has(i) || !v.seg.IsVisible(i) || v.foundAt(i) {
			continue
		}
		v.room = v.matchRoom()
		ok, err := v.evalNode(v.s.c.root, d, i)
		if err != nil {
			return nil, 0, err
		}
		if v.shouldStop() {
			return nil, 0, nil // a match may have been missed
		}
		if !ok {
			continue
		}
		h := hit{segment: number, place: i, doc: d}
		if ok, err = v.collectHit(&h); err != nil {
			return nil, 0, err
		}
		if !ok || mergeSameFile(hits, h, places) {
			continue
		}
		if err := v.setRelevance(&h); err != nil {
			return nil, 0, err
		}
		if err := v.retainMatches(&h); err != nil {
			return nil, 0, err
		}
		v.kept += len(h.matches)
		v.reserveMemory(hitBytes + int64(len(h.matches))*matchBytes)
		count += h.count
		hits = append(hits, h)
	}
	return hits, count, nil
}

// matchRoom returns the number of matches of a pattern in a document that may be shown.
func (v *segmentSearcher) matchRoom() int {
	switch {
	case v.bestOnly:
		return max(v.maxKept, MinLooked)
	case v.first != nil:
		return v.maxKept // which ones are kept in the end is not known yet
	}
	return v.maxKept - v.kept
}

// mergeSameFile reports whether hits already contains the file of h, found on another
// ref. If so, it adds the place to that hit.
func mergeSameFile(hits []hit, h hit, places *segment.Places) bool {
	if places.Ref == nil {
		return false
	}
	for i := range hits {
		other := &hits[i]
		if places.Repo[other.place] == places.Repo[h.place] && string(places.Path(other.place)) == string(places.Path(h.place)) {
			other.otherPlaces = append(other.otherPlaces, h.place)
			return true
		}
	}
	return false
}
