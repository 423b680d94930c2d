package match

import (
	"context"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
)

// scanSymbols searches the symbol names of the visible documents of a segment.
func (f *NameFinder) scanSymbols(step func() bool, seg *corpus.Segment, text *segment.Text) error {
	for d := range seg.VisibleDocuments() {
		if !step() {
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
func (f *NameFinder) scanIdentifiers(step func() bool, seg *corpus.Segment, text *segment.Text, grams []postings.Trigram, left *int) error {
	finder := newGramFinder(grams)
	for d := range seg.VisibleDocuments() {
		lo, hi := seg.Reader.TextRange(d)
		for from := lo; from < hi; {
			if !step() {
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
