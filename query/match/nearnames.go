package match

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math"
	"math/bits"
	"slices"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/identifier"
	"github.com/quarrysearch/quarry/schemas/spelling"
)

// Bounds of near names.
const (
	// nearRunBlocks is the number of blocks that are read together. maxFoundNames bounds
	// the distinct near names that are kept.
	nearRunBlocks = 16
	maxFoundNames = 1000
	// MaxSymbolBlocks bounds the blocks of symbol names, over all segments, that are
	// searched for names with more than one typing error. If there are more, no such name is
	// suggested: a word that is short, or made of common trigrams, is not near any block
	// more than another.
	MaxSymbolBlocks = 1000
	// MaxTextBlocks bounds the blocks of text, over all segments, that are searched for
	// identifiers that are not symbols. If there are more, no identifiers are suggested.
	MaxTextBlocks = 2000
	// lostGrams is the maximum number of trigrams of a name that a typing error can
	// remove: swapping two letters removes all trigrams that contain either.
	lostGrams = 4
	// maxnearGrams bounds the trigrams of a word that are looked up.
	maxnearGrams = 63
	// minTextGrams is the number of a word's trigrams that a block of text must contain.
	minTextGrams = 4
)

// NearName is a name with its distance from the word and its number of occurrences.
type NearName struct {
	Name            string
	Distance, Count int
}

// NameFinder finds the names near a word.
type NameFinder struct {
	Blocks int // blocks of names, or of text, that may contain a near name
	Found  map[string]*NearName

	word    string // folded
	exact   string // the word as it is written, if its letter case counts; else empty
	letters uint64
	errors  int
	most    int // blocks of symbol names to search for names with more than one error
	folded  []byte
	has     []uint64 // of likelyBlocks; zero between its calls
}

// NewNameFinder returns a finder of names with at most the given number of typing errors. If
// the letter case counts, the word in another letter case is a name without errors.
func NewNameFinder(word string, caseCounts bool, errors int) *NameFinder {
	f := &NameFinder{
		Found: map[string]*NearName{},
		word:  string(postings.AppendFold(nil, []byte(word))), errors: errors, most: MaxSymbolBlocks,
	}
	if f.letters = letterSet([]byte(f.word)); caseCounts {
		f.exact = word
	}
	return f
}

// SelectVisible returns the segments in which the query of a scope selects files, with only
// these files visible. If they are few, their text costs less to scan than the index of the
// segment.
func SelectVisible(s *Scope, segments []corpus.Segment, stop func() bool) (selected []corpus.Segment, err error) {
	v := newFinder(s, stop)
	v.linkParts()
	defer func() { err = errors.Join(err, v.close()) }()
	for _, seg := range segments {
		v.setSegment(seg)
		if err := v.PrepareCandidates(); err != nil {
			return nil, err
		}
		if v.Candidates.Unfinished {
			return nil, context.Canceled
		}
		if !v.Candidates.Possible {
			continue
		}
		if v.Candidates.allowed != nil {
			seg.Visible = v.Candidates.allowed
			seg.NoIndex = seg.NoIndex || seg.VisibleBytes(maxAllowedBlocks*postings.BlockBytes) <= maxAllowedBlocks*postings.BlockBytes
		}
		selected = append(selected, seg)
	}
	return selected, nil
}

// nearGrams returns the trigrams of a word, in their order.
func nearGrams(word string) []postings.Trigram {
	grams := postings.AppendTrigrams(nil, []byte(word))
	return grams[:min(len(grams), maxnearGrams)]
}

// mayBeNear reports whether a piece of text that contains some of the n trigrams of a word
// may contain a name near it. Bit i of has stands for the trigram at position i of the
// word. A typing error removes at most lostGrams consecutive ones.
func (f *NameFinder) mayBeNear(has uint64, n int) bool {
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
// typing errors can remove. A block that is sought is in one of the lists that spreadLists
// chooses. The other lists are only searched for the blocks of those (as in DivideSkip: Li, Lu
// and Lu, Efficient Merging and Filtering Algorithms for Approximate String Searches, ICDE 2008).
func (f *NameFinder) likelyBlocks(l *indexLookup, grams []postings.Trigram, first int) (likely []uint32, err error) {
	type gramList struct {
		segment.ListRef
		bit uint64
	}
	lists, sizes := make([]gramList, 0, len(grams)), make([]int, len(grams))
	var rest uint64 // of the lists that were not read
	for i, t := range grams {
		ref := l.findList(t)
		if sizes[i] = ref.Bytes(); sizes[i] > 0 {
			lists = append(lists, gramList{ref, 1 << i})
			rest |= 1 << i
		}
	}
	if !f.mayBeNear(rest, len(grams)) {
		return nil, nil
	}
	spread := spreadLists(sizes, f.errors)
	slices.SortFunc(lists, func(a, b gramList) int { // the chosen ones first
		return cmp.Or(bits.OnesCount64(b.bit&spread)-bits.OnesCount64(a.bit&spread), a.Bytes()-b.Bytes())
	})
	whole := bits.OnesCount64(spread & rest)
	n := max(l.r.Blocks()-first, 0)
	if n > len(f.has) {
		f.has = make([]uint64, n)
	}
	defer clear(f.has[:n])
	isUnlikely := func(b uint32) bool { return !f.mayBeNear(f.has[int(b)-first]|rest, len(grams)) }
	var found []uint32
	for i, g := range lists {
		if i >= whole {
			if likely = slices.DeleteFunc(likely, isUnlikely); len(likely) == 0 {
				return nil, nil
			}
		}
		list, err := l.readList(g.ListRef)
		if err != nil {
			return nil, err
		}
		if i < whole {
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
		if i == whole-1 {
			slices.Sort(likely)
		}
	}
	return slices.DeleteFunc(likely, isUnlikely), nil
}

// spreadLists returns a bit for each list to read in full, of the given sizes: the smallest
// ones, one more than there are errors, that are so far apart that one error cannot remove the
// trigrams of two. A name with these errors has one of their trigrams.
func spreadLists(sizes []int, errors int) (chosen uint64) {
	const none = math.MaxInt / 2
	// least[k][i] is the least size of k lists among the first i.
	least := make([][]int, errors+2)
	least[0] = make([]int, len(sizes)+1)
	for k := 1; k < len(least); k++ {
		least[k] = make([]int, len(sizes)+1)
		least[k][0] = none
		for i, size := range sizes {
			least[k][i+1] = min(least[k][i], least[k-1][max(i+1-lostGrams, 0)]+size)
		}
	}
	for k, i := errors+1, len(sizes); k > 0; {
		if least[k][i] == least[k][i-1] {
			i--
			continue
		}
		chosen |= 1 << (i - 1)
		k, i = k-1, max(i-lostGrams, 0)
	}
	return chosen
}

// SearchSymbols searches the symbol names of all segments.
func (f *NameFinder) SearchSymbols(step func() bool, segments []corpus.Segment) (err error) {
	grams := nearGrams("\n" + f.word + "\n")
	blocks, sum := make([][]uint32, len(segments)), 0
	for i := range segments {
		if blocks[i], err = f.symbolBlocks(&segments[i], grams); err != nil {
			return err
		}
		sum += len(blocks[i])
	}
	if f.Blocks = sum; f.errors > 1 && sum > f.most {
		return nil
	}
	for i := range segments {
		if err := f.searchSegmentSymbols(step, &segments[i], blocks[i]); err != nil {
			return err
		}
	}
	return nil
}

// symbolBlocks returns the blocks of symbol names of a segment without those that lack
// trigrams of the word, between line feeds, which its typing errors cannot have removed.
// It returns none for a segment whose index must not be read.
func (f *NameFinder) symbolBlocks(seg *corpus.Segment, grams []postings.Trigram) (blocks []uint32, err error) {
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
		if blocks, err = f.likelyBlocks(&indexLookup{r: r, cursor: &cursor, work: &Work{}}, grams, first); err != nil {
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
func (f *NameFinder) searchSegmentSymbols(step func() bool, seg *corpus.Segment, blocks []uint32) (err error) {
	r := seg.Reader
	start, end := r.TextEnd(), r.SpaceEnd()
	if start == end {
		return nil
	}
	var cursor segment.Cursor
	defer func() { err = errors.Join(err, cursor.Close()) }()
	text := segment.NewText(r, &cursor)
	if seg.NoIndex {
		return f.scanSymbols(step, seg, text)
	}
	for len(blocks) > 0 {
		n := 1
		for n < min(len(blocks), nearRunBlocks) && blocks[n] == blocks[0]+uint32(n) {
			n++
		}
		if !step() {
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
func (f *NameFinder) searchSymbolNames(seg *corpus.Segment, text *segment.Text, lo, hi int) error {
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

// SearchIdentifiers searches the text for words that are not symbols.
func (f *NameFinder) SearchIdentifiers(step func() bool, segments []corpus.Segment) error {
	grams := nearGrams(f.word)
	if len(grams)-lostGrams*f.errors < minTextGrams {
		return nil
	}
	left := MaxTextBlocks
	for i := range segments {
		if err := f.searchSegmentIdentifiers(step, &segments[i], grams, &left); err != nil {
			return err
		}
		if f.Blocks = MaxTextBlocks - left; left < 0 {
			clear(f.Found)
			return nil
		}
	}
	return nil
}

func (f *NameFinder) searchSegmentIdentifiers(step func() bool, seg *corpus.Segment, grams []postings.Trigram, left *int) (err error) {
	r := seg.Reader
	if r.TextEnd() == 0 {
		return nil
	}
	var cursor segment.Cursor
	defer func() { err = errors.Join(err, cursor.Close()) }()
	text := segment.NewText(r, &cursor)
	if seg.NoIndex {
		return f.scanIdentifiers(step, seg, text, grams, left)
	}
	blocks, err := f.likelyBlocks(&indexLookup{r: r, cursor: &cursor, work: &Work{}}, grams, 0)
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
		if !step() {
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
func (f *NameFinder) searchWords(seg *corpus.Segment, text *segment.Text, lo, hi int) error {
	r := seg.Reader
	d := r.DocumentAt(lo)
	first, end := r.TextRange(d)
	from := max(lo-1, first)
	piece, err := text.Bytes(from, min(hi+postings.OverhangBytes, r.TextEnd()))
	if err != nil {
		return err
	}
	for i, limit := 0, min(len(piece), end-from); from+i < hi; {
		for i < limit && !identifier.IsWordByte(piece[i]) {
			i++
		}
		start := i
		for i < limit && identifier.IsWordByte(piece[i]) {
			i++
		}
		if start < i && from+start >= lo && from+start < hi {
			if distance := f.nameDistance(piece[start:i]); distance >= 0 && seg.FirstPlace(d) >= 0 {
				f.add(piece[start:i], distance)
			}
		}
		if i == len(piece) {
			break
		}
		if i == limit {
			d = r.DocumentAt(end)
			_, end = r.TextRange(d)
			limit = min(len(piece), end-from)
		}
	}
	return nil
}

// nameDistance returns the number of typing errors of a name. It returns -1 if there are
// too many, or if the name is the word itself or cannot be written as a term.
func (f *NameFinder) nameDistance(name []byte) int {
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

func (f *NameFinder) add(name []byte, distance int) {
	if n := f.Found[string(name)]; n != nil {
		n.Count++
	} else if len(f.Found) < maxFoundNames {
		f.Found[string(name)] = &NearName{string(name), distance, 1}
	}
}
