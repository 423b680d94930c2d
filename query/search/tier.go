package search

import (
	"slices"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/match"
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
func (v *segmentSearcher) tierOf(d segment.DocID, o *segmentState, a *schedule) tier {
	if o.isFirst(d) {
		return tierFirst
	}
	together, named := false, o.tierOfName(d)
	if len(a.requiredAtoms) > 0 {
		lo, hi := v.finder.Seg.Reader.TextRange(d)
		together = v.together.HasDocument(d, lo, hi)
		switch phrase := v.phrase.HasDocument(d, lo, hi) && (named != tierDefines && named != tierJoined || !together); {
		case phrase && match.IsAside(&v.finder.Seg, d):
			return tierPhraseAside
		case phrase:
			return tierPhrase
		}
	}
	if named != tierAll && (together || len(a.requiredAtoms) == 0) {
		return named
	}
	switch aside := match.IsAside(&v.finder.Seg, d); {
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
	if o.named.All == nil || !o.named.All.Has(int(d)) {
		return tierAll
	}
	for i, docs := range o.named.Groups {
		if _, ok := slices.BinarySearch(docs, d); ok {
			return tierJoined + tier(i)
		}
	}
	return tierAll
}
