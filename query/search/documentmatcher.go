package search

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/memory"
	"github.com/quarrysearch/quarry/schemas/code"
)

// A match is a range of a document's text, or a symbol by its number.
type match struct {
	start, end uint32 // offsets in the document
	symbol     int32  // number of the symbol in the document, or -1
}

// A documentHit is a place with its matches, and the part of its score that depends on them.
type documentHit struct {
	place       int
	doc         segment.DocID
	count       int // matches; at least 1
	matches     []match
	otherPlaces []int // places of the same document, repository and path on other refs
	// frequency is the BM25 of the terms, from 0 to 1.
	frequency float32
	// near is the best proximity of several terms; start and end are its range in the
	// document.
	near       proximity
	start, end uint32
	// points is the maximum of the points of the leaves of the query that match.
	points float32
}

// documentMatcher decides which documents match and where, one document at a time.
type documentMatcher struct {
	finder candidateFinder

	// These fields are set when the matcher is made.
	limit       int            // matches of a pattern after which the rest of a document is skipped
	mergesAtoms bool           // matches of several atoms are merged or filtered, so all matches of a document are kept
	maxHeld     int            // see the constant
	memory      *memory.Budget // of the search, nil for none

	unreservedBytes int64 // bytes of memory that are not reserved yet
	outlines        int   // documents of the current segment whose symbols were read because its names are unknown

	// The methods for a document write these. The buffers keep their memory.
	room        int // matches of a pattern whose details are kept
	atomStates  []atomState
	heldMatches int              // matches in atomStates, if several are merged
	outline     *segment.Outline // symbols, if they decide which matches count
	termMatches []termMatch
	matchLines  []matchLine
}

func newDocumentMatcher(s *scope, limit int, stop func() bool, budget *memory.Budget) *documentMatcher {
	v := &documentMatcher{
		finder: newCandidateFinder(s, stop), limit: limit, maxHeld: maxHeld, memory: budget,
		outline: outlines.Get().(*segment.Outline), atomStates: make([]atomState, len(s.c.atoms)),
		mergesAtoms: len(s.c.atoms) > 1 || s.c.choosesSymbols() || s.c.hasConditions(),
	}
	v.finder.linkParts()
	return v
}

// maxHeld bounds the matches of one document that are held for merging: 48 MiB.
const maxHeld = 4 << 20

// Sizes in bytes by which the memory of a search is estimated.
const (
	hitBytes   = 128
	matchBytes = 12
	// reserveStep is how much memory a documentMatcher uses before it makes a
	// reservation.
	reserveStep = 64 << 10
)

// maxIdle bounds the matches for which an atom keeps memory between documents.
const maxIdle = 64 << 10

// atomState is the state of an atom in the current document.
type atomState struct {
	doc     segment.DocID
	known   bool
	matches []match
	count   int
}

// outlines holds the memory of outlines between searches.
var outlines = sync.Pool{New: func() any { return new(segment.Outline) }}

// releaseOutline returns an outline to the pool.
func releaseOutline(o *segment.Outline) {
	o.Reset()
	outlines.Put(o)
}

// close releases the resources of the matcher, which must not be used afterwards.
func (v *documentMatcher) close() error {
	releaseOutline(v.outline)
	v.outline = nil
	return v.finder.close()
}

// openSegment makes a segment the current one.
func (v *documentMatcher) openSegment(seg corpus.Segment) {
	v.finder.setSegment(seg)
	v.outlines = 0
}

// startMatching prepares to read the text of the current segment, and returns a function
// to call when done.
func (v *documentMatcher) startMatching() (end func()) {
	for i := range v.finder.s.c.atoms {
		v.atomStates[i] = atomState{matches: v.atomStates[i].matches[:0]}
		v.finder.matchers[i].prepareSegment(v.finder.text, &v.finder.candidates.atomCandidates[i])
	}
	loaded, started := v.finder.text.LoadedBytes(), time.Now()
	return func() {
		v.finder.work.ContentBytes += v.finder.text.LoadedBytes() - loaded
		v.finder.work.Verifying += time.Since(started)
	}
}

// releaseHeld releases the matches of the previous document.
func (v *documentMatcher) releaseHeld() {
	v.reserveMemory(-int64(v.heldMatches) * matchBytes)
	v.heldMatches = 0
}

// evalQuery evaluates the query for a document and a place. It keeps the details of as many
// matches of a pattern as there is room for.
func (v *documentMatcher) evalQuery(d segment.DocID, place, room int) (bool, error) {
	v.room = room
	return v.evalNode(v.finder.s.c.root, d, place)
}

// collectMatches adds the matches that the query shows to a hit.
func (v *documentMatcher) collectMatches(h *documentHit) error {
	if err := v.gatherMatches(v.finder.s.c.root, h); err != nil {
		return err
	}
	if v.mergesAtoms {
		h.mergeMatches()
	}
	if !v.finder.s.c.choosesSymbols() {
		return nil
	}
	if err := v.finder.seg.Reader.Outline(&v.finder.cursor, h.doc, v.outline); err != nil {
		return err
	}
	h.matches = slices.DeleteFunc(slices.Clone(h.matches), func(m match) bool {
		return m.symbol < 0 && v.outline.At(m.start, m.end) < 0
	})
	h.count = len(h.matches)
	return nil
}

// evalNode evaluates a node for a document and a place.
func (v *documentMatcher) evalNode(n node, d segment.DocID, place int) (bool, error) {
	switch n := n.(type) {
	case *andNode:
		for _, k := range n.children {
			if ok, err := v.evalNode(k, d, place); err != nil || !ok {
				return false, err
			}
		}
		return true, nil
	case *orNode:
		for _, k := range n.children {
			if ok, err := v.evalNode(k, d, place); err != nil || ok {
				return ok, err
			}
		}
		return false, nil
	case *notNode:
		ok, err := v.evalNode(n.child, d, place)
		return !ok, err
	case *constNode:
		return n.value, nil
	case *placeNode:
		if column := v.finder.candidates.columns[n.number]; column != nil {
			return column.Has(place), nil
		}
		if n.path == nil {
			return v.finder.s.evalPredicate(n.predicate, v.finder.seg, place), nil
		}
		return v.finder.paths.matchesPath(n.predicate, v.finder.seg.Places.Path(place)), nil
	}
	s, err := v.searchAtom(n.(*atomNode).atom, d)
	return err == nil && s.count > 0, err
}

// gatherMatches adds the matches of the atoms that make a node true.
func (v *documentMatcher) gatherMatches(n node, h *documentHit) error {
	switch n := n.(type) {
	case *andNode:
		for _, k := range n.children {
			if err := v.gatherMatches(k, h); err != nil {
				return err
			}
		}
	case *orNode:
		for _, k := range n.children {
			ok, err := v.evalNode(k, h.doc, h.place)
			if err == nil && ok {
				err = v.gatherMatches(k, h)
			}
			if err != nil {
				return err
			}
		}
	case *atomNode:
		if n.existenceOnly {
			return nil
		}
		s, err := v.searchAtom(n.atom, h.doc)
		if err != nil {
			return err
		}
		h.count += s.count
		if !v.mergesAtoms {
			h.matches = slices.Clip(s.matches) // retain copies the slice
			return nil
		}
		h.matches = append(h.matches, s.matches...)
	}
	return nil
}

// mergeMatches sorts the matches of several patterns and removes those that overlap an
// earlier one. Of two that start at the same place, it keeps a symbol, or otherwise the
// longer match. The result does not depend on the order in which the matches were found.
func (h *documentHit) mergeMatches() {
	slices.SortFunc(h.matches, func(a, b match) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.symbol, a.symbol), cmp.Compare(b.end, a.end))
	})
	kept := h.matches[:0]
	for _, m := range h.matches {
		if n := len(kept); n == 0 || m.start >= kept[n-1].end {
			kept = append(kept, m)
		}
	}
	h.matches = kept
	h.count = len(kept)
}

// searchAtom returns the matches of an atom in a document. It reuses the result of the
// last search if that was for the same document.
func (v *documentMatcher) searchAtom(a *atom, d segment.DocID) (_ *atomState, err error) {
	s := &v.atomStates[a.number]
	if s.known && s.doc == d {
		return s, nil
	}
	if cap(s.matches) > maxIdle {
		s.matches = nil
	}
	*s = atomState{doc: d, known: true, matches: s.matches[:0]}
	if v.finder.nextOfAtom(a, int(d)) != int(d) {
		return s, nil
	}
	lo, hi, _ := v.finder.textBounds(a, int(d))
	f := &v.finder.candidates.atomCandidates[a.number]
	textLo, textHi := v.finder.seg.Reader.TextRange(d)
	if !overlapsAll(f.requiredBlocks, lo, hi) || !overlapsAll(f.textBlocks, textLo, textHi) || a.pattern.Foreign && !a.symbols && v.finder.seg.Reader.Flags(d)&code.FlagASCII != 0 {
		return s, nil
	}
	v.finder.work.FilesLoaded++
	emit := func(start, end int) bool {
		s.count++
		if v.mergesAtoms || len(s.matches) < v.room {
			s.matches = append(s.matches, match{uint32(start - lo), uint32(end - lo), -1})
		}
		if v.mergesAtoms {
			v.heldMatches++
			v.reserveMemory(matchBytes)
			v.finder.exceeded = v.finder.exceeded || v.heldMatches > v.maxHeld
		}
		return (v.mergesAtoms || s.count <= v.limit) && (!a.existenceOnly || a.isConditional()) && !v.finder.exceeded
	}
	if v.finder.scanner.isActive() && v.finder.scanner.findsMatches() {
		err = v.finder.scanner.eachMatch(lo, hi, emit)
	} else {
		err = v.finder.matchers[a.number].eachInRange(lo, hi, f, emit)
	}
	if err != nil {
		return nil, err
	}
	if a.symbols && len(s.matches) > 0 {
		if err := v.numberSymbols(s, lo, hi); err != nil {
			return nil, err
		}
	}
	return s, v.applyConditions(a, s)
}

// numberSymbols converts offsets in the symbol text into symbol numbers and, if the
// matches will be merged with others, into offsets in the document text.
func (v *documentMatcher) numberSymbols(s *atomState, lo, hi int) error {
	names, err := v.finder.text.Bytes(lo, hi)
	if err != nil {
		return err
	}
	symbol, at := int32(0), 0
	for i := range s.matches {
		for m := &s.matches[i]; at < int(m.start); at++ {
			if names[at] == '\n' {
				symbol++
			}
		}
		s.matches[i].symbol = symbol
	}
	if !v.mergesAtoms {
		return nil
	}
	if err := v.finder.seg.Reader.Outline(&v.finder.cursor, s.doc, v.outline); err != nil {
		return err
	}
	for i := range s.matches {
		if m := &s.matches[i]; int(m.symbol) < v.outline.Len() {
			m.start, m.end = v.outline.Range(int(m.symbol))
		}
	}
	return nil
}

// reserveMemory reserves memory that the matcher holds for its search, and ends the visit
// when the search exceeds its bound.
func (v *documentMatcher) reserveMemory(n int64) {
	if v.memory == nil {
		return
	}
	if v.unreservedBytes += n; v.unreservedBytes >= reserveStep || v.unreservedBytes <= -reserveStep {
		v.finder.exceeded = !v.memory.Reserve(v.unreservedBytes) && v.unreservedBytes > 0 || v.finder.exceeded
		v.unreservedBytes = 0
	}
}
