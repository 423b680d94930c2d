package search

import (
	"slices"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/bitset"
)

// enoughDocuments is the number of documents that a search with enough matches looks at in
// one tier and segment; enoughTogether is that of documents with all terms, and enoughNamed
// that of documents with the name of a term. enoughDefinitions is that of the best
// definitions, in all segments.
const (
	enoughDocuments   = 100
	enoughTogether    = 400
	enoughNamed       = 25
	enoughDefinitions = 16
)

// maxDocuments returns the number of documents of a tier in one segment that suffice for
// the choice of the best, or 0 for no bound. surveyed means that the index has counted the
// candidates.
func (t tier) maxDocuments(surveyed bool) int {
	switch t {
	case tierNamed, tierAside:
		return enoughNamed
	case tierPhrase, tierPhraseAside, tierTogether, tierTogetherAside:
		return enoughTogether
	case tierMain, tierRest, tierAny:
		return enoughDocuments
	case tierAll:
		if !surveyed {
			return enoughDocuments
		}
	}
	return 0 // every definition counts
}

// enoughInAll returns the number of documents, in all segments and in the tiers up to t, that
// suffice for the choice of the best, or 0 for no bound.
func (t tier) enoughInAll(surveyed bool) int {
	if t == tierDefines {
		return enoughDefinitions
	}
	return t.maxDocuments(surveyed)
}

// termPlaces are places in the text of a segment: blocks or, if the index must not be
// read, whole documents.
type termPlaces struct {
	blocks    postings.Set
	documents bitset.Set
}

func (p *termPlaces) isEmpty() bool { return p.blocks.Len() == 0 && p.documents.Next(0) < 0 }

// hasDocument reports whether a document, whose text is between lo and hi, contains such
// a place.
func (p *termPlaces) hasDocument(d segment.DocID, lo, hi int) bool {
	if p.documents != nil {
		return p.documents.Has(int(d))
	}
	b := p.blocks.Next(lo / postings.BlockBytes)
	return b >= 0 && b*postings.BlockBytes < hi
}

// placeTermsOnce finds the places of the current segment that may contain a match of each
// of several terms, and those that may contain them as a phrase. It reuses the result
// later.
func (v *candidateFinder) placeTermsOnce(o *segmentState, a *schedule) error {
	if len(a.requiredAtoms) == 0 {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.placed {
		place := v.intersectTerms
		if v.seg.NoIndex {
			place = v.scanTerms
		}
		if err := place(o, a); err != nil {
			return err
		}
		o.placed = !v.shouldStop()
	}
	v.together, v.phrase = o.together, o.phrase
	return nil
}

// intersectTerms sets together and phrase to blocks, from the index.
func (v *candidateFinder) intersectTerms(o *segmentState, a *schedule) error {
	o.together, o.phrase = termPlaces{}, termPlaces{}
	for i, n := range a.requiredAtoms {
		if f := &v.atomCandidates[n]; i == 0 {
			o.together.blocks = f.blocks
		} else {
			o.together.blocks = postings.Intersection(o.together.blocks, f.blocks)
		}
	}
	if a.phrase == "" || o.together.blocks.Len() == 0 {
		return nil
	}
	o.phrase.blocks = postings.Intersection(o.together.blocks, o.together.blocks)
	return v.lookup.keepTrigrams(&o.phrase.blocks, a.phrase)
}

// documentsBySegment returns the documents of each segment, sorted.
func documentsBySegment(segments []corpus.Segment, documents []DocumentID) [][]segment.DocID {
	bySegment := make([][]segment.DocID, len(segments))
	for i := range segments {
		for _, d := range documents {
			if d.Segment == segments[i].Reader.ID() {
				bySegment[i] = append(bySegment[i], d.Doc)
			}
		}
		slices.Sort(bySegment[i])
		bySegment[i] = slices.Compact(bySegment[i])
	}
	return bySegment
}

// lastRanked returns the last task of tierFirst and tierDefines, whose documents all count
// before a search has enough, or 0 if there is none.
func (a *schedule) lastRanked() int {
	last := slices.Index(a.tiers, tierDefines)
	if a.first != nil || len(a.names) != 1 || last < 0 {
		last = slices.Index(a.tiers, tierFirst)
	}
	return max((last+1)*a.segments*a.bands-1, 0)
}

// isFirst reports whether a document is in tierFirst.
func (o *segmentState) isFirst(d segment.DocID) bool {
	_, found := slices.BinarySearch(o.first, d)
	return found
}

// tierOf returns the tier of a document.
func (v *candidateFinder) tierOf(d segment.DocID, o *segmentState, a *schedule) tier {
	if o.isFirst(d) {
		return tierFirst
	}
	together, named := false, o.tierOfName(d)
	if len(a.requiredAtoms) > 0 {
		lo, hi := v.seg.Reader.TextRange(d)
		together = v.together.hasDocument(d, lo, hi)
		switch phrase := v.phrase.hasDocument(d, lo, hi) && (named != tierDefines && named != tierJoined || !together); {
		case phrase && v.isAside(d):
			return tierPhraseAside
		case phrase:
			return tierPhrase
		}
	}
	if named != tierAll && (together || len(a.requiredAtoms) == 0) {
		return named
	}
	switch aside := v.isAside(d); {
	case a.tiers[len(a.tiers)-1] == tierAny:
		return tierAny
	case together && aside:
		return tierTogetherAside
	case together:
		return tierTogether
	case aside:
		return tierRest
	}
	return tierMain
}

// tierOfName returns the tier of a document that has the name of a term, or tierAll for
// any other document.
func (o *segmentState) tierOfName(d segment.DocID) tier {
	if o.namedDocs == nil || !o.namedDocs.Has(int(d)) {
		return tierAll
	}
	for i, docs := range o.named {
		if _, ok := slices.BinarySearch(docs, d); ok {
			return tierJoined + tier(i)
		}
	}
	return tierAll
}

// isAside reports whether a document should be visited late: test code, vendored,
// generated, or so large that it is data or concatenated files. A document with several
// places is judged by the first place that the caller may see.
func (v *candidateFinder) isAside(d segment.DocID) bool {
	lo, hi := v.seg.Reader.TextRange(d)
	flags := v.seg.Reader.Flags(d)
	if first := v.seg.FirstPlace(d); first >= 0 {
		flags |= v.seg.Places.Flags[first]
	}
	return flags&asideFlags != 0 || hi-lo >= largeBytes
}

// visitNamed returns the hits among documents that have the name of a term.
func (v *segmentSearcher) visitNamed(number int, o *segmentState, docs []segment.DocID, a *schedule) (hits []hit, count int, err error) {
	if len(docs) == 0 {
		return nil, 0, nil
	}
	if v.segmentCandidates = a.fullScan; len(docs) > maxUnaskedDocuments || o.hasCandidates() {
		if err := v.lookUpCandidates(o); err != nil || !v.possible {
			return nil, 0, err
		}
	}
	defer v.startMatching()()
	return v.visitList(number, docs)
}

// visitList returns the hits among documents, in their order, until there are enough.
func (v *segmentSearcher) visitList(number int, docs []segment.DocID) (hits []hit, count int, err error) {
	for _, d := range docs {
		if v.nextDocument(v.s.c.root, int(d)) != int(d) {
			continue
		}
		if v.shouldStop() || v.foundAll() {
			break
		}
		if !v.mayCount(int(d)) {
			continue
		}
		found, n, err := v.searchDocument(number, d)
		if err != nil {
			return nil, 0, err
		}
		var enough bool
		if hits, count, enough = v.keepHits(hits, found, count+n); enough {
			break
		}
	}
	return hits, count, nil
}
