package search

import (
	"slices"
	"time"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/bitset"
	"github.com/quarrysearch/quarry/query/search/internal/scan"
)

// candidateFinder finds the documents that can match according to the index and the
// places, in one segment at a time. It reads text only to find the literals that the
// query needs.
type candidateFinder struct {
	// These fields are set when the finder is made. Its parts keep their buffers.
	s        *scope
	lookup   indexLookup
	cursor   segment.Cursor
	text     *segment.Text
	matchers []*matcher
	scanner  *blockScanner // nil if it does not help
	paths    pathMatcher   // for the path predicates, where needed
	stop     func() bool   // reports that time is up or that the caller is gone

	work     work // of the search
	exceeded bool // a memory bound was reached: the search ends

	// setSegment sets these, and the caller may replace them by those of an earlier task.
	seg        corpus.Segment
	candidates *segmentCandidates
	named      namedDocuments // without groups; empty if not known
}

// segmentCandidates is the information about a segment from its index and places, before
// its text is read.
type segmentCandidates struct {
	possible       bool             // the segment can have a hit
	unfinished     bool             // the lookup stopped before it was complete
	atomCandidates []atomCandidates // by atom, up to found
	atomsLookedUp  int
	columns        []bitset.Set // by predicate, nil where it was not evaluated; the last one is empty
	allowed        bitset.Set   // places for which the predicates allow the query to be true
	fewAllowed     bool         // so few that the index was not searched
}

func newSegmentCandidates(c *compiledQuery) *segmentCandidates {
	return &segmentCandidates{atomCandidates: make([]atomCandidates, len(c.atoms)), columns: make([]bitset.Set, len(c.predicates)+1)}
}

func newCandidateFinder(s *scope, stop func() bool) candidateFinder {
	return candidateFinder{
		s: s, stop: stop, matchers: make([]*matcher, len(s.c.atoms)), paths: newPathMatcher(len(s.c.predicates)), candidates: newSegmentCandidates(s.c),
	}
}

// linkParts connects the index and text readers to the finder, once its address in memory
// is final.
func (v *candidateFinder) linkParts() {
	v.scanner = newBlockScanner(v)
	v.lookup.work, v.lookup.cursor = &v.work, &v.cursor
	for i, a := range v.s.c.atoms {
		v.matchers[i] = newMatcher(a, &v.work, v.shouldStop)
	}
}

// close releases the resources of the segment store that the finder holds.
func (v *candidateFinder) close() error { return v.cursor.Close() }

// shouldStop reports whether the visit of a document should end.
func (v *candidateFinder) shouldStop() bool { return v.exceeded || v.stop() }

// setSegment makes a segment the current one and drops all information about the previous
// one.
func (v *candidateFinder) setSegment(seg corpus.Segment) {
	v.seg, v.named = seg, namedDocuments{}
	v.lookup.r = seg.Reader
	if v.text == nil {
		v.text = segment.NewText(seg.Reader, &v.cursor)
	}
	v.text.Reset(seg.Reader)
}

// lookUp is prepareCandidates for candidates that the caller keeps.
func (v *candidateFinder) lookUp() (*segmentCandidates, error) {
	v.candidates = newSegmentCandidates(v.s.c)
	return v.candidates, v.prepareCandidates()
}

// prepareCandidates evaluates the predicates and searches the index for candidates in the
// current segment.
func (v *candidateFinder) prepareCandidates() (err error) {
	v.candidates.atomsLookedUp = 0
	v.candidates.possible, v.candidates.unfinished, err = v.computeCandidates()
	return err
}

func (v *candidateFinder) computeCandidates() (possible, unfinished bool, err error) {
	places := v.seg.Places
	v.candidates.columns[len(v.candidates.columns)-1] = bitset.New(places.Len())
	for i, p := range v.s.c.predicates {
		if v.stop() {
			return false, true, nil
		}
		if v.candidates.columns[i] = nil; p.owned != nil {
			continue // decided for single places
		} else if p.path == nil {
			v.candidates.columns[i] = v.s.placeColumn(p, v.seg)
		} else if !mayPath(&v.seg, p.path) {
			v.candidates.columns[i] = emptyColumn(v.candidates.columns)
		} else if !v.seg.NoIndex && v.seg.Visible == nil && wantsPlaces(v.s.c.root, p) {
			v.candidates.columns[i] = narrowColumn(p.path, v.seg)
		}
	}
	if !v.filterPlaces() {
		return false, false, nil
	}
	if v.takeAllowed(); v.candidates.fewAllowed {
		return true, false, nil
	}
	if err := v.findAtoms(); err != nil || v.candidates.atomsLookedUp < len(v.s.c.atoms) {
		return false, true, err
	}
	if len(v.s.c.atoms) > 0 && v.nextDocument(v.s.c.root, 0) < 0 {
		return false, false, nil
	}
	if v.fewCandidates() {
		return true, false, nil // paths are matched one by one
	}
	for i, p := range v.s.c.predicates {
		if v.stop() {
			return false, true, nil
		}
		if p.path != nil && v.candidates.columns[i] == nil {
			v.candidates.columns[i] = v.s.placeColumn(p, v.seg)
		}
	}
	return v.filterPlaces(), false, nil
}

// wantsPlaces reports whether a predicate selects the places for which a node is true, rather
// than excluding some.
func wantsPlaces(n node, p *predicate) bool {
	wants := func(k node) bool { return wantsPlaces(k, p) }
	switch n := n.(type) {
	case *andNode:
		return slices.ContainsFunc(n.children, wants)
	case *orNode:
		return slices.ContainsFunc(n.children, wants)
	case *placeNode:
		return n.predicate == p
	}
	return false
}

// maxAllowedBlocks is the number of blocks that cost less to scan than the lists of a word
// cost to read. allowedShare is the share of the index, 1/allowedShare, that they may be.
const maxAllowedBlocks, allowedShare = 32, 8

// takeAllowed makes the blocks of the documents that the predicates allow the candidates
// of each atom, without a search of the index, if they are few.
func (v *candidateFinder) takeAllowed() {
	r := v.seg.Reader
	most := min(maxAllowedBlocks, r.Blocks()/allowedShare)
	if v.candidates.fewAllowed = false; v.candidates.allowed == nil || v.seg.NoIndex || len(v.s.c.atoms) == 0 || v.candidates.allowed.Count() > most {
		return
	}
	var text, symbols []uint32
	for d := v.nextAllowed(0); d >= 0; d = v.nextAllowed(d + 1) {
		lo, hi := r.TextRange(segment.DocID(d))
		text = appendBlocksOf(text, lo, hi)
		lo, hi = r.SymbolRange(segment.DocID(d))
		symbols = appendBlocksOf(symbols, lo-1, hi) // with the line feed before the first name
		if len(text) > most || len(symbols) > most {
			return
		}
	}
	for i, a := range v.s.c.atoms {
		f := everyBlock(a)
		switch {
		case a.re2 != nil: // every block may match
		case a.symbols:
			f.all, f.blocks = false, postings.SetOfBlocks(symbols, r.Blocks())
		default:
			f.all, f.blocks = false, postings.SetOfBlocks(text, r.Blocks())
		}
		v.candidates.atomCandidates[i] = f
	}
	v.candidates.atomsLookedUp, v.candidates.fewAllowed = len(v.s.c.atoms), true
}

// appendBlocksOf appends the blocks between two offsets to ascending ones.
func appendBlocksOf(blocks []uint32, lo, hi int) []uint32 {
	for b := lo / postings.BlockBytes; b*postings.BlockBytes < hi; b++ {
		if n := len(blocks); n == 0 || blocks[n-1] < uint32(b) {
			blocks = append(blocks, uint32(b))
		}
	}
	return blocks
}

// allowedByColumns returns the places of a segment for which the predicates, except those on
// paths, allow the query to be true.
func allowedByColumns(s *scope, seg corpus.Segment) bitset.Set {
	columns := make([]bitset.Set, len(s.c.predicates)+1)
	columns[len(columns)-1] = bitset.New(seg.Places.Len())
	for i, p := range s.c.predicates {
		if p.path == nil && p.owned == nil {
			columns[i] = s.placeColumn(p, seg)
		}
	}
	return s.possiblePlaces(s.c.root, true, columns)
}

// filterPlaces finds the places that the predicates allow, using the evaluated columns,
// and reports whether there are any.
func (v *candidateFinder) filterPlaces() bool {
	v.candidates.allowed = bitset.Intersection(v.s.possiblePlaces(v.s.c.root, true, v.candidates.columns), v.seg.Visible)
	if v.seg.Places.Len() == 0 || v.candidates.allowed != nil && v.candidates.allowed.Next(0) < 0 {
		v.work.SegmentsFiltered++
		return false
	}
	return true
}

// findAtoms searches the index for each atom.
func (v *candidateFinder) findAtoms() error {
	for i, a := range v.s.c.atoms {
		if v.stop() {
			return nil // not requested
		}
		started, f := time.Now(), everyBlock(a)
		if !v.seg.NoIndex {
			var err error
			if f, err = v.lookup.findAtom(a); err != nil {
				return err
			}
		}
		v.work.Indexing += time.Since(started)
		v.candidates.atomCandidates[i], v.candidates.atomsLookedUp = f, i+1
	}
	return nil
}

// fewCandidates reports whether some atom that the query requires has so few blocks that
// matching single paths costs less than matching all of them.
func (v *candidateFinder) fewCandidates() bool {
	for _, n := range conjunctsOf(v.s.c.root) {
		if a, ok := n.(*atomNode); ok {
			if f := &v.candidates.atomCandidates[a.number]; !f.all && f.blocks.Len() < v.seg.Places.Len()/8 {
				return true
			}
		}
	}
	return false
}

// conjunctsOf returns the nodes that must all be true for n to be true.
func conjunctsOf(n node) []node {
	if and, ok := n.(*andNode); ok {
		return and.children
	}
	return []node{n}
}

// nextAllowed returns the first live document at or after d that has a place allowed by
// the predicates, or -1.
func (v *candidateFinder) nextAllowed(d int) int {
	places := v.seg.Places
	live, allowed := bitset.Set(places.Live), v.candidates.allowed
	if allowed == nil {
		allowed = v.seg.Visible
	}
	for d = live.Next(d); d >= 0 && allowed != nil; d = live.Next(d + 1) {
		first, last := int(places.First[d]), int(places.First[d+1])
		if i := allowed.Next(first); i < 0 || i >= places.Len() {
			return -1
		} else if i < last {
			return d
		} else if owner := int(places.Doc[i]); owner > d+1 {
			d = owner - 1
		}
	}
	return d
}

// nextDocument returns the first document at or after d for which a node can be true
// according to the index, or -1.
func (v *candidateFinder) nextDocument(n node, d int) int {
	switch n := n.(type) {
	case *andNode:
		return v.nextOfAll(n.children, d)
	case *orNode:
		return v.nextOfAny(n.children, d)
	case *atomNode:
		return v.nextOfAtom(n.atom, d)
	case *constNode:
		if !n.value {
			return -1
		}
	}
	return d
}

// nextOfAll advances the kids in turn until they agree on a document.
func (v *candidateFinder) nextOfAll(kids []node, d int) int {
	for agreed := 0; agreed < len(kids); {
		agreed = 0
		for _, k := range kids {
			next := v.nextDocument(k, d)
			if next < 0 {
				return -1
			}
			if next == d {
				agreed++
			}
			d = next
		}
	}
	return d
}

func (v *candidateFinder) nextOfAny(kids []node, d int) int {
	least := -1
	for _, k := range kids {
		if next := v.nextDocument(k, d); next >= 0 && (least < 0 || next < least) {
			least = next
		}
	}
	return least
}

func (v *candidateFinder) nextOfAtom(a *atom, d int) int {
	f := &v.candidates.atomCandidates[a.number]
	r := v.seg.Reader
	if f.all && !a.symbols && !v.scanner.isActive() {
		return d
	}
	lo, hi, end := v.textBounds(a, d)
	if v.scanner.isActive() {
		switch at := v.scanner.seek(lo); {
		case at < 0:
			return -1
		case at < hi:
			return d
		default:
			return v.scanner.documentAt(at)
		}
	}
	block := f.next(lo / postings.BlockBytes)
	offset := max(block*postings.BlockBytes, lo)
	switch {
	case block < 0 || offset >= end:
		return -1
	case offset < hi:
		return d
	case a.symbols:
		return int(r.DocumentOfSymbol(offset))
	}
	return int(r.DocumentAt(offset))
}

// textBounds returns the range of text that an atom searches for a document, and the end
// of the text of all documents.
func (v *candidateFinder) textBounds(a *atom, d int) (lo, hi, end int) {
	if a.symbols {
		lo, hi = v.seg.Reader.SymbolRange(segment.DocID(d))
		return lo, hi, v.seg.Reader.SpaceEnd()
	}
	lo, hi = v.seg.Reader.TextRange(segment.DocID(d))
	return lo, hi, v.seg.Reader.TextEnd()
}

// allows reports whether a place exists for the caller, and the predicates allow the query to
// be true for it.
func (v *candidateFinder) allows(place int) bool {
	return (v.candidates.allowed == nil || v.candidates.allowed.Has(place)) && v.seg.IsVisible(place)
}

// keepPlaces removes the places that keep does not want from the candidates.
func (v *candidateFinder) keepPlaces(keep func(place int) bool) {
	p := *v.candidates // the candidates may be shared
	p.allowed = bitset.New(v.seg.Places.Len())
	for i := range v.seg.Places.Len() {
		if v.allows(i) && keep(i) {
			p.allowed.Add(i)
		}
	}
	v.candidates = &p
}

// startScan lets a scanner find the occurrences of the only atom, if that helps, in the wanted
// documents; nil means all.
func (v *candidateFinder) startScan(wanted func(segment.DocID) bool) {
	if v.scanner != nil {
		v.scanner.startSegment(wanted)
	}
}

// endScan ends what startScan began, and returns the error of the scanner.
func (v *candidateFinder) endScan() error {
	if v.scanner == nil {
		return nil
	}
	v.scanner.endSegment()
	return v.scanner.err
}

// weighedBlocks bounds the blocks of one document that are counted.
const weighedBlocks = 16

// expectFrequency returns the frequency of the terms that a document is expected to have, by
// how many of its blocks may match, for its size.
func (v *candidateFinder) expectFrequency(d segment.DocID) (frequency float64) {
	for i, a := range v.s.c.atoms {
		f := &v.candidates.atomCandidates[i]
		lo, hi, _ := v.textBounds(a, int(d))
		blocks := 1
		if !f.all {
			blocks = 0
			for b := f.next(lo / postings.BlockBytes); b >= 0 && b*postings.BlockBytes < hi && blocks < weighedBlocks; b = f.next(b + 1) {
				blocks++
			}
		}
		frequency += saturateFrequency(float64(blocks), hi-lo) / float64(len(v.s.c.atoms))
	}
	return frequency
}

// pathMatcher matches single paths. It holds the literals of each predicate whose pattern
// is a choice of literals.
type pathMatcher []*scan.Literals

func newPathMatcher(predicates int) pathMatcher { return make(pathMatcher, predicates) }

func (m pathMatcher) matchesPath(p *predicate, path []byte) bool {
	if !p.path.Exact {
		return p.path.Regexp.Match(path)
	}
	l := m[p.number]
	if l == nil {
		l = scan.NewLiterals(p.path.Sets[0], p.path.Fold)
		m[p.number] = l
	}
	l.Reset(path)
	start, _ := l.Next(0)
	return start >= 0
}
