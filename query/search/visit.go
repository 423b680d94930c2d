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
	segment int // index into the segments of the view
	place   int
	doc     segment.DocID
	count   int // matches; at least 1
	matches []match
	also    []int // places of the same document, repository and path on other refs
	merit
	worth   float32 // see worthOf
	dropped int32   // matches that there were, if not all are there any more
	shown   bool
}

// A visitor runs a query on segments, one at a time. It belongs to one goroutine.
type visitor struct {
	s        *scope
	stats    Stats
	lookup   lookup
	cursor   segment.Cursor
	text     *segment.Text
	matchers []*matcher
	sweep    *sweep      // nil if it does not help
	paths    pathMatcher // of the predicates on paths, as far as needed
	keep     int         // matches whose details are kept for each task
	picks    bool        // those of the worthiest files; else the first
	orders   bool        // the matches of each by their lines, even if all may be shown
	limit    int         // matches after which a segment is left
	several  bool        // matches of several atoms are merged, or chosen from, so all of a document are kept
	stop     func() bool // the time is over, or nobody waits any more

	task        int          // the step of the run in hand
	appearances []appearance // of the document in hand
	lines       []line       // of its matches

	// of the current segment
	seg Segment
	*prospect
	looked   bool         // at its documents
	defines  bitset       // documents that define a symbol with the name of a term, nil if not known
	floor    float32      // worth of hits that cannot be shown
	isNamed  bitset       // those and the others that have the name of a term
	outlines int          // documents whose symbols were read, where isNamed is not known
	together postings.Set // see placeTerms
	phrase   postings.Set
	state    []atomState
	kept     int
	maxHeld  int             // see the constant
	held     int             // matches in state, if several
	exceeded bool            // held has reached its bound, or the search's memory: the search ends
	holding  *holding        // of the search, nil for none
	scanSaid int64           // of stats.ScannedBytes, see countScanned
	unsaid   int64           // bytes of it that are not counted there yet
	outline  segment.Outline // symbols of the document in hand, where they decide what is a match
	sought   map[uint32]bool // repositories still to be found; nil unless they are the answer

	first   *firstFiles // of the tier in hand; nil for who may see everything
	passed  int         // documents that were passed because they are behind its bound
	counted int         // matches when hits behind it were dropped last
}

// A prospect is what is known of a segment before its text is looked at.
type prospect struct {
	possible   bool      // the segment can have a hit
	unfinished bool      // it was stopped before it knew
	findings   []finding // of the atoms, up to found
	found      int
	columns    []bitset // of the predicates, nil where it was not evaluated, and an empty one
	allowed    bitset   // places for which the predicates allow the query to be true
}

func newProspect(c *compiled) *prospect {
	return &prospect{findings: make([]finding, len(c.atoms)), columns: make([]bitset, len(c.predicates)+1)}
}

// maxHeld bounds the matches of one document that are held to be merged: 48 MiB.
const maxHeld = 4 << 20

// maxIdle bounds the matches for which an atom keeps memory between documents.
const maxIdle = 64 << 10

// halts reports whether the visit of a document is to be given up.
func (v *visitor) halts() bool { return v.exceeded || v.stop() }

// atomState is what is known of an atom in the current document.
type atomState struct {
	doc     segment.DocID
	known   bool
	matches []match
	count   int
}

func newVisitor(s *scope, keep, limit int, stop func() bool) *visitor {
	v := &visitor{
		s: s, keep: keep, limit: limit, stop: stop, several: len(s.c.atoms) > 1 || s.c.choosesSymbols() || s.c.hasConditions(), maxHeld: maxHeld,
		matchers: make([]*matcher, len(s.c.atoms)), paths: newPathMatcher(len(s.c.predicates)),
		prospect: newProspect(s.c), state: make([]atomState, len(s.c.atoms)),
	}
	v.sweep = newSweep(v)
	v.lookup.stats, v.lookup.cursor = &v.stats, &v.cursor
	for i, a := range s.c.atoms {
		v.matchers[i] = &matcher{pattern: a.pattern, stats: &v.stats, re2: a.re2, once: a.symbols, stop: v.halts}
	}
	return v
}

// close gives up what the visitor holds of the store.
func (v *visitor) close() error { return v.cursor.Close() }

// visit returns the hits in a segment, in order of documents and places, and how
// many matches they have; it stops once there are more than limit.
func (v *visitor) visit(number int, seg Segment, names []name) (hits []hit, count int, err error) {
	v.open(seg)
	if err := v.prepare(); err != nil || !v.possible {
		return nil, 0, err
	}
	if v.picks && len(names) > 0 {
		if _, v.defines, v.isNamed, err = v.named(names); err != nil {
			return nil, 0, err
		}
	}
	return v.walk(number, nil)
}

// open makes a segment the current one.
func (v *visitor) open(seg Segment) {
	v.seg, v.kept, v.looked = seg, 0, false
	v.floor, v.defines, v.isNamed, v.outlines = -math.MaxFloat32, nil, nil, 0
	v.lookup.r = seg.Reader
	if v.text == nil {
		v.text = segment.NewText(seg.Reader, &v.cursor)
	}
	v.text.Reset(seg.Reader)
}

// walk visits the documents that can match and that wanted, if not nil, wants.
func (v *visitor) walk(number int, wanted func(segment.DocID) bool) (hits []hit, count int, err error) {
	defer v.begin()()
	v.narrow()
	if v.sweep != nil {
		v.sweep.begin(wanted)
		defer v.sweep.end()
	}
	for d := v.nextAllowed(0); d >= 0; {
		if next := v.nextDocument(v.s.c.root, d); next != d {
			if next < 0 {
				break
			}
			d = v.nextAllowed(next)
			continue
		}
		if v.halts() || v.foundAll() {
			break
		}
		if (wanted == nil || wanted(segment.DocID(d))) && v.mayCount(d) {
			found, n, err := v.document(number, segment.DocID(d))
			if err != nil {
				return nil, 0, err
			}
			var enough bool
			if hits, count, enough = v.keepHits(hits, found, count+n); enough {
				break
			}
		}
		if v.passed >= narrowEvery {
			v.narrow()
		}
		d = v.nextAllowed(d + 1)
	}
	if v.sweep != nil {
		err = v.sweep.err
	}
	return hits, count, err
}

// keepHits adds the hits of a document to those of a task, which then have count
// matches, and reports whether these are enough.
func (v *visitor) keepHits(hits, found []hit, count int) ([]hit, int, bool) {
	hits = append(hits, found...)
	v.thin(hits)
	if v.first == nil {
		return hits, count, count > v.limit
	}
	hits, count = v.cutBehind(hits, count)
	return hits, count, false
}

// begin gets ready to look at the text of the current segment, and returns what to
// do afterwards.
func (v *visitor) begin() (end func()) {
	v.looked, v.counted = true, 0
	v.seek()
	for i := range v.s.c.atoms {
		v.state[i] = atomState{matches: v.state[i].matches[:0]}
		v.matchers[i].use(v.text, &v.findings[i])
	}
	loaded, started := v.text.LoadedBytes(), time.Now()
	return func() {
		v.stats.ContentBytes += v.text.LoadedBytes() - loaded
		v.stats.Verifying += time.Since(started)
	}
}

// prepare evaluates the predicates and asks the index: it sets the prospect.
func (v *visitor) prepare() (err error) {
	v.found = 0
	v.possible, v.unfinished, err = v.prospects()
	return err
}

func (v *visitor) prospects() (possible, unfinished bool, err error) {
	places := v.seg.Places
	v.columns[len(v.columns)-1] = newBitset(places.Len())
	for i, p := range v.s.c.predicates {
		if v.stop() {
			return false, true, nil
		}
		if v.columns[i] = nil; p.path == nil {
			v.columns[i] = v.s.column(p, v.seg)
		}
	}
	if !v.filter() {
		return false, false, nil
	}
	if err := v.find(); err != nil || v.found < len(v.s.c.atoms) {
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
			v.columns[i] = v.s.column(p, v.seg)
		}
	}
	return v.filter(), false, nil
}

// filter finds the places that the predicates allow, by the columns there are,
// and reports whether there are any.
func (v *visitor) filter() bool {
	v.allowed = intersect(v.s.may(v.s.c.root, true, v.columns), v.seg.Visible)
	if v.seg.Places.Len() == 0 || v.allowed != nil && v.allowed.next(0) < 0 {
		v.stats.SegmentsFiltered++
		return false
	}
	return true
}

// find asks the index about each atom.
func (v *visitor) find() error {
	for i, a := range v.s.c.atoms {
		if v.stop() {
			return nil // nobody waits for what is not asked
		}
		started := time.Now()
		f, err := v.lookup.find(a)
		if err != nil {
			return err
		}
		v.stats.Indexing += time.Since(started)
		v.findings[i], v.found = f, i+1
	}
	return nil
}

// fewCandidates reports whether some atom that the query needs has so few blocks
// that matching single paths beats matching all of them.
func (v *visitor) fewCandidates() bool {
	for _, n := range conjuncts(v.s.c.root) {
		if a, ok := n.(*atomNode); ok {
			if f := &v.findings[a.number]; !f.all && f.blocks.Len() < v.seg.Places.Len()/8 {
				return true
			}
		}
	}
	return false
}

// conjuncts returns the nodes that must all be true for n to be.
func conjuncts(n node) []node {
	if and, ok := n.(*andNode); ok {
		return and.kids
	}
	return []node{n}
}

// nextAllowed returns the first live document at or after d with a place that the
// predicates allow, or -1.
func (v *visitor) nextAllowed(d int) int {
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
func (v *visitor) nextDocument(n node, d int) int {
	switch n := n.(type) {
	case *andNode:
		return v.nextOfAll(n.kids, d)
	case *orNode:
		return v.nextOfAny(n.kids, d)
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
func (v *visitor) nextOfAll(kids []node, d int) int {
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

func (v *visitor) nextOfAny(kids []node, d int) int {
	least := -1
	for _, k := range kids {
		if next := v.nextDocument(k, d); next >= 0 && (least < 0 || next < least) {
			least = next
		}
	}
	return least
}

func (v *visitor) nextOfAtom(a *atom, d int) int {
	f := &v.findings[a.number]
	r := v.seg.Reader
	if f.all && !a.symbols && !v.sweep.works() {
		return d
	}
	lo, hi, end := v.bounds(a, d)
	if v.sweep.works() {
		switch at := v.sweep.seek(lo); {
		case at < 0:
			return -1
		case at < hi:
			return d
		default:
			return v.sweep.document(at)
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

// bounds returns where the text that an atom looks at lies for a document, and
// where it ends for all.
func (v *visitor) bounds(a *atom, d int) (lo, hi, end int) {
	if a.symbols {
		lo, hi = v.seg.Reader.SymbolRange(segment.DocID(d))
		return lo, hi, v.seg.Reader.SpaceEnd()
	}
	lo, hi = v.seg.Reader.TextRange(segment.DocID(d))
	return lo, hi, v.seg.Reader.TextEnd()
}
