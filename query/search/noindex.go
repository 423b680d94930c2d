package search

import (
	"context"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/bitset"
	"github.com/quarrysearch/quarry/query/search/internal/admission"
	"github.com/quarrysearch/quarry/query/search/internal/scan"
)

// The index of a segment covers the text of all its documents, so the work of a lookup
// depends on all of them: whether a trigram exists, how long its list is, which blocks
// are read in vain. A caller who can measure that work, by the time of an answer or by
// counters, learns the text of hidden documents letter by letter. So a search reads the
// index of a segment only if the caller may see all repositories that brought its
// documents. Of any other segment it scans the visible documents, one by one
// (Segment.NoIndex). Merges put documents together that the same callers may see
// (pipeline/compactor), so such segments are rare.

// scanTerms is placeTerms without the index: it returns documents, from the visible text.
func (v *candidateFinder) scanTerms(required []int, written string) (together, inOrder termPlaces, err error) {
	documents := v.seg.Reader.Documents()
	together, inOrder = termPlaces{documents: bitset.New(documents)}, termPlaces{documents: bitset.New(documents)}
	terms := make([]*scan.Literals, len(required))
	for i, n := range required {
		p := v.s.c.atoms[n].pattern
		terms[i] = scan.NewLiterals(indexedSet(p.Sets), p.Fold)
	}
	var phrase *scan.Literals
	if written != "" {
		phrase = scan.NewLiterals([]string{written}, true)
	}
	for d := range v.seg.VisibleDocuments() {
		if v.shouldStop() {
			break
		}
		lo, hi := v.seg.Reader.TextRange(d)
		text, err := v.text.Bytes(lo, hi)
		if err != nil {
			return together, inOrder, err
		}
		v.work.ScannedBytes += int64(len(text))
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
func (n *nameSearcher) scanSymbols(x *termName) error {
	finder := scan.NewLiterals([]string{x.fold + "\n"}, true)
	for d := range n.v.seg.VisibleDocuments() {
		if n.v.shouldStop() {
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
func (n *nameSearcher) scanDocumentSymbols(x *termName, finder *scan.Literals, d segment.DocID) error {
	lo, hi := n.v.seg.Reader.SymbolRange(d)
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
			n.addDefinition(x, int(d), string(names[start:end-1]) == x.exact)
		}
	}
}

// scanSymbols searches the symbol names of the visible documents of a segment.
func (f *nameFinder) scanSymbols(w *admission.Worker, seg *corpus.Segment, text *segment.Text) error {
	for d := range seg.VisibleDocuments() {
		if !w.Step() {
			return context.Canceled
		}
		if lo, hi := seg.Reader.SymbolRange(d); lo < hi {
			if err := f.searchSymbolNames(seg, text, lo, hi); err != nil {
				return err
			}
		}
	}
	return nil
}

// scanIdentifiers is searchSegmentIdentifiers without the index: it finds the trigrams of
// each block of visible text.
func (f *nameFinder) scanIdentifiers(w *admission.Worker, seg *corpus.Segment, text *segment.Text, grams []postings.Trigram, left *int) error {
	finder := newGramFinder(grams)
	for d := range seg.VisibleDocuments() {
		lo, hi := seg.Reader.TextRange(d)
		for from := lo; from < hi; {
			if !w.Step() {
				return context.Canceled
			}
			to := min((from/postings.BlockBytes+1)*postings.BlockBytes, hi)
			block, err := text.Bytes(from, min(to+postings.OverhangBytes, hi))
			if err != nil {
				return err
			}
			if f.mayBeNear(finder.find(block), len(grams)) {
				if *left--; *left < 0 {
					return nil
				}
				if err := f.searchWords(seg, text, from, to); err != nil {
					return err
				}
			}
			from = to
		}
	}
	return nil
}

// gramFinder finds which of the given trigrams a text contains.
type gramFinder struct {
	positions map[postings.Trigram]uint64 // a bit for each position in the word
	mayHave   [1 << 8]bool                // by the last byte of a trigram
	folded    []byte
}

func newGramFinder(grams []postings.Trigram) *gramFinder {
	c := &gramFinder{positions: map[postings.Trigram]uint64{}}
	for i, t := range grams {
		c.positions[t] |= 1 << i
		c.mayHave[byte(t)] = true
	}
	return c
}

func (c *gramFinder) find(text []byte) (has uint64) {
	c.folded = postings.AppendFold(c.folded[:0], text)
	for i := 2; i < len(c.folded); i++ {
		if c.mayHave[c.folded[i]] {
			has |= c.positions[postings.MakeTrigram(c.folded[i-2], c.folded[i-1], c.folded[i])]
		}
	}
	return has
}
