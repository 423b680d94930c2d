package match

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

// A Match is a range of a document's text, or a symbol by its number.
type Match struct {
	Start, End uint32 // offsets in the document
	Symbol     int32  // number of the symbol in the document, or -1
}

// A Hit is a place with its matches, and the part of its score that depends on them.
type Hit struct {
	Place       int
	Doc         segment.DocID
	Count       int // matches; at least 1
	Matches     []Match
	OtherPlaces []int // places of the same document, repository and path on other refs
	// Frequency is the BM25 of the terms, from 0 to 1.
	Frequency float32
	// Near is the best proximity of several terms; start and end are its range in the
	// document.
	Near       Proximity
	Start, End uint32
	// Points is the maximum of the points of the leaves of the query that match.
	Points float32
	// Unit is the worth of the best unit of the document, from 0 to 1, and UnitName its name.
	Unit     float32
	UnitName Match
}

// Matcher decides which documents match and where, one document at a time.
type Matcher struct {
	Finder Finder

	// These fields are set when the matcher is made.
	limit       int            // matches of a pattern after which the rest of a document is skipped
	mergesAtoms bool           // matches of several atoms are merged or filtered, so all matches of a document are kept
	maxHeld     int            // maxHeld, which tests lower
	memory      *memory.Budget // of the search, nil for none

	unreservedBytes int64 // bytes of memory that are not reserved yet
	outlines        int   // documents of the current segment whose symbols were read because its names are unknown

	// The methods for a document write these. The buffers keep their memory.
	room        int // matches of a pattern whose details are kept
	atomStates  []atomState
	heldMatches int              // matches in atomStates, if several are merged
	outline     *segment.Outline // symbols, if they decide which matches count
	termMatches []TermMatch
	matchLines  []matchLine
	units       []unit
}

// NewMatcher returns a Matcher. It calls stop between two pieces of work, and ends when stop returns
// true. It reserves the memory of its matches in a budget; nil for none.
func NewMatcher(s *Scope, limit int, stop func() bool, budget *memory.Budget) *Matcher {
	v := &Matcher{
		Finder: newFinder(s, stop), limit: limit, maxHeld: maxHeld, memory: budget,
		outline: Outlines.Get().(*segment.Outline), atomStates: make([]atomState, len(s.Query.Atoms)),
		mergesAtoms: len(s.Query.Atoms) > 1 || s.Query.choosesSymbols() || s.Query.hasConditions(),
	}
	v.Finder.linkParts()
	return v
}

// maxHeld bounds the matches of one document that are held for merging: 48 MiB.
const maxHeld = 4 << 20

// Sizes in bytes by which the memory of a search is estimated.
const (
	HitBytes   = 144
	MatchBytes = 12
	// reserveStep is how much memory a Matcher uses before it makes a
	// reservation.
	reserveStep = 64 << 10
)

// maxIdle bounds the matches for which an atom keeps memory between documents.
const maxIdle = 64 << 10

// atomState is the state of an atom in the current document.
type atomState struct {
	doc     segment.DocID
	known   bool
	matches []Match
	count   int
}

// Outlines holds the memory of outlines between searches.
var Outlines = sync.Pool{New: func() any { return new(segment.Outline) }}

// ReleaseOutline returns an outline to the pool.
func ReleaseOutline(o *segment.Outline) {
	o.Reset()
	Outlines.Put(o)
}

// Close releases the resources of the matcher, which must not be used afterwards.
func (v *Matcher) Close() error {
	ReleaseOutline(v.outline)
	v.outline = nil
	return v.Finder.close()
}

// OpenSegment makes a segment the current one.
func (v *Matcher) OpenSegment(seg corpus.Segment) {
	v.Finder.setSegment(seg)
	v.outlines = 0
}

// StartMatching prepares to read the text of the current segment, and returns a function
// to call when done.
func (v *Matcher) StartMatching() (end func()) {
	for i := range v.Finder.s.Query.Atoms {
		v.atomStates[i] = atomState{matches: v.atomStates[i].matches[:0]}
		v.Finder.matchers[i].prepareSegment(v.Finder.text, &v.Finder.Candidates.byAtom[i])
	}
	loaded, started := v.Finder.text.LoadedBytes(), time.Now()
	return func() {
		v.Finder.Work.ContentBytes += v.Finder.text.LoadedBytes() - loaded
		v.Finder.Work.Verifying += time.Since(started)
	}
}

// ReleaseHeld releases the matches of the previous document.
func (v *Matcher) ReleaseHeld() {
	v.ReserveMemory(-int64(v.heldMatches) * MatchBytes)
	v.heldMatches = 0
}

// EvalQuery evaluates the query for a document and a place. It keeps the details of as many
// matches of a pattern as there is room for.
func (v *Matcher) EvalQuery(d segment.DocID, place, room int) (bool, error) {
	v.room = room
	return v.evalNode(v.Finder.s.Query.Root, d, place)
}

// CollectMatches adds the matches that the query shows to a hit.
func (v *Matcher) CollectMatches(h *Hit) error {
	if err := v.gatherMatches(v.Finder.s.Query.Root, h); err != nil {
		return err
	}
	if v.mergesAtoms {
		h.mergeMatches()
	}
	if !v.Finder.s.Query.choosesSymbols() {
		return nil
	}
	if err := v.Finder.Seg.Reader.Outline(&v.Finder.cursor, h.Doc, v.outline); err != nil {
		return err
	}
	h.Matches = slices.DeleteFunc(slices.Clone(h.Matches), func(m Match) bool {
		return m.Symbol < 0 && v.outline.At(m.Start, m.End) < 0
	})
	h.Count = len(h.Matches)
	return nil
}

// evalNode evaluates a node for a document and a place.
func (v *Matcher) evalNode(n Node, d segment.DocID, place int) (bool, error) {
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
		if column := v.Finder.Candidates.columns[n.Number]; column != nil {
			return column.Has(place), nil
		}
		if n.Path == nil {
			return v.Finder.s.evalPredicate(n.Predicate, v.Finder.Seg, place), nil
		}
		return v.Finder.paths.matchesPath(n.Predicate, v.Finder.Seg.Places.Path(place)), nil
	}
	s, err := v.searchAtom(n.(*atomNode).Atom, d)
	return err == nil && s.count > 0, err
}

// gatherMatches adds the matches of the atoms that make a node true.
func (v *Matcher) gatherMatches(n Node, h *Hit) error {
	switch n := n.(type) {
	case *andNode:
		for _, k := range n.children {
			if err := v.gatherMatches(k, h); err != nil {
				return err
			}
		}
	case *orNode:
		for _, k := range n.children {
			ok, err := v.evalNode(k, h.Doc, h.Place)
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
		s, err := v.searchAtom(n.Atom, h.Doc)
		if err != nil {
			return err
		}
		h.Count += s.count
		if !v.mergesAtoms {
			h.Matches = slices.Clip(s.matches) // the caller copies the slice
			return nil
		}
		h.Matches = append(h.Matches, s.matches...)
	}
	return nil
}

// mergeMatches sorts the matches of several patterns and removes those that overlap an
// earlier one. Of two that start at the same place, it keeps a symbol, or otherwise the
// longer match. The result does not depend on the order in which the matches were found.
func (h *Hit) mergeMatches() {
	slices.SortFunc(h.Matches, func(a, b Match) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.Symbol, a.Symbol), cmp.Compare(b.End, a.End))
	})
	kept := h.Matches[:0]
	for _, m := range h.Matches {
		if n := len(kept); n == 0 || m.Start >= kept[n-1].End {
			kept = append(kept, m)
		}
	}
	h.Matches = kept
	h.Count = len(kept)
}

// searchAtom returns the matches of an atom in a document. It reuses the result of the
// last search if that was for the same document.
func (v *Matcher) searchAtom(a *Atom, d segment.DocID) (_ *atomState, err error) {
	s := &v.atomStates[a.number]
	if s.known && s.doc == d {
		return s, nil
	}
	if cap(s.matches) > maxIdle {
		s.matches = nil
	}
	*s = atomState{doc: d, known: true, matches: s.matches[:0]}
	if v.Finder.nextOfAtom(a, int(d)) != int(d) {
		return s, nil
	}
	lo, hi, _ := v.Finder.textBounds(a, int(d))
	f := &v.Finder.Candidates.byAtom[a.number]
	textLo, textHi := v.Finder.Seg.Reader.TextRange(d)
	if !overlapsAll(f.requiredBlocks, lo, hi) || !overlapsAll(f.textBlocks, textLo, textHi) ||
		a.pattern.Foreign && !a.Symbols && v.Finder.Seg.Reader.Flags(d)&code.FlagASCII != 0 {
		return s, nil
	}
	v.Finder.Work.FilesLoaded++
	emit := func(start, end int) bool {
		s.count++
		if v.mergesAtoms || len(s.matches) < v.room {
			s.matches = append(s.matches, Match{uint32(start - lo), uint32(end - lo), -1})
		}
		if v.mergesAtoms {
			v.heldMatches++
			v.ReserveMemory(MatchBytes)
			v.Finder.Exceeded = v.Finder.Exceeded || v.heldMatches > v.maxHeld
		}
		return (v.mergesAtoms || s.count <= v.limit) && (!a.existenceOnly || a.isConditional()) && !v.Finder.Exceeded
	}
	if v.Finder.scanner.isActive() && v.Finder.scanner.findsMatches() {
		err = v.Finder.scanner.eachMatch(lo, hi, emit)
	} else {
		err = v.Finder.matchers[a.number].eachInRange(lo, hi, f, emit)
	}
	if err != nil {
		return nil, err
	}
	if a.Symbols && len(s.matches) > 0 {
		if err := v.numberSymbols(s, lo, hi); err != nil {
			return nil, err
		}
	}
	return s, v.applyConditions(a, s)
}

// numberSymbols converts offsets in the symbol text into symbol numbers and, if the
// matches will be merged with others, into offsets in the document text.
func (v *Matcher) numberSymbols(s *atomState, lo, hi int) error {
	names, err := v.Finder.text.Bytes(lo, hi)
	if err != nil {
		return err
	}
	symbol, at := int32(0), 0
	for i := range s.matches {
		for m := &s.matches[i]; at < int(m.Start); at++ {
			if names[at] == '\n' {
				symbol++
			}
		}
		s.matches[i].Symbol = symbol
	}
	if !v.mergesAtoms {
		return nil
	}
	if err := v.Finder.Seg.Reader.Outline(&v.Finder.cursor, s.doc, v.outline); err != nil {
		return err
	}
	for i := range s.matches {
		if m := &s.matches[i]; int(m.Symbol) < v.outline.Len() {
			m.Start, m.End = v.outline.Range(int(m.Symbol))
		}
	}
	return nil
}

// ReserveMemory reserves memory that the matcher holds for its search, and ends the visit
// when the search exceeds its bound.
func (v *Matcher) ReserveMemory(n int64) {
	if v.memory == nil {
		return
	}
	if v.unreservedBytes += n; v.unreservedBytes >= reserveStep || v.unreservedBytes <= -reserveStep {
		v.Finder.Exceeded = !v.memory.Reserve(v.unreservedBytes) && v.unreservedBytes > 0 || v.Finder.Exceeded
		v.unreservedBytes = 0
	}
}
