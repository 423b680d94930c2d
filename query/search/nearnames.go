package search

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math/bits"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/identifier"
	"github.com/quarrysearch/quarry/query/search/internal/admission"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/spelling"
)

// Bounds of near names.
const (
	// nearRunBlocks is the number of blocks that are read together. maxFoundNames bounds
	// the distinct near names that are kept.
	nearRunBlocks = 16
	maxFoundNames = 1000
	// maxSymbolBlocks bounds the blocks of symbol names, over all segments, that are
	// searched for names with more than one typing error. If there are more, no such name is
	// suggested: a word that is short, or made of common trigrams, is not near any block
	// more than another.
	maxSymbolBlocks = 1000
	// maxTextBlocks bounds the blocks of text, over all segments, that are searched for
	// identifiers that are not symbols. If there are more, no identifiers are suggested.
	maxTextBlocks = 2000
	// lostGrams is the maximum number of trigrams of a name that a typing error can
	// remove: swapping two letters removes all trigrams that contain either.
	lostGrams = 4
	// maxNearGrams bounds the trigrams of a word that are looked up.
	maxNearGrams = 63
	// minTextGrams is the number of a word's trigrams that a block of text must contain.
	minTextGrams = 4
)

// NearErrors returns how many typing errors a name near a word may have.
func NearErrors(word string) int {
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
	most    int // blocks of symbol names to search for names with more than one error
	blocks  int // blocks of names, or of text, that may contain a near name
	found   map[string]*nearName
	folded  []byte
	has     []uint64 // of likelyBlocks; zero between its calls
}

// NearNames returns the symbols near a word or, if inText is set, other identifiers, those
// with the fewest typing errors first, and then the most frequent. All of them occur in
// documents that the view shows and the filters select. If the letter case counts, the word
// in another letter case is a name without errors. A word longer than a name has none.
func (s *Searcher) NearNames(ctx context.Context, view corpus.View, c *ShardNames) ([]string, error) {
	if len(c.Word) > maxNameBytes {
		return nil, nil
	}
	var found []ShardNearName
	if shards, ok := view.(*shardedView); ok {
		found = shards.nearNames(ctx, c)
	} else {
		all, err := s.findNearNames(ctx, view, c)
		if err != nil {
			return nil, err
		}
		found = all.Names
	}
	slices.SortFunc(found, func(a, b ShardNearName) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name))
	})
	out := make([]string, 0, len(found))
	for _, n := range found {
		out = append(out, n.Name)
	}
	return out, nil
}

// findNearNames returns the names near a word in a view, in any order.
func (s *Searcher) findNearNames(ctx context.Context, view corpus.View, c *ShardNames) (*ShardNearNames, error) {
	ticket, err := s.admission.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer ticket.Leave()
	w := ticket.Worker(ctx.Done())
	defer w.End()
	fold := string(postings.AppendFold(nil, []byte(c.Word)))
	f := &nameFinder{word: fold, letters: letterSet([]byte(fold)), errors: c.MaxErrors, most: maxSymbolBlocks, found: map[string]*nearName{}}
	if c.CaseCounts {
		f.exact = c.Word
	}
	segments := view.Segments()
	if c.Filters != nil {
		if segments, err = s.selectSegments(ctx, view, c.Filters, func() bool { return !w.Step() }); err != nil {
			return nil, err
		}
	}
	if c.InText {
		err = f.searchIdentifiers(w, segments)
	} else {
		err = f.searchSymbols(w, segments, nearGrams("\n"+fold+"\n"))
	}
	if err != nil {
		return nil, err
	}
	all := &ShardNearNames{Blocks: f.blocks}
	for _, n := range f.found {
		all.Names = append(all.Names, ShardNearName{n.name, n.distance, n.count})
	}
	return all, nil
}

// selectSegments returns the segments in which filters select files, with only these files
// visible. If they are few, their text costs less to scan than the index of the segment.
func (s *Searcher) selectSegments(ctx context.Context, view corpus.View, filters *syntax.Parsed, stop func() bool) (selected []corpus.Segment, err error) {
	p, err := s.planSearch(ctx, view, Request{Query: filters, isPart: true})
	if err != nil {
		return nil, err
	}
	v := newCandidateFinder(p.scope, stop)
	v.linkParts()
	defer func() { err = errors.Join(err, v.close()) }()
	for _, seg := range p.segments {
		v.setSegment(seg)
		if err := v.prepareCandidates(); err != nil {
			return nil, err
		}
		if v.candidates.unfinished {
			return nil, context.Canceled
		}
		if !v.candidates.possible {
			continue
		}
		if v.candidates.allowed != nil {
			seg.Visible = v.candidates.allowed
			seg.NoIndex = seg.NoIndex || seg.VisibleBytes(maxAllowedBlocks*postings.BlockBytes) <= maxAllowedBlocks*postings.BlockBytes
		}
		selected = append(selected, seg)
	}
	return selected, nil
}

// nearGrams returns the trigrams of a word, in their order.
func nearGrams(word string) []postings.Trigram {
	grams := postings.AppendTrigrams(nil, []byte(word))
	return grams[:min(len(grams), maxNearGrams)]
}

// mayBeNear reports whether a piece of text that contains some of the n trigrams of a word
// may contain a name near it. Bit i of has stands for the trigram at position i of the
// word. A typing error removes at most lostGrams consecutive ones.
func (f *nameFinder) mayBeNear(has uint64, n int) bool {
	missing := ^has & (1<<n - 1)
	for e := 0; missing != 0; e++ {
		if e == f.errors {
			return false
		}
		missing &^= (1<<lostGrams - 1) << bits.TrailingZeros64(missing)
	}
	return true
}

// likelyBlocks returns the blocks of a segment, from block first on, that may contain a
// name near a word with these trigrams, in their order. There must be more of them than
// typing errors can remove. A block that is sought is in one of the shortest lists, as
// many as it may miss and one more. The longer lists are only searched for the blocks of
// those (DivideSkip: Li, Lu and Lu, Efficient Merging and Filtering Algorithms for
// Approximate String Searches, ICDE 2008).
func (f *nameFinder) likelyBlocks(l *indexLookup, grams []postings.Trigram, first int) (likely []uint32, err error) {
	type gramList struct {
		segment.ListRef
		bit uint64
	}
	var lists []gramList
	var rest uint64 // of the lists that were not read
	for i, t := range grams {
		if ref := l.findList(t); ref.Bytes() > 0 {
			lists = append(lists, gramList{ref, 1 << i})
			rest |= 1 << i
		}
	}
	if !f.mayBeNear(rest, len(grams)) {
		return nil, nil
	}
	slices.SortFunc(lists, func(a, b gramList) int { return cmp.Compare(a.Bytes(), b.Bytes()) })
	shortest := len(lists) - len(grams) + lostGrams*f.errors + 1
	n := max(l.r.Blocks()-first, 0)
	if n > len(f.has) {
		f.has = make([]uint64, n)
	}
	defer clear(f.has[:n])
	isUnlikely := func(b uint32) bool { return !f.mayBeNear(f.has[int(b)-first]|rest, len(grams)) }
	var found []uint32
	for i, g := range lists {
		if i >= shortest {
			if likely = slices.DeleteFunc(likely, isUnlikely); len(likely) == 0 {
				return nil, nil
			}
		}
		list, err := l.readList(g.ListRef)
		if err != nil {
			return nil, err
		}
		if i < shortest {
			set, err := postings.Tail(&list, first, l.r.Blocks())
			if err != nil {
				return nil, err
			}
			found = set.AppendBlocks(found[:0])
		} else if found, err = list.IntersectBlocks(append(found[:0], likely...)); err != nil {
			return nil, err
		}
		for _, b := range found {
			if f.has[int(b)-first] == 0 {
				likely = append(likely, b)
			}
			f.has[int(b)-first] |= g.bit
		}
		rest &^= g.bit
		if i == shortest-1 {
			slices.Sort(likely)
		}
	}
	return slices.DeleteFunc(likely, isUnlikely), nil
}

// searchSymbols searches the symbol names of all segments.
func (f *nameFinder) searchSymbols(w *admission.Worker, segments []corpus.Segment, grams []postings.Trigram) (err error) {
	blocks, sum := make([][]uint32, len(segments)), 0
	for i := range segments {
		if blocks[i], err = f.symbolBlocks(&segments[i], grams); err != nil {
			return err
		}
		sum += len(blocks[i])
	}
	if f.blocks = sum; f.errors > 1 && sum > f.most {
		return nil
	}
	for i := range segments {
		if err := f.searchSegmentSymbols(w, &segments[i], blocks[i]); err != nil {
			return err
		}
	}
	return nil
}

// symbolBlocks returns the blocks of symbol names of a segment without those that lack
// trigrams of the word, between line feeds, which its typing errors cannot have removed.
// It returns none for a segment whose index must not be read.
func (f *nameFinder) symbolBlocks(seg *corpus.Segment, grams []postings.Trigram) (blocks []uint32, err error) {
	r := seg.Reader
	start, end := r.TextEnd(), r.SpaceEnd()
	if start == end || seg.NoIndex {
		return nil, nil
	}
	first := start / postings.BlockBytes
	if len(grams) <= lostGrams*f.errors {
		for b := first; b*postings.BlockBytes < end; b++ {
			blocks = append(blocks, uint32(b))
		}
	} else {
		var cursor segment.Cursor
		defer func() { err = errors.Join(err, cursor.Close()) }()
		if blocks, err = f.likelyBlocks(&indexLookup{r: r, cursor: &cursor, work: &work{}}, grams, first); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(blocks, func(b uint32) bool {
		lo, hi := max(int(b)*postings.BlockBytes, start+1), min(int(b+1)*postings.BlockBytes, end) // the first name follows a line feed
		return lo >= hi || !seg.ShowsBetween(r.DocumentOfSymbol(lo), r.DocumentOfSymbol(hi-1))
	}), nil
}

// searchSegmentSymbols searches blocks of the symbol names of a segment, or all names that
// the caller may see if the index of the segment must not be read.
func (f *nameFinder) searchSegmentSymbols(w *admission.Worker, seg *corpus.Segment, blocks []uint32) (err error) {
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
	for len(blocks) > 0 {
		n := 1
		for n < min(len(blocks), nearRunBlocks) && blocks[n] == blocks[0]+uint32(n) {
			n++
		}
		if !w.Step() {
			return context.Canceled
		}
		lo, hi := int(blocks[0])*postings.BlockBytes, (int(blocks[0])+n)*postings.BlockBytes
		if err := f.searchSymbolNames(seg, text, max(lo, start), min(hi, end)); err != nil {
			return err
		}
		blocks = blocks[n:]
	}
	return nil
}

// searchSymbolNames checks the symbol names that begin between lo and hi.
func (f *nameFinder) searchSymbolNames(seg *corpus.Segment, text *segment.Text, lo, hi int) error {
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
		if d := f.nameDistance(piece[at : at+n]); d >= 0 && seg.FirstPlace(r.DocumentOfSymbol(from+at)) >= 0 {
			f.add(piece[at:at+n], d)
		}
		at += n + 1
	}
	return nil
}

// searchIdentifiers searches the text for words that are not symbols.
func (f *nameFinder) searchIdentifiers(w *admission.Worker, segments []corpus.Segment) error {
	grams := nearGrams(f.word)
	if len(grams)-lostGrams*f.errors < minTextGrams {
		return nil
	}
	left := maxTextBlocks
	for i := range segments {
		if err := f.searchSegmentIdentifiers(w, &segments[i], grams, &left); err != nil {
			return err
		}
		if f.blocks = maxTextBlocks - left; left < 0 {
			clear(f.found)
			return nil
		}
	}
	return nil
}

func (f *nameFinder) searchSegmentIdentifiers(w *admission.Worker, seg *corpus.Segment, grams []postings.Trigram, left *int) (err error) {
	r := seg.Reader
	if r.TextEnd() == 0 {
		return nil
	}
	var cursor segment.Cursor
	defer func() { err = errors.Join(err, cursor.Close()) }()
	text := segment.NewText(r, &cursor)
	if seg.NoIndex {
		return f.scanIdentifiers(w, seg, text, grams, left)
	}
	blocks, err := f.likelyBlocks(&indexLookup{r: r, cursor: &cursor, work: &work{}}, grams, 0)
	if err != nil {
		return err
	}
	for _, block := range blocks {
		lo := int(block) * postings.BlockBytes
		if lo >= r.TextEnd() {
			return nil
		}
		hi := min(lo+postings.BlockBytes, r.TextEnd())
		if !seg.ShowsBetween(r.DocumentAt(lo), r.DocumentAt(hi-1)) {
			continue
		}
		if *left--; *left < 0 {
			return nil
		}
		if !w.Step() {
			return context.Canceled
		}
		if err := f.searchWords(seg, text, lo, hi); err != nil {
			return err
		}
	}
	return nil
}

// searchWords checks the words of the text that begin between lo and hi. The words of two
// documents do not touch.
func (f *nameFinder) searchWords(seg *corpus.Segment, text *segment.Text, lo, hi int) error {
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
			if distance := f.nameDistance(piece[start:i]); distance >= 0 && seg.FirstPlace(d) >= 0 {
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
