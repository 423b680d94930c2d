package search

import (
	"math"
	"time"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/segment"
)

// A match is a place in a document's text, or the symbol of that number.
type match struct {
	start, end uint32 // offsets in the document
	symbol     int32  // number of the symbol in the document, or -1
}

// A hit is a place with its matches.
type hit struct {
	segment     int // index into the segments of the view
	place       int
	doc         segment.DocID
	count       int // matches; at least 1
	matches     []match
	otherPlaces []int // places of the same document, repository and path on other refs
	relevance
	estimatedScore float32 // see estimateScore
	dropped        int32   // matches that there were, if not all are there any more
	shown          bool
}

// segmentSearcher runs a query on segments, one at a time. It belongs to one goroutine.
type segmentSearcher struct {
	s           *scope
	stats       Stats
	lookup      indexLookup
	cursor      segment.Cursor
	text        *segment.Text
	matchers    []*matcher
	scanner     *blockScanner // nil if it does not help
	paths       pathMatcher   // of the predicates on paths, as far as needed
	maxKept     int           // matches whose details are kept for each task
	bestOnly    bool          // those of the worthiest files; else the first
	orders      bool          // the matches of each by their lines, even if all may be shown
	limit       int           // matches after which a segment is left
	mergesAtoms bool          // matches of several atoms are merged, or chosen from, so all of a document are kept
	stop        func() bool   // the time is over, or the caller has gone

	task        int         // the step of the run in hand
	termMatches []termMatch // of the document in hand
	matchLines  []matchLine // of its matches

	// of the current segment
	seg Segment
	*segmentCandidates
	looked          bool         // at its documents
	definingDocs    bitset       // documents that define a symbol with the name of a term, nil if not known
	floor           float32      // worth of hits that cannot be shown
	namedDocs       bitset       // those and the others that have the name of a term
	outlines        int          // documents whose symbols were read, where namedDocs is not known
	together        postings.Set // see placeTerms
	phrase          postings.Set
	atomStates      []atomState
	kept            int
	maxHeld         int             // see the constant
	heldMatches     int             // matches in state, if several
	exceeded        bool            // held has reached its bound, or the search's memory: the search ends
	memory          *memoryBudget   // of the search, nil for none
	scannedReported int64           // of stats.ScannedBytes, see countScanned
	unreservedBytes int64           // bytes of it that are not counted there yet
	outline         segment.Outline // symbols of the document in hand, where they decide what is a match
	soughtRepos     map[uint32]bool // repositories still to be found; nil unless they are the answer

	first   *firstFiles // of the current tier; nil for callers who may see everything
	passed  int         // documents that were skipped because they are after its bound
	counted int         // matches when hits after it were dropped last
}

// segmentCandidates is what the index and the places of a segment tell before its text is read.
type segmentCandidates struct {
	possible       bool             // the segment can have a hit
	unfinished     bool             // it was stopped before it knew
	atomCandidates []atomCandidates // of the atoms, up to found
	atomsLookedUp  int
	columns        []bitset // of the predicates, nil where it was not evaluated, and an empty one
	allowed        bitset   // places for which the predicates allow the query to be true
}

func newSegmentCandidates(c *compiledQuery) *segmentCandidates {
	return &segmentCandidates{atomCandidates: make([]atomCandidates, len(c.atoms)), columns: make([]bitset, len(c.predicates)+1)}
}

// maxHeld bounds the matches of one document that are held to be merged: 48 MiB.
const maxHeld = 4 << 20

// maxIdle bounds the matches for which an atom keeps memory between documents.
const maxIdle = 64 << 10

// shouldStop reports whether the visit of a document is to be given up.
func (v *segmentSearcher) shouldStop() bool { return v.exceeded || v.stop() }

// atomState is what is known of an atom in the current document.
type atomState struct {
	doc     segment.DocID
	known   bool
	matches []match
	count   int
}

func newSegmentSearcher(s *scope, keep, limit int, stop func() bool) *segmentSearcher {
	v := &segmentSearcher{
		s: s, maxKept: keep, limit: limit, stop: stop, mergesAtoms: len(s.c.atoms) > 1 || s.c.choosesSymbols() || s.c.hasConditions(), maxHeld: maxHeld,
		matchers: make([]*matcher, len(s.c.atoms)), paths: newPathMatcher(len(s.c.predicates)),
		segmentCandidates: newSegmentCandidates(s.c), atomStates: make([]atomState, len(s.c.atoms)),
	}
	v.scanner = newBlockScanner(v)
	v.lookup.stats, v.lookup.cursor = &v.stats, &v.cursor
	for i, a := range s.c.atoms {
		v.matchers[i] = &matcher{pattern: a.pattern, stats: &v.stats, re2: a.re2, onePerLine: a.symbols, stop: v.shouldStop}
	}
	return v
}

// close gives up what the segmentSearcher holds of the store.
func (v *segmentSearcher) close() error { return v.cursor.Close() }

// visitSegment returns the hits in a segment, in order of documents and places, and how
// many matches they have; it stops once there are more than limit.
func (v *segmentSearcher) visitSegment(number int, seg Segment, names []termName) (hits []hit, count int, err error) {
	v.openSegment(seg)
	if err := v.prepareCandidates(); err != nil || !v.possible {
		return nil, 0, err
	}
	if v.bestOnly && len(names) > 0 {
		if _, v.definingDocs, v.namedDocs, err = v.findNamed(names); err != nil {
			return nil, 0, err
		}
	}
	return v.visitDocuments(number, nil)
}

// openSegment makes a segment the current one.
func (v *segmentSearcher) openSegment(seg Segment) {
	v.seg, v.kept, v.looked = seg, 0, false
	v.floor, v.definingDocs, v.namedDocs, v.outlines = -math.MaxFloat32, nil, nil, 0
	v.lookup.r = seg.Reader
	if v.text == nil {
		v.text = segment.NewText(seg.Reader, &v.cursor)
	}
	v.text.Reset(seg.Reader)
}

// visitDocuments visits the documents that can match and that wanted, if not nil, wants.
func (v *segmentSearcher) visitDocuments(number int, wanted func(segment.DocID) bool) (hits []hit, count int, err error) {
	defer v.startMatching()()
	v.narrowPlaces()
	if v.scanner != nil {
		v.scanner.startSegment(wanted)
		defer v.scanner.endSegment()
	}
	for d := v.nextAllowed(0); d >= 0; {
		if next := v.nextDocument(v.s.c.root, d); next != d {
			if next < 0 {
				break
			}
			d = v.nextAllowed(next)
			continue
		}
		if v.shouldStop() || v.foundAll() {
			break
		}
		if (wanted == nil || wanted(segment.DocID(d))) && v.mayCount(d) {
			found, n, err := v.searchDocument(number, segment.DocID(d))
			if err != nil {
				return nil, 0, err
			}
			var enough bool
			if hits, count, enough = v.keepHits(hits, found, count+n); enough {
				break
			}
		}
		if v.passed >= narrowEvery {
			v.narrowPlaces()
		}
		d = v.nextAllowed(d + 1)
	}
	if v.scanner != nil {
		err = v.scanner.err
	}
	return hits, count, err
}

// keepHits adds the hits of a document to those of a task, which then have count
// matches, and reports whether these are enough.
func (v *segmentSearcher) keepHits(hits, found []hit, count int) ([]hit, int, bool) {
	hits = append(hits, found...)
	v.pruneHits(hits)
	if v.first == nil {
		return hits, count, count > v.limit
	}
	hits, count = v.cutBehind(hits, count)
	return hits, count, false
}

// startMatching gets ready to look at the text of the current segment, and returns what to
// do afterwards.
func (v *segmentSearcher) startMatching() (end func()) {
	v.looked, v.counted = true, 0
	v.initSought()
	for i := range v.s.c.atoms {
		v.atomStates[i] = atomState{matches: v.atomStates[i].matches[:0]}
		v.matchers[i].prepareSegment(v.text, &v.atomCandidates[i])
	}
	loaded, started := v.text.LoadedBytes(), time.Now()
	return func() {
		v.stats.ContentBytes += v.text.LoadedBytes() - loaded
		v.stats.Verifying += time.Since(started)
	}
}

// prepareCandidates evaluates the predicates and searches the index: it sets the prospect.
func (v *segmentSearcher) prepareCandidates() (err error) {
	v.atomsLookedUp = 0
	v.possible, v.unfinished, err = v.computeCandidates()
	return err
}

func (v *segmentSearcher) computeCandidates() (possible, unfinished bool, err error) {
	places := v.seg.Places
	v.columns[len(v.columns)-1] = newBitset(places.Len())
	for i, p := range v.s.c.predicates {
		if v.stop() {
			return false, true, nil
		}
		if v.columns[i] = nil; p.path == nil {
			v.columns[i] = v.s.placeColumn(p, v.seg)
		}
	}
	if !v.filterPlaces() {
		return false, false, nil
	}
	if err := v.findAtoms(); err != nil || v.atomsLookedUp < len(v.s.c.atoms) {
		return false, true, err
	}
	if len(v.s.c.atoms) > 0 && v.nextDocument(v.s.c.root, 0) < 0 {
		return false, false, nil
	}
	if v.fewCandidates() {
		return true, false, nil // paths are looked at one by one
	}
	for i, p := range v.s.c.predicates {
		if v.stop() {
			return false, true, nil
		}
		if p.path != nil {
			v.columns[i] = v.s.placeColumn(p, v.seg)
		}
	}
	return v.filterPlaces(), false, nil
}

// filterPlaces finds the places that the predicates allow, by the columns there are,
// and reports whether there are any.
func (v *segmentSearcher) filterPlaces() bool {
	v.allowed = intersectBitsets(v.s.possiblePlaces(v.s.c.root, true, v.columns), v.seg.Visible)
	if v.seg.Places.Len() == 0 || v.allowed != nil && v.allowed.next(0) < 0 {
		v.stats.SegmentsFiltered++
		return false
	}
	return true
}

// findAtoms searches the index for each atom.
func (v *segmentSearcher) findAtoms() error {
	for i, a := range v.s.c.atoms {
		if v.stop() {
			return nil // not requested
		}
		started := time.Now()
		f, err := v.lookup.findAtom(a)
		if err != nil {
			return err
		}
		v.stats.Indexing += time.Since(started)
		v.atomCandidates[i], v.atomsLookedUp = f, i+1
	}
	return nil
}

// fewCandidates reports whether some atom that the query needs has so few blocks
// that matching single paths beats matching all of them.
func (v *segmentSearcher) fewCandidates() bool {
	for _, n := range conjunctsOf(v.s.c.root) {
		if a, ok := n.(*atomNode); ok {
			if f := &v.atomCandidates[a.number]; !f.all && f.blocks.Len() < v.seg.Places.Len()/8 {
				return true
			}
		}
	}
	return false
}

// conjunctsOf returns the nodes that must all be true for n to be.
func conjunctsOf(n node) []node {
	if and, ok := n.(*andNode); ok {
		return and.children
	}
	return []node{n}
}

// nextAllowed returns the first live document at or after d with a place that the
// predicates allow, or -1.
func (v *segmentSearcher) nextAllowed(d int) int {
	places := v.seg.Places
	live, allowed := bitset(places.Live), v.allowed
	if allowed == nil {
		allowed = v.seg.Visible
	}
	for d = live.next(d); d >= 0 && allowed != nil; d = live.next(d + 1) {
		first, last := int(places.First[d]), int(places.First[d+1])
		if i := allowed.next(first); i < 0 || i >= places.Len() {
			return -1
		} else if i < last {
			return d
		} else if owner := int(places.Doc[i]); owner > d+1 {
			d = owner - 1
		}
	}
	return d
}

// nextDocument returns the first document at or after d for which a node can be
// true by what the index says, or -1.
func (v *segmentSearcher) nextDocument(n node, d int) int {
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

// nextOfAll leaps over the kids until they agree.
func (v *segmentSearcher) nextOfAll(kids []node, d int) int {
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

func (v *segmentSearcher) nextOfAny(kids []node, d int) int {
	least := -1
	for _, k := range kids {
		if next := v.nextDocument(k, d); next >= 0 && (least < 0 || next < least) {
			least = next
		}
	}
	return least
}

func (v *segmentSearcher) nextOfAtom(a *atom, d int) int {
	f := &v.atomCandidates[a.number]
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

// textBounds returns the range of the text that an atom looks at for a document, and
// the end of the text of all documents.
func (v *segmentSearcher) textBounds(a *atom, d int) (lo, hi, end int) {
	if a.symbols {
		lo, hi = v.seg.Reader.SymbolRange(segment.DocID(d))
		return lo, hi, v.seg.Reader.SpaceEnd()
	}
	lo, hi = v.seg.Reader.TextRange(segment.DocID(d))
	return lo, hi, v.seg.Reader.TextEnd()
}
