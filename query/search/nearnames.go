package search

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/search/internal/admission"
	"github.com/quarrysearch/quarry/query/search/internal/identifier"
	"github.com/quarrysearch/quarry/schemas/spelling"
)

// Bounds of near names.
const (
	// nearRunBlocks is the number of blocks that are read together. maxFoundNames bounds
	// the distinct near names that are kept.
	nearRunBlocks = 16
	maxFoundNames = 1000
	// maxTextBlocks bounds the blocks of text, over all segments, that are searched for
	// identifiers that are not symbols. If there are more, no identifiers are suggested.
	maxTextBlocks = 2000
	// lostGrams is the maximum number of trigrams of a name that a typing error can
	// remove: swapping two letters removes all trigrams that contain either.
	lostGrams = 4
	// minTextGrams is the number of a word's trigrams that a block of text must contain.
	minTextGrams = 4
)

// nearErrors returns how many typing errors a name near a word may have.
func nearErrors(word string) int {
	if len(word) < 8 {
		return 1
	}
	return 2
}

// nearName is a name with its distance from the word and its number of occurrences.
type nearName struct {
	name            string
	distance, count int
}

// nameFinder finds the names near a word.
type nameFinder struct {
	word    string // folded
	exact   string // the word as it is written, if its letter case counts; else empty
	letters uint64
	errors  int
	found   map[string]*nearName
	folded  []byte
}

// nearNames returns the symbols with the fewest typing errors, most frequent first, or
// identifiers if there are no such symbols. All of them occur in documents that the view
// shows. If the letter case counts, the word in another letter case is a name without errors.
func (s *Searcher) nearNames(ctx context.Context, view View, word string, caseCounts bool) ([]string, error) {
	ticket, err := s.admission.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer ticket.Leave()
	w := ticket.Worker(ctx.Done())
	defer w.End()
	fold := string(postings.AppendFold(nil, []byte(word)))
	f := &nameFinder{word: fold, letters: letterSet([]byte(fold)), errors: nearErrors(fold), found: map[string]*nearName{}}
	if caseCounts {
		f.exact = word
	}
	segments := view.Segments()
	for i := range segments {
		if err := f.searchSymbols(w, &segments[i]); err != nil {
			return nil, err
		}
	}
	if len(f.found) == 0 {
		f.errors = 1
		if err := f.searchIdentifiers(w, segments); err != nil {
			return nil, err
		}
	}
	names := slices.SortedFunc(maps.Values(f.found), func(a, b *nearName) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(b.count, a.count), strings.Compare(a.name, b.name))
	})
	out := make([]string, 0, len(names))
	for _, n := range names {
		out = append(out, n.name)
	}
	return out, nil
}

// blockGrams counts how many of the given trigrams each block of a segment contains, from
// block first on.
func blockGrams(l *indexLookup, grams []postings.Trigram, first int) ([]uint8, error) {
	counts := make([]uint8, max(l.r.Blocks()-first, 0))
	for _, t := range grams[:min(len(grams), 200)] {
		ref := l.findList(t)
		if ref.Bytes() == 0 {
			continue
		}
		list, err := l.readList(ref)
		if err != nil {
			return nil, err
		}
		set, err := postings.Tail(&list, first, l.r.Blocks())
		if err != nil {
			return nil, err
		}
		for b := set.Next(first); b >= 0; b = set.Next(b + 1) {
			counts[b-first]++
		}
	}
	return counts, nil
}

// searchSymbols searches the symbol names of a segment. It skips each block that lacks
// more trigrams of the word than its typing errors can remove.
func (f *nameFinder) searchSymbols(w *admission.Worker, seg *Segment) (err error) {
	r := seg.Reader
	start, end := r.TextEnd(), r.SpaceEnd()
	if start == end {
		return nil
	}
	var cursor segment.Cursor
	defer func() { err = errors.Join(err, cursor.Close()) }()
	text := segment.NewText(r, &cursor)
	if seg.NoIndex {
		return f.scanSymbols(w, seg, text)
	}
	l := &indexLookup{r: r, cursor: &cursor, stats: &Stats{}}
	first := start / postings.BlockBytes
	grams := l.trigramsOf("\n" + f.word + "\n")
	least := len(grams) - lostGrams*f.errors
	var counts []uint8
	if least > 0 {
		if counts, err = blockGrams(l, grams, first); err != nil {
			return err
		}
	}
	may := func(b int) bool { return least <= 0 || int(counts[b-first]) >= least }
	last := (end - 1) / postings.BlockBytes
	for b := first; b <= last; b++ {
		if !may(b) {
			continue
		}
		to := b + 1
		for to <= last && to-b < nearRunBlocks && may(to) {
			to++
		}
		if !w.Step() {
			return context.Canceled
		}
		if err := f.searchSymbolNames(seg, text, max(b*postings.BlockBytes, start), min(to*postings.BlockBytes, end)); err != nil {
			return err
		}
		b = to - 1
	}
	return nil
}

// searchSymbolNames checks the symbol names that begin between lo and hi.
func (f *nameFinder) searchSymbolNames(seg *Segment, text *segment.Text, lo, hi int) error {
	r := seg.Reader
	from := max(lo-1, r.TextEnd())
	piece, err := text.Bytes(from, min(hi+postings.OverhangBytes, r.SpaceEnd()))
	if err != nil {
		return err
	}
	at := bytes.IndexByte(piece, '\n') + 1
	if at == 0 {
		return nil
	}
	for from+at < hi {
		n := bytes.IndexByte(piece[at:], '\n')
		if n < 0 {
			return nil // longer than any name that is compared
		}
		if d := f.nameDistance(piece[at : at+n]); d >= 0 && seg.firstPlace(r.DocumentOfSymbol(from+at)) >= 0 {
			f.add(piece[at:at+n], d)
		}
		at += n + 1
	}
	return nil
}

// searchIdentifiers searches the text for words that are not symbols.
func (f *nameFinder) searchIdentifiers(w *admission.Worker, segments []Segment) error {
	grams := postings.AppendTrigrams(nil, []byte(f.word))
	slices.Sort(grams)
	grams = slices.Compact(grams)
	least := len(grams) - lostGrams*f.errors
	if least < minTextGrams {
		return nil
	}
	left := maxTextBlocks
	for i := range segments {
		if err := f.searchSegmentIdentifiers(w, &segments[i], grams, least, &left); err != nil {
			return err
		}
		if left < 0 {
			clear(f.found)
			return nil
		}
	}
	return nil
}

func (f *nameFinder) searchSegmentIdentifiers(w *admission.Worker, seg *Segment, grams []postings.Trigram, least int, left *int) (err error) {
	r := seg.Reader
	if r.TextEnd() == 0 {
		return nil
	}
	var cursor segment.Cursor
	defer func() { err = errors.Join(err, cursor.Close()) }()
	text := segment.NewText(r, &cursor)
	if seg.NoIndex {
		return f.scanIdentifiers(w, seg, text, grams, least, left)
	}
	counts, err := blockGrams(&indexLookup{r: r, cursor: &cursor, stats: &Stats{}}, grams, 0)
	if err != nil {
		return err
	}
	for b := 0; b*postings.BlockBytes < r.TextEnd(); b++ {
		if int(counts[b]) < least {
			continue
		}
		if *left--; *left < 0 {
			return nil
		}
		if !w.Step() {
			return context.Canceled
		}
		if err := f.searchWords(seg, text, b*postings.BlockBytes, min((b+1)*postings.BlockBytes, r.TextEnd())); err != nil {
			return err
		}
	}
	return nil
}

// searchWords checks the words of the text that begin between lo and hi. The words of two
// documents do not touch.
func (f *nameFinder) searchWords(seg *Segment, text *segment.Text, lo, hi int) error {
	r := seg.Reader
	d := r.DocumentAt(lo)
	first, end := r.TextRange(d)
	from := max(lo-1, first)
	piece, err := text.Bytes(from, min(hi+postings.OverhangBytes, r.TextEnd()))
	if err != nil {
		return err
	}
	start := -1
	for i := 0; i <= len(piece); i++ {
		isEnd := from+i == end
		if i < len(piece) && !isEnd && identifier.IsWordByte(piece[i]) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 && from+start >= lo && from+start < hi {
			if distance := f.nameDistance(piece[start:i]); distance >= 0 && seg.firstPlace(d) >= 0 {
				f.add(piece[start:i], distance)
			}
		}
		if start = -1; from+i >= hi {
			return nil
		}
		if isEnd && i < len(piece) {
			d = r.DocumentAt(end)
			if _, end = r.TextRange(d); identifier.IsWordByte(piece[i]) {
				start = i
			}
		}
	}
	return nil
}

// nameDistance returns the number of typing errors of a name. It returns -1 if there are
// too many, or if the name is the word itself or cannot be written as a term.
func (f *nameFinder) nameDistance(name []byte) int {
	if difference := len(name) - len(f.word); difference > f.errors || -difference > f.errors {
		return -1
	}
	if bits.OnesCount64(f.letters^letterSet(name)) > 2*f.errors {
		return -1
	}
	f.folded = postings.AppendFold(f.folded[:0], name)
	d := spelling.Distance(f.word, string(f.folded), f.errors)
	if d == 0 && (f.exact == "" || f.exact == string(name)) || d > f.errors || identifier.Trim(string(name)) != string(name) {
		return -1
	}
	return d
}

// letterSet returns the set of bytes of a name, ignoring letter case. Several bytes may
// share a bit.
func letterSet(name []byte) uint64 {
	var set uint64
	for _, c := range name {
		set |= 1 << (c & 31)
	}
	return set
}

func (f *nameFinder) add(name []byte, distance int) {
	if n := f.found[string(name)]; n != nil {
		n.count++
	} else if len(f.found) < maxFoundNames {
		f.found[string(name)] = &nearName{string(name), distance, 1}
	}
}
