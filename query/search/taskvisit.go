package search

import (
	"errors"
	"slices"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/match"
)

// A taskVisit is the work of one task: it visits the documents of a tier of the current
// segment, and keeps the hits that may be shown.
type taskVisit struct {
	v       *segmentSearcher
	segment int         // its number in the view
	first   *firstFiles // of the current tier; nil for callers who may see everything

	maxDocuments int  // see lookedEnough
	all          bool // the visit does not end at the limit

	hits      []hit
	count     int  // of the matches of hits
	looked    bool // documents were searched
	ended     bool // the visit ended because of lookedEnough
	documents int  // number of documents searched

	floor       float32         // score below which hits cannot be shown
	kept        int             // matches in hits
	soughtRepos map[uint32]bool // repositories still to be found; nil unless the answer lists repositories
	passed      int             // documents skipped because they are after the bound of first
	counted     int             // matches when hits after the bound were last dropped
}

// visitTier visits the documents of a tier.
func (t *taskVisit) visitTier(of tier, a *schedule) error {
	v := t.v
	var o *segmentState
	if a.segmentStates != nil {
		o = &a.segmentStates[t.segment]
	}
	if v.requested > 0 {
		t.maxDocuments = of.maxDocuments(o != nil)
	}
	t.all = of == tierDefines && len(a.names) == 1
	if of == tierAll && o == nil {
		return t.visitSegment(a.names)
	}
	if v.hasNoHit(o) {
		return nil
	}
	if len(a.names) > 0 && (of != tierAll || v.bestOnly) {
		if err := v.findNamedOnce(o, a); err != nil {
			return err
		}
	}
	switch {
	case of == tierFirst:
		t.maxDocuments = len(o.first) + 1
		return t.visitNamed(o, o.first, a)
	case of >= tierJoined && of <= tierAside && len(a.requiredAtoms) == 0:
		return t.visitNamed(o, o.named.Groups[of-tierJoined], a)
	}
	if err := v.lookUpCandidates(o); err != nil || !v.finder.Candidates.Possible {
		return err
	}
	if of == tierAll {
		return t.visitDocuments(nil)
	}
	if err := v.placeTermsOnce(o, a); err != nil {
		return err
	}
	if (of == tierPhrase || of == tierPhraseAside) && v.phrase.IsEmpty() || of < tierMain && len(a.requiredAtoms) > 0 && v.together.IsEmpty() {
		return nil
	}
	return t.visitDocuments(func(d segment.DocID) bool { return v.tierOf(d, o, a) == of })
}

// visitSegment visits all documents of a segment of which nothing is kept.
func (t *taskVisit) visitSegment(names []match.Name) (err error) {
	f := t.v.finder
	if err := f.PrepareCandidates(); err != nil || !f.Candidates.Possible {
		return err
	}
	if t.v.bestOnly && len(names) > 0 {
		if f.Named, err = f.FindNamed(names, 0); err != nil {
			return err
		}
	}
	return t.visitDocuments(nil)
}

// visitNamed visits documents that have the name of a term.
func (t *taskVisit) visitNamed(o *segmentState, docs []segment.DocID, a *schedule) error {
	if len(docs) == 0 {
		return nil
	}
	f := t.v.finder
	if f.Candidates = a.fullScan; len(docs) > maxUnaskedDocuments || t.v.hasCandidates(o) {
		if err := t.v.lookUpCandidates(o); err != nil || !f.Candidates.Possible {
			return err
		}
	}
	defer t.startMatching()()
	return t.visitList(docs)
}

// visitDocuments visits the documents that can match and for which wanted, if not nil,
// returns true.
func (t *taskVisit) visitDocuments(wanted func(segment.DocID) bool) (err error) {
	f, root := t.v.finder, t.v.scope.Query.Root
	defer t.startMatching()()
	t.narrowPlaces()
	chosen := t.chooseDocuments(wanted)
	if err := t.visitList(chosen); err != nil || f.ShouldStop() {
		return err
	}
	if t.ended = len(chosen) > 0 && t.count > t.v.requested; t.ended {
		return nil
	}
	f.StartScan(wanted)
	defer func() { err = errors.Join(err, f.EndScan()) }()
	for d := f.NextAllowed(0); d >= 0; {
		if next := f.NextDocument(root, d); next != d {
			if next < 0 {
				break
			}
			d = f.NextAllowed(next)
			continue
		}
		if f.ShouldStop() || t.foundAll() {
			break
		}
		if _, done := slices.BinarySearch(chosen, segment.DocID(d)); !done && (wanted == nil || wanted(segment.DocID(d))) && t.mayCount(d) {
			if enough, err := t.visitDocument(segment.DocID(d)); err != nil {
				return err
			} else if enough {
				break
			}
		}
		if t.passed >= narrowEvery {
			t.narrowPlaces()
		}
		d = f.NextAllowed(d + 1)
	}
	return nil
}

// visitList visits documents, in their order, until there are enough hits.
func (t *taskVisit) visitList(docs []segment.DocID) error {
	f := t.v.finder
	for _, d := range docs {
		if f.NextDocument(t.v.scope.Query.Root, int(d)) != int(d) {
			continue
		}
		if f.ShouldStop() || t.foundAll() {
			break
		}
		if !t.mayCount(int(d)) {
			continue
		}
		if enough, err := t.visitDocument(d); err != nil || enough {
			return err
		}
	}
	return nil
}

// startMatching prepares to read the text of the current segment, and returns a function
// to call when done.
func (t *taskVisit) startMatching() (end func()) {
	t.looked, t.counted = true, 0
	t.initSought()
	return t.v.document.StartMatching()
}

// visitDocument adds the hits of a document, and reports whether the task has enough. On an
// error, the task has no hits.
func (t *taskVisit) visitDocument(d segment.DocID) (enough bool, err error) {
	found, n, err := t.searchDocument(d)
	if err != nil {
		t.hits, t.count = nil, 0
		return false, err
	}
	t.hits, t.count = append(t.hits, found...), t.count+n
	t.pruneHits()
	if t.first != nil {
		t.cutBehind()
		return false, nil
	}
	t.ended = t.lookedEnough()
	return t.count > t.v.limit && !t.all || t.ended, nil
}

// lookedEnough reports whether the task may end before the limit: more matches than were
// requested were found in so many documents that more of them would hardly improve the
// choice.
func (t *taskVisit) lookedEnough() bool {
	return t.maxDocuments > 0 && t.documents >= t.maxDocuments && t.count > t.v.requested
}

// searchDocument evaluates the query for the places of a document.
func (t *taskVisit) searchDocument(d segment.DocID) (hits []hit, count int, err error) {
	f, m := t.v.finder, t.v.document
	f.Work.FilesConsidered++
	t.documents++
	m.ReleaseHeld()
	places := f.Seg.Places
	for i := int(places.First[d]); i < int(places.First[d+1]); i++ {
		if !f.Allows(i) || t.foundAt(i) {
			continue
		}
		ok, err := m.EvalQuery(d, i, t.matchRoom())
		if err != nil {
			return nil, 0, err
		}
		if f.ShouldStop() {
			return nil, 0, nil // a match may have been missed
		}
		if !ok {
			continue
		}
		h := hit{segment: t.segment, Hit: match.Hit{Place: i, Doc: d}}
		if ok, err = t.collectHit(&h); err != nil {
			return nil, 0, err
		}
		if !ok || mergeSameFile(hits, h, places) {
			continue
		}
		if err := m.SetRelevance(&h.Hit); err != nil {
			return nil, 0, err
		}
		if err := t.retainMatches(&h); err != nil {
			return nil, 0, err
		}
		t.kept += len(h.Matches)
		m.ReserveMemory(match.HitBytes + int64(len(h.Matches))*match.MatchBytes)
		count += h.Count
		hits = append(hits, h)
	}
	return hits, count, nil
}

// matchRoom returns the number of matches of a pattern in a document that may be shown.
func (t *taskVisit) matchRoom() int {
	switch {
	case t.v.bestOnly:
		return max(t.v.maxKept, MinLooked)
	case t.first != nil:
		return t.v.maxKept // which ones are kept in the end is not known yet
	}
	return t.v.maxKept - t.kept
}

// mergeSameFile reports whether hits already contains the file of h, found on another
// ref. If so, it adds the place to that hit.
func mergeSameFile(hits []hit, h hit, places *segment.Places) bool {
	if places.Ref == nil {
		return false
	}
	for i := range hits {
		other := &hits[i]
		if places.Repo[other.Place] == places.Repo[h.Place] && string(places.Path(other.Place)) == string(places.Path(h.Place)) {
			other.OtherPlaces = append(other.OtherPlaces, h.Place)
			return true
		}
	}
	return false
}
