package match

import (
	"slices"
	"time"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/bitset"
	"github.com/quarrysearch/quarry/query/match/internal/scan"
)

// Finder finds the documents that can match according to the index and the
// places, in one segment at a time. It reads text only to find the literals that the
// query needs.
type Finder struct {
	// These fields are set when the finder is made. Its parts keep their buffers.
	s        *Scope
	lookup   indexLookup
	cursor   segment.Cursor
	text     *segment.Text
	matchers []*patternMatcher
	scanner  *blockScanner // nil if it does not help
	paths    pathMatcher   // for the path predicates, where needed
	stop     func() bool   // reports that time is up or that the caller is gone

	Work     Work // of the search
	Exceeded bool // a memory bound was reached: the search ends

	// setSegment sets these, and the caller may replace them by those of an earlier task.
	Seg        corpus.Segment
	Candidates *Candidates
	Named      Named // without groups; empty if not known
}

func newFinder(s *Scope, stop func() bool) Finder {
	return Finder{
		s: s, stop: stop, matchers: make([]*patternMatcher, len(s.Query.Atoms)), paths: newPathMatcher(len(s.Query.Predicates)),
		Candidates: newCandidates(s.Query),
	}
}

// linkParts connects the index and text readers to the finder, once its address in memory
// is final.
func (v *Finder) linkParts() {
	v.scanner = newBlockScanner(v)
	v.lookup.work, v.lookup.cursor = &v.Work, &v.cursor
	for i, a := range v.s.Query.Atoms {
		v.matchers[i] = newPatternMatcher(a, &v.Work, v.ShouldStop)
	}
}

// close releases the resources of the segment store that the finder holds.
func (v *Finder) close() error { return v.cursor.Close() }

// ShouldStop reports whether the visit of a document should end.
func (v *Finder) ShouldStop() bool { return v.Exceeded || v.stop() }

// setSegment makes a segment the current one and drops all information about the previous
// one.
func (v *Finder) setSegment(seg corpus.Segment) {
	v.Seg, v.Named = seg, Named{}
	v.lookup.r = seg.Reader
	if v.text == nil {
		v.text = segment.NewText(seg.Reader, &v.cursor)
	}
	v.text.Reset(seg.Reader)
}

// LookUp is PrepareCandidates for candidates that the caller keeps.
func (v *Finder) LookUp() (*Candidates, error) {
	v.Candidates = newCandidates(v.s.Query)
	return v.Candidates, v.PrepareCandidates()
}

// PrepareCandidates evaluates the predicates and searches the index for candidates in the
// current segment.
func (v *Finder) PrepareCandidates() (err error) {
	v.Candidates.atomsLookedUp = 0
	v.Candidates.Possible, v.Candidates.Unfinished, err = v.computeCandidates()
	return err
}

func (v *Finder) computeCandidates() (possible, unfinished bool, err error) {
	places := v.Seg.Places
	v.Candidates.columns[len(v.Candidates.columns)-1] = bitset.New(places.Len())
	if !v.s.mayHaveRepository(v.Seg) {
		v.Candidates.allowed = emptyColumn(v.Candidates.columns)
		v.Work.SegmentsFiltered++
		return false, false, nil
	}
	for i, p := range v.s.Query.Predicates {
		if v.stop() {
			return false, true, nil
		}
		if v.Candidates.columns[i] = nil; p.owned != nil {
			continue // decided for single places
		} else if p.Path == nil {
			v.Candidates.columns[i] = v.s.PlaceColumn(p, v.Seg)
		} else if !MayPath(&v.Seg, p.Path) {
			v.Candidates.columns[i] = emptyColumn(v.Candidates.columns)
		} else if !v.Seg.NoIndex && v.Seg.Visible == nil && wantsPlaces(v.s.Query.Root, p) {
			v.Candidates.columns[i] = narrowColumn(p.Path, v.Seg)
		}
	}
	if !v.filterPlaces() {
		return false, false, nil
	}
	if v.takeAllowed(); v.Candidates.fewAllowed {
		return true, false, nil
	}
	if err := v.findAtoms(); err != nil || v.Candidates.atomsLookedUp < len(v.s.Query.Atoms) {
		return false, true, err
	}
	if len(v.s.Query.Atoms) > 0 && v.NextDocument(v.s.Query.Root, 0) < 0 {
		return false, false, nil
	}
	if v.fewCandidates() {
		return true, false, nil // paths are matched one by one
	}
	for i, p := range v.s.Query.Predicates {
		if v.stop() {
			return false, true, nil
		}
		if p.Path != nil && v.Candidates.columns[i] == nil {
			v.Candidates.columns[i] = v.s.PlaceColumn(p, v.Seg)
		}
	}
	return v.filterPlaces(), false, nil
}

// wantsPlaces reports whether a predicate selects the places for which a node is true, rather
// than excluding some.
func wantsPlaces(n Node, p *Predicate) bool {
	wants := func(k Node) bool { return wantsPlaces(k, p) }
	switch n := n.(type) {
	case *andNode:
		return slices.ContainsFunc(n.children, wants)
	case *orNode:
		return slices.ContainsFunc(n.children, wants)
	case *placeNode:
		return n.Predicate == p
	}
	return false
}

// maxAllowedBlocks is the number of blocks that cost less to scan than the lists of a word
// cost to read. allowedShare is the share of the index, 1/allowedShare, that they may be.
const maxAllowedBlocks, allowedShare = 32, 8

// takeAllowed makes the blocks of the documents that the predicates allow the candidates
// of each atom, without a search of the index, if they are few.
func (v *Finder) takeAllowed() {
	r := v.Seg.Reader
	most := min(maxAllowedBlocks, r.Blocks()/allowedShare)
	v.Candidates.fewAllowed = false
	if v.Candidates.allowed == nil || v.Seg.NoIndex || len(v.s.Query.Atoms) == 0 || v.Candidates.allowed.Count() > most {
		return
	}
	var text, symbols []uint32
	for d := v.NextAllowed(0); d >= 0; d = v.NextAllowed(d + 1) {
		lo, hi := r.TextRange(segment.DocID(d))
		text = appendBlocksOf(text, lo, hi)
		lo, hi = r.SymbolRange(segment.DocID(d))
		symbols = appendBlocksOf(symbols, lo-1, hi) // with the line feed before the first name
		if len(text) > most || len(symbols) > most {
			return
		}
	}
	for i, a := range v.s.Query.Atoms {
		f := everyBlock(a)
		switch {
		case a.re2 != nil: // every block may match
		case a.Symbols:
			f.all, f.blocks = false, postings.SetOfBlocks(symbols, r.Blocks())
		default:
			f.all, f.blocks = false, postings.SetOfBlocks(text, r.Blocks())
		}
		v.Candidates.byAtom[i] = f
	}
	v.Candidates.atomsLookedUp, v.Candidates.fewAllowed = len(v.s.Query.Atoms), true
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
func allowedByColumns(s *Scope, seg corpus.Segment) bitset.Set {
	columns := make([]bitset.Set, len(s.Query.Predicates)+1)
	columns[len(columns)-1] = bitset.New(seg.Places.Len())
	for i, p := range s.Query.Predicates {
		if p.Path == nil && p.owned == nil {
			columns[i] = s.PlaceColumn(p, seg)
		}
	}
	return s.possiblePlaces(s.Query.Root, true, columns)
}

// filterPlaces finds the places that the predicates allow, using the evaluated columns,
// and reports whether there are any.
func (v *Finder) filterPlaces() bool {
	v.Candidates.allowed = bitset.Intersection(v.s.possiblePlaces(v.s.Query.Root, true, v.Candidates.columns), v.Seg.Visible)
	if v.Seg.Places.Len() == 0 || v.Candidates.allowed != nil && v.Candidates.allowed.Next(0) < 0 {
		v.Work.SegmentsFiltered++
		return false
	}
	return true
}

// findAtoms searches the index for each atom.
func (v *Finder) findAtoms() error {
	for i, a := range v.s.Query.Atoms {
		if v.stop() {
			return nil // not requested
		}
		started, f := time.Now(), everyBlock(a)
		if !v.Seg.NoIndex {
			var err error
			if f, err = v.lookup.findAtom(a); err != nil {
				return err
			}
		}
		v.Work.Indexing += time.Since(started)
		v.Candidates.byAtom[i], v.Candidates.atomsLookedUp = f, i+1
	}
	return nil
}

// fewCandidates reports whether some atom that the query requires has so few blocks that
// matching single paths costs less than matching all of them.
func (v *Finder) fewCandidates() bool {
	for _, n := range conjunctsOf(v.s.Query.Root) {
		if a, ok := n.(*atomNode); ok {
			if f := &v.Candidates.byAtom[a.number]; !f.all && f.blocks.Len() < v.Seg.Places.Len()/8 {
				return true
			}
		}
	}
	return false
}

// conjunctsOf returns the nodes that must all be true for n to be true.
func conjunctsOf(n Node) []Node {
	if and, ok := n.(*andNode); ok {
		return and.children
	}
	return []Node{n}
}

// NextAllowed returns the first live document at or after d that has a place allowed by
// the predicates, or -1.
func (v *Finder) NextAllowed(d int) int {
	places := v.Seg.Places
	live, allowed := bitset.Set(places.Live), v.Candidates.allowed
	if allowed == nil {
		allowed = v.Seg.Visible
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

// NextDocument returns the first document at or after d for which a node can be true
// according to the index, or -1.
func (v *Finder) NextDocument(n Node, d int) int {
	switch n := n.(type) {
	case *andNode:
		return v.nextOfAll(n.children, d)
	case *orNode:
		return v.nextOfAny(n.children, d)
	case *atomNode:
		return v.nextOfAtom(n.Atom, d)
	case *constNode:
		if !n.value {
			return -1
		}
	}
	return d
}

// nextOfAll advances the kids in turn until they agree on a document.
func (v *Finder) nextOfAll(kids []Node, d int) int {
	for agreed := 0; agreed < len(kids); {
		agreed = 0
		for _, k := range kids {
			next := v.NextDocument(k, d)
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

func (v *Finder) nextOfAny(kids []Node, d int) int {
	least := -1
	for _, k := range kids {
		if next := v.NextDocument(k, d); next >= 0 && (least < 0 || next < least) {
			least = next
		}
	}
	return least
}

func (v *Finder) nextOfAtom(a *Atom, d int) int {
	f := &v.Candidates.byAtom[a.number]
	r := v.Seg.Reader
	if f.all && !a.Symbols && !v.scanner.isActive() {
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
	case a.Symbols:
		return int(r.DocumentOfSymbol(offset))
	}
	return int(r.DocumentAt(offset))
}

// textBounds returns the range of text that an atom searches for a document, and the end
// of the text of all documents.
func (v *Finder) textBounds(a *Atom, d int) (lo, hi, end int) {
	if a.Symbols {
		lo, hi = v.Seg.Reader.SymbolRange(segment.DocID(d))
		return lo, hi, v.Seg.Reader.SpaceEnd()
	}
	lo, hi = v.Seg.Reader.TextRange(segment.DocID(d))
	return lo, hi, v.Seg.Reader.TextEnd()
}

// Allows reports whether a place exists for the caller, and the predicates allow the query to
// be true for it.
func (v *Finder) Allows(place int) bool {
	return (v.Candidates.allowed == nil || v.Candidates.allowed.Has(place)) && v.Seg.IsVisible(place)
}

// KeepPlaces removes the places that keep does not want from the candidates.
func (v *Finder) KeepPlaces(keep func(place int) bool) {
	p := *v.Candidates // the candidates may be shared
	p.allowed = bitset.New(v.Seg.Places.Len())
	for i := range v.Seg.Places.Len() {
		if v.Allows(i) && keep(i) {
			p.allowed.Add(i)
		}
	}
	v.Candidates = &p
}

// StartScan lets a scanner find the occurrences of the only atom, if that helps, in the wanted
// documents; nil means all.
func (v *Finder) StartScan(wanted func(segment.DocID) bool) {
	if v.scanner != nil {
		v.scanner.startSegment(wanted)
	}
}

// EndScan ends what StartScan began, and returns the error of the scanner.
func (v *Finder) EndScan() error {
	if v.scanner == nil {
		return nil
	}
	v.scanner.endSegment()
	return v.scanner.err
}

// weighedBlocks bounds the blocks of one document that are counted.
const weighedBlocks = 16

// ExpectFrequency returns the frequency of the terms that a document is expected to have, by
// how many of its blocks may match, for its size.
func (v *Finder) ExpectFrequency(d segment.DocID) (frequency float64) {
	for i, a := range v.s.Query.Atoms {
		f := &v.Candidates.byAtom[i]
		lo, hi, _ := v.textBounds(a, int(d))
		blocks := 1
		if !f.all {
			blocks = 0
			for b := f.next(lo / postings.BlockBytes); b >= 0 && b*postings.BlockBytes < hi && blocks < weighedBlocks; b = f.next(b + 1) {
				blocks++
			}
		}
		frequency += saturateFrequency(float64(blocks), hi-lo) / float64(len(v.s.Query.Atoms))
	}
	return frequency
}

// pathMatcher matches single paths. It holds the literals of each predicate whose pattern
// is a choice of literals.
type pathMatcher []*scan.Literals

func newPathMatcher(predicates int) pathMatcher { return make(pathMatcher, predicates) }

func (m pathMatcher) matchesPath(p *Predicate, path []byte) bool {
	if !p.Path.Exact {
		return p.Path.Regexp.Match(path)
	}
	l := m[p.Number]
	if l == nil {
		l = scan.NewLiterals(p.Path.Sets[0], p.Path.Fold)
		m[p.Number] = l
	}
	l.Reset(path)
	start, _ := l.Next(0)
	return start >= 0
}
