package match

import (
	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/internal/bitset"
	"github.com/quarrysearch/quarry/query/match/internal/scan"
)

// The index of a segment covers the text of all its documents, so the work of a lookup
// depends on all of them: whether a trigram exists, how long its list is, which blocks
// are read in vain. A caller who can measure that work, by the time of an answer or by
// counters, learns the text of hidden documents letter by letter. So a search reads the
// index of a segment only if the caller may see all repositories that brought its
// documents. Of any other segment it scans the visible documents, one by one
// (Segment.NoIndex). Merges put documents together that the same callers may see
// (pipeline/compactor), so such segments are rare.

// scanTerms is PlaceTerms without the index: it returns documents, from the visible text.
func (v *Finder) scanTerms(required []int, written string) (together, inOrder TermPlaces, err error) {
	documents := v.Seg.Reader.Documents()
	together, inOrder = TermPlaces{documents: bitset.New(documents)}, TermPlaces{documents: bitset.New(documents)}
	terms := make([]*scan.Literals, len(required))
	for i, n := range required {
		p := v.s.Query.Atoms[n].pattern
		terms[i] = scan.NewLiterals(indexedSet(p.Sets), p.Fold)
	}
	var phrase *scan.Literals
	if written != "" {
		phrase = scan.NewLiterals([]string{written}, true)
	}
	for d := range v.Seg.VisibleDocuments() {
		if v.ShouldStop() {
			break
		}
		lo, hi := v.Seg.Reader.TextRange(d)
		text, err := v.text.Bytes(lo, hi)
		if err != nil {
			return together, inOrder, err
		}
		v.Work.ScannedBytes += int64(len(text))
		if !haveTogether(text, lo%postings.BlockBytes, terms) {
			continue
		}
		together.documents.Add(int(d))
		if phrase == nil {
			continue
		}
		phrase.Reset(text)
		if start, _ := phrase.Next(0); start >= 0 {
			inOrder.documents.Add(int(d))
		}
	}
	return together, inOrder, nil
}

// haveTogether reports whether an occurrence of each term starts in one block of a text
// that begins at an offset in its first block.
func haveTogether(text []byte, offset int, terms []*scan.Literals) bool {
	together := bitset.Set(nil)
	for _, t := range terms {
		blocks, some := bitset.New((offset+len(text))/postings.BlockBytes+1), false
		t.Reset(text)
		for at, _ := t.Next(0); at >= 0; {
			b := (offset + at) / postings.BlockBytes
			if together == nil || together.Has(b) {
				blocks.Add(b)
				some = true
			}
			if next := (b+1)*postings.BlockBytes - offset; next < len(text) {
				at, _ = t.Next(next)
			} else {
				at = -1
			}
		}
		if !some {
			return false
		}
		together = blocks
	}
	return true
}

// scanSymbols adds the visible documents that define a symbol of that name.
func (n *nameSearcher) scanSymbols(x *Name) error {
	finder := scan.NewLiterals([]string{x.Fold + "\n"}, true)
	for d := range n.v.Seg.VisibleDocuments() {
		if n.v.ShouldStop() {
			return nil
		}
		if err := n.scanDocumentSymbols(x, finder, d); err != nil {
			return err
		}
	}
	return nil
}

// scanDocumentSymbols adds a document if it defines a symbol of that name. finder finds the
// name and the line feed after it.
func (n *nameSearcher) scanDocumentSymbols(x *Name, finder *scan.Literals, d segment.DocID) error {
	lo, hi := n.v.Seg.Reader.SymbolRange(d)
	names, err := n.v.text.Bytes(lo, hi)
	if err != nil {
		return err
	}
	finder.Reset(names)
	for at := 0; ; {
		start, end := finder.Next(at)
		if start < 0 {
			return nil
		}
		if at = end; start == 0 || names[start-1] == '\n' {
			n.addDefinition(x, int(d), string(names[start:end-1]) == x.Exact)
		}
	}
}
