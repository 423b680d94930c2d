package match

import (
	"slices"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/internal/bitset"
)

// maxLists bounds the posting lists read for one literal in one segment.
const maxLists = 16

// Costs in nanoseconds that decide when an intersection stops: scanning a candidate block
// versus reading and intersecting one more list, with frames in the cache and without.
// They are estimates; only their ratio matters.
const (
	blockCost    = 4000
	listCost     = 2500
	listByteCost = 3
)

// Candidates is the information about a segment from its index and places, before
// its text is read.
type Candidates struct {
	Possible      bool             // the segment can have a hit
	Unfinished    bool             // the lookup stopped before it was complete
	byAtom        []atomCandidates // the first atomsLookedUp are known
	atomsLookedUp int
	columns       []bitset.Set // by predicate, nil where it was not evaluated; the last one is empty
	allowed       bitset.Set   // places for which the predicates allow the query to be true
	fewAllowed    bool         // so few that the index was not searched
}

func newCandidates(c *Query) *Candidates {
	return &Candidates{byAtom: make([]atomCandidates, len(c.Atoms)), columns: make([]bitset.Set, len(c.Predicates)+1)}
}

// atomCandidates are the blocks of a segment in which an atom may match according to the
// index.
type atomCandidates struct {
	// blocks may contain a match or, for a pattern with literals, the start of one.
	blocks postings.Set
	all    bool // the index gives no information: every block may match
	// literals is the set of the pattern that blocks was computed from, without the
	// literals that the segment lacks.
	literals []string
	// requiredBlocks are additional sets of blocks. A document with a match has a block
	// in each: two literals of one expression may be in different blocks.
	requiredBlocks []postings.Set
	// textBlocks are, for an atom among symbols, sets of blocks of text. A document with a
	// match has one in each.
	textBlocks []postings.Set
}

// maxRequiredSets bounds the additional sets that are looked up for an expression.
const maxRequiredSets = 2

func (f *atomCandidates) isEmpty() bool { return !f.all && f.blocks.Len() == 0 }

// indexLookup searches the index of one segment.
type indexLookup struct {
	r      *segment.Reader
	cursor *segment.Cursor
	work   *Work
	// of the query, by literal
	trigrams map[string][]postings.Trigram
	pairs    map[string][]postings.Trigram
	grams    map[string][]postings.Gram
	lists    []segment.ListRef
}

// findAtom returns the blocks where an atom may match.
func (l *indexLookup) findAtom(a *Atom) (atomCandidates, error) {
	if !a.mayHaveKind(l.r) {
		return atomCandidates{}, nil
	}
	f, err := l.findPattern(a)
	if err != nil || f.isEmpty() {
		return f, err
	}
	return l.findLines(a, f)
}

// findPattern returns the blocks where the pattern of an atom may match. It uses the set
// of literals that is rarest in the segment.
func (l *indexLookup) findPattern(a *Atom) (atomCandidates, error) {
	if a.re2 != nil {
		return atomCandidates{all: true}, nil
	}
	if a.Symbols && a.pattern.Bounded() {
		return l.findSymbol(a)
	}
	if a.pattern.Exact && len(a.pattern.Sets) == 1 {
		return l.setBlocks(a.pattern.Sets[0], a.pattern.Fold)
	}
	best, bestCost := -1, 0
	for i, set := range a.pattern.Sets {
		cost := l.setCost(set)
		if cost == 0 {
			return atomCandidates{}, nil
		}
		if best < 0 || cost < bestCost {
			best, bestCost = i, cost
		}
	}
	if best < 0 {
		return l.findRuns(a)
	}
	f, err := l.setBlocks(a.pattern.Sets[best], a.pattern.Fold)
	if err != nil || f.isEmpty() || f.all || a.pattern.Exact {
		return f, err
	}
	return f, l.addRequiredSets(&f, a, best)
}

// findSymbol finds the symbols that begin or end with a literal. In the index, each name
// is enclosed in line feeds.
func (l *indexLookup) findSymbol(a *Atom) (atomCandidates, error) {
	name := a.pattern.Sets[0][0]
	if a.pattern.LineStart {
		name = "\n" + name
	}
	if a.pattern.LineEnd {
		name += "\n"
	}
	f, err := l.setBlocks([]string{name}, a.pattern.Fold)
	if len(f.literals) > 0 {
		f.literals = a.pattern.Sets[0]
	}
	return f, err
}

// findRuns finds the blocks where the run of a pattern without literals can start.
func (l *indexLookup) findRuns(a *Atom) (atomCandidates, error) {
	q, ok := postings.FindRun(&a.pattern.Run.Class, a.pattern.Run.Bytes)
	if !ok {
		return atomCandidates{all: true}, nil
	}
	blocks, err := l.r.Runs(l.cursor, q)
	l.work.IndexBytes += int64(postings.RunBytes(l.r.Blocks()))
	return atomCandidates{blocks: blocks}, err
}

// addRequiredSets looks up the other sets of a pattern if the first leaves many blocks to
// scan. If a match is in one line, it keeps the blocks near those of the other sets.
func (l *indexLookup) addRequiredSets(f *atomCandidates, a *Atom, best int) error {
	inLine := (!a.pattern.Multiline || a.Symbols) && l.r.HasCapitalPairs()
	for i, set := range a.pattern.Sets {
		if i == best || len(f.requiredBlocks) == maxRequiredSets || f.blocks.Len()*blockCost < listCost*2*len(set) {
			continue
		}
		other, err := l.setBlocks(set, a.pattern.Fold)
		if err != nil {
			return err
		}
		if other.all {
			continue
		}
		f.requiredBlocks = append(f.requiredBlocks, other.blocks)
		if !inLine {
			continue
		}
		long, err := l.longLines()
		if err != nil {
			return err
		}
		f.blocks.KeepNear(&other.blocks, &long)
	}
	return nil
}

// longLines returns the blocks without a line feed.
func (l *indexLookup) longLines() (postings.Set, error) {
	ref := l.findList(postings.LongLines)
	if ref.Bytes() == 0 {
		return postings.Set{}, nil
	}
	list, err := l.readList(ref)
	if err != nil {
		return postings.Set{}, err
	}
	return postings.SetOf(&list, l.r.Blocks())
}

// setCost estimates the posting bytes of a set of literals, and so its number of blocks.
func (l *indexLookup) setCost(set []string) int {
	sum := 0
	for _, s := range set {
		sum += l.literalCost(s)
	}
	return sum
}

// literalCost returns the size of the smallest list of a literal. A literal without
// trigrams may be in every block.
func (l *indexLookup) literalCost(literal string) int {
	smallest := l.r.Blocks()
	for _, t := range l.trigramsOf(literal) {
		size := l.findList(t).Bytes()
		if size == 0 {
			return 0
		}
		smallest = min(smallest, size)
	}
	return max(smallest, 1)
}

// findList looks up a trigram.
func (l *indexLookup) findList(t postings.Trigram) segment.ListRef {
	l.work.TrigramLookups++
	list := l.r.FindList(t)
	if list.Bytes() > 0 {
		l.work.TrigramMatches++
	}
	return list
}

// trigramsOf returns the distinct trigrams of a folded literal.
func (l *indexLookup) trigramsOf(literal string) []postings.Trigram {
	trigrams, ok := l.trigrams[literal]
	if !ok {
		trigrams = postings.AppendTrigrams(nil, postings.AppendFold(nil, []byte(literal)))
		slices.Sort(trigrams)
		trigrams = slices.Compact(trigrams)
		if l.trigrams == nil {
			l.trigrams = map[string][]postings.Trigram{}
		}
		l.trigrams[literal] = trigrams
	}
	return trigrams
}

// gramsOf returns the grams of a folded literal.
func (l *indexLookup) gramsOf(literal string) []postings.Gram {
	grams, ok := l.grams[literal]
	if !ok {
		grams = postings.AppendGrams(nil, postings.AppendFold(nil, []byte(literal)))
		if l.grams == nil {
			l.grams = map[string][]postings.Gram{}
		}
		l.grams[literal] = grams
	}
	return grams
}

// setBlocks returns the blocks that may contain one of a set of literals, in any letter case
// with fold.
func (l *indexLookup) setBlocks(set []string, fold bool) (atomCandidates, error) {
	f := atomCandidates{}
	for _, s := range set {
		blocks, all, err := l.literalBlocks(s, fold)
		if err != nil {
			return atomCandidates{}, err
		}
		if !all && blocks.Len() == 0 {
			continue
		}
		if f.all = f.all || all; !f.all {
			if len(f.literals) == 0 {
				f.blocks = blocks
			} else {
				f.blocks.Union(blocks)
			}
		}
		f.literals = append(f.literals, s)
	}
	return f, nil
}

// listsOf looks up the lists of a literal's trigrams and returns them shortest first. It
// sets found to false if the segment lacks one of them. The lists are valid until the
// next call.
func (l *indexLookup) listsOf(literal string) (lists []segment.ListRef, found bool) {
	l.lists = l.lists[:0]
	for _, t := range l.trigramsOf(literal) {
		list := l.findList(t)
		if list.Bytes() == 0 {
			return nil, false
		}
		l.lists = append(l.lists, list)
	}
	slices.SortFunc(l.lists, compareLists)
	return l.lists, true
}

func compareLists(a, b segment.ListRef) int { return a.Bytes() - b.Bytes() }

// addPairLists adds the lists of the capital pairs of a literal to those of its trigrams, if
// the segment has such lists. Its results are those of listsOf.
func (l *indexLookup) addPairLists(literal string) (lists []segment.ListRef, found bool) {
	pairs := l.capitalPairsOf(literal)
	if len(pairs) == 0 || !l.r.HasCapitalPairs() {
		return l.lists, true
	}
	for _, p := range pairs {
		list := l.findList(p)
		if list.Bytes() == 0 {
			return nil, false
		}
		l.lists = append(l.lists, list)
	}
	slices.SortFunc(l.lists, compareLists)
	return l.lists, true
}

// capitalPairsOf returns the distinct capital pairs of a literal.
func (l *indexLookup) capitalPairsOf(literal string) []postings.Trigram {
	pairs, ok := l.pairs[literal]
	if !ok {
		pairs = postings.AppendCapitalPairs(nil, []byte(literal))
		slices.Sort(pairs)
		pairs = slices.Compact(pairs)
		if l.pairs == nil {
			l.pairs = map[string][]postings.Trigram{}
		}
		l.pairs[literal] = pairs
	}
	return pairs
}

// readList reads a list, which is valid until the next call.
func (l *indexLookup) readList(ref segment.ListRef) (postings.List, error) {
	l.work.IndexBytes += int64(ref.Bytes())
	l.work.Lists++
	return l.r.List(l.cursor, ref)
}

// literalBlocks returns the blocks that contain the trigrams of a literal and, if letter case
// matters, its capital pairs. It reads the smallest lists first, and stops when reading another
// one costs more than scanning the remaining blocks.
func (l *indexLookup) literalBlocks(literal string, fold bool) (blocks postings.Set, all bool, err error) {
	if may, err := l.r.MayHave(l.gramsOf(literal)); err != nil || !may {
		return postings.Set{}, false, err
	}
	lists, found := l.listsOf(literal)
	if found && !fold {
		lists, found = l.addPairLists(literal)
	}
	if !found || len(lists) == 0 {
		return postings.Set{}, found, nil
	}
	candidates := 0
	for i, ref := range lists[:min(len(lists), maxLists)] {
		if i > 0 && candidates*blockCost < listCost+ref.Bytes()*listByteCost {
			break
		}
		list, err := l.readList(ref)
		if err != nil {
			return postings.Set{}, false, err
		}
		if i == 0 {
			blocks, err = postings.SetOf(&list, l.r.Blocks())
		} else {
			err = blocks.IntersectList(&list)
		}
		if err != nil {
			return postings.Set{}, false, err
		}
		if candidates = blocks.Len(); candidates == 0 {
			break
		}
	}
	return blocks, false, nil
}

// overlapsAll reports whether the text between lo and hi overlaps a block of each set.
func overlapsAll(sets []postings.Set, lo, hi int) bool {
	for i := range sets {
		if b := sets[i].Next(lo / postings.BlockBytes); b < 0 || b*postings.BlockBytes >= hi {
			return false
		}
	}
	return true
}
