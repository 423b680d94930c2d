package match

import (
	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/bitset"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TermPlaces are places in the text of a segment: blocks or, if the index must not be
// read, whole documents.
type TermPlaces struct {
	blocks    postings.Set
	documents bitset.Set
}

// IsEmpty reports whether there is no such place.
func (p *TermPlaces) IsEmpty() bool { return p.blocks.Len() == 0 && p.documents.Next(0) < 0 }

// HasDocument reports whether a document, whose text is between lo and hi, contains such
// a place.
func (p *TermPlaces) HasDocument(d segment.DocID, lo, hi int) bool {
	if p.documents != nil {
		return p.documents.Has(int(d))
	}
	b := p.blocks.Next(lo / postings.BlockBytes)
	return b >= 0 && b*postings.BlockBytes < hi
}

// PlaceTerms returns the places of the current segment that may contain a match of each of
// the required atoms, and those that may contain them as a phrase, if it is not empty.
func (v *Finder) PlaceTerms(required []int, phrase string) (together, inOrder TermPlaces, err error) {
	if v.Seg.NoIndex {
		return v.scanTerms(required, phrase)
	}
	for i, n := range required {
		if f := &v.Candidates.byAtom[n]; i == 0 {
			together.blocks = f.blocks
		} else {
			together.blocks = postings.Intersection(together.blocks, f.blocks)
		}
	}
	if phrase == "" || together.blocks.Len() == 0 {
		return together, inOrder, nil
	}
	inOrder.blocks = postings.Intersection(together.blocks, together.blocks)
	return together, inOrder, v.lookup.keepTrigrams(&inOrder.blocks, phrase)
}

// largeBytes is the size from which a document is visited late.
const largeBytes = 512 << 10

const asideFlags = code.FlagTest | code.FlagVendored | code.FlagGenerated

// IsAside reports whether a document should be visited late: test code, vendored,
// generated, or so large that it is data or concatenated files. A document with several
// places is judged by the first place that the caller may see.
func IsAside(seg *corpus.Segment, d segment.DocID) bool {
	lo, hi := seg.Reader.TextRange(d)
	flags := seg.Reader.Flags(d)
	if first := seg.FirstPlace(d); first >= 0 {
		flags |= seg.Places.Flags[first]
	}
	return flags&asideFlags != 0 || hi-lo >= largeBytes
}
