package match

import (
	"sort"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/segment"
)

// firstBlocks is the number of successive blocks that a scanner reads first. It doubles
// the number up to runBlocks, so a search that wants few matches reads little.
const firstBlocks = 4

// blockScanner scans the candidate blocks of a query with one atom, across documents, and
// records where the literals occur. Documents between two occurrences then cost nothing: a
// block of symbol names covers about thirty documents, most without a match.
//
// If the pattern consists of its literals, each occurrence is a match. For any other pattern,
// the scanner records one place in each document that may match.
type blockScanner struct {
	v      *Finder
	a      *Atom
	found  []occurrence // occurrences in the text between lo and hi, by ascending start
	at     int          // index of the first occurrence in found that has not been passed
	lo, hi int
	// nameEnd is the end of the last symbol name found, as far as the run read it. A run
	// that continues there skips the rest of the name.
	nameEnd int
	blocks  int // of the next run
	wanted  func(segment.DocID) bool
	paths   []pathCondition // path conditions of the query that are not yet decided for all places
	active  bool
	err     error
}

type occurrence struct{ start, end uint32 } // offsets in the text space

// newBlockScanner returns nil for a query or an atom that does not benefit from a block
// scan.
func newBlockScanner(v *Finder) *blockScanner {
	atoms := v.s.Query.Atoms
	if len(atoms) != 1 || atoms[0].re2 != nil || len(atoms[0].pattern.Sets) == 0 {
		return nil
	}
	return &blockScanner{v: v, a: atoms[0]}
}

// startSegment starts a scan of the current segment for the wanted documents, or for all
// documents if wanted is nil.
func (s *blockScanner) startSegment(wanted func(segment.DocID) bool) {
	s.clearFound()
	s.blocks, s.err, s.wanted, s.nameEnd = firstBlocks, nil, wanted, 0
	s.active = s.v.matchers[0].literals != nil && !s.v.Seg.NoIndex // a run of blocks has text of several documents
	s.paths = s.paths[:0]
	for _, n := range conjunctsOf(s.v.s.Query.Root) {
		not, negated := n.(*notNode)
		if negated {
			n = not.child
		}
		if p, ok := n.(*placeNode); ok && p.Path != nil && s.v.Candidates.columns[p.Number] == nil {
			s.paths = append(s.paths, pathCondition{p.Predicate, !negated})
		}
	}
}

// A pathCondition requires that the path of a file match, or not match.
type pathCondition struct {
	*Predicate
	match bool
}

// wantsDocument reports whether the text of a document is worth reading. Matching a path
// costs less than reading text.
func (s *blockScanner) wantsDocument(d int) bool {
	if s.wanted != nil && !s.wanted(segment.DocID(d)) {
		return false
	}
	places := s.v.Seg.Places
	for _, c := range s.paths {
		some := false
		for i := int(places.First[d]); i < int(places.First[d+1]) && !some; i++ {
			some = s.v.Seg.IsVisible(i) && s.v.paths.matchesPath(c.Predicate, places.Path(i)) == c.match
		}
		if !some {
			return false
		}
	}
	return true
}

func (s *blockScanner) endSegment() { s.active = false }

func (s *blockScanner) clearFound() { s.found, s.at, s.lo, s.hi = s.found[:0], 0, 0, 0 }

// isActive reports whether the scanner walks the segment by occurrences.
func (s *blockScanner) isActive() bool { return s != nil && s.active }

// findsMatches reports whether each occurrence is a match.
func (s *blockScanner) findsMatches() bool {
	return s.a.pattern.Exact || s.a.pattern.Bounded() || s.a.pattern.IsWord()
}

// seek returns the start of the first occurrence at or after an offset, or -1.
func (s *blockScanner) seek(offset int) int {
	for {
		switch {
		case offset < s.lo:
			s.clearFound() // moving back is rare: it happens for lookups of a single document
		case offset < s.hi:
			s.advanceTo(offset)
			if s.at < len(s.found) {
				return int(s.found[s.at].start)
			}
			offset = s.hi
		}
		if !s.scanBlocks(offset) {
			return -1
		}
	}
}

// advanceTo moves at to the first occurrence at or after an offset.
func (s *blockScanner) advanceTo(offset int) {
	if s.at > 0 && int(s.found[s.at-1].start) >= offset {
		s.at = sort.Search(len(s.found), func(i int) bool { return int(s.found[i].start) >= offset })
	}
	for s.at < len(s.found) && int(s.found[s.at].start) < offset {
		s.at++
	}
}

// eachMatch calls emit for the matches between lo and hi, which hold the text of one
// document, until emit returns false.
func (s *blockScanner) eachMatch(lo, hi int, emit func(start, end int) bool) error {
	for at := s.seek(lo); at >= 0 && at < hi; at = s.seek(at + 1) {
		if o := s.found[s.at]; !emit(int(o.start), int(o.end)) {
			break
		}
	}
	return s.err
}

// scanBlocks scans the next candidate blocks from an offset on that contain a document
// which the query allows. It reports whether there were any.
func (s *blockScanner) scanBlocks(offset int) bool {
	v, f := s.v, &s.v.Candidates.byAtom[0]
	_, _, end := v.textBounds(s.a, 0)
	for asked := offset; !v.ShouldStop(); {
		block := f.next(offset / postings.BlockBytes)
		from := max(block*postings.BlockBytes, offset)
		if block < 0 || from >= end {
			return false
		}
		if offset = s.nextWanted(from, (block+1)*postings.BlockBytes); offset < 0 {
			return false
		} else if offset >= (block+1)*postings.BlockBytes {
			continue
		}
		s.growRun(from)
		last := block
		for (last+1)%s.blocks != 0 && f.next(last+1) == last+1 {
			last++
		}
		s.err = s.collectOccurrences(from, min((last+1)*postings.BlockBytes, end), end)
		s.lo = asked
		return s.err == nil
	}
	return false
}

// growRun chooses the size of the next run. Runs grow as the scan continues.
func (s *blockScanner) growRun(from int) {
	if from < s.hi || s.hi == 0 {
		s.blocks = firstBlocks
		return
	}
	s.blocks = min(2*s.blocks, runBlocks)
}

// nextWanted returns an offset at or before the next document that is wanted and that the
// query allows, or -1. It does not check the text of documents that begin at or after to.
func (s *blockScanner) nextWanted(from, to int) int {
	for d := s.v.NextAllowed(s.documentAt(from)); d >= 0; d = s.v.NextAllowed(d + 1) {
		lo, _, _ := s.v.textBounds(s.a, d)
		if at := max(lo, from); at >= to || s.wantsDocument(d) {
			return at
		}
	}
	return -1
}

// documentAt returns the document that contains an offset.
func (s *blockScanner) documentAt(offset int) int {
	if s.a.Symbols {
		return int(s.v.Seg.Reader.DocumentOfSymbol(offset))
	}
	return int(s.v.Seg.Reader.DocumentAt(offset))
}

// collectOccurrences finds the occurrences that start between from and to. None of them
// extends into another document.
func (s *blockScanner) collectOccurrences(from, to, end int) error {
	m := s.v.matchers[0]
	text, base, err := s.readText(m, from, to, end)
	if err != nil {
		return err
	}
	m.work.ScannedBytes += int64(len(text))
	s.found, s.at, s.hi = s.found[:0], 0, to
	c := occurrenceCollector{scanner: s, m: m, text: text, base: base}
	m.literals.Reset(text)
	at := from
	if m.onePerLine && s.nameEnd == from {
		at = base + lineEnd(text, from-base)
	}
	for at < to {
		lo, hi, _ := s.v.textBounds(s.a, s.documentAt(at))
		at = c.collectDocument(lo, hi, at, to)
	}
	s.hi = max(to, at)
	return nil
}

// readText returns the text between from and to, with the surrounding text that matching
// needs. It reads another frame only if an occurrence may extend into it.
func (s *blockScanner) readText(m *patternMatcher, from, to, end int) (text []byte, base int, err error) {
	base = from
	if first, _, _ := s.v.textBounds(s.a, 0); (m.pattern.LineStart || m.pattern.WordStart) && from > first {
		base--
	}
	if to%segment.FrameBytes == 0 && !m.pattern.LineEnd && !m.pattern.WordEnd {
		text, err = m.text.Bytes(base, to)
		if err != nil || !m.literals.MayCross(text) {
			return text, base, err
		}
	}
	text, err = m.text.Bytes(base, min(end, to+m.reach+lineEndBytes))
	return text, base, err
}

// lineEndBytes is the maximum distance from a match to the end of its line: \r\n.
const lineEndBytes = 2

// occurrenceCollector finds the occurrences in a section of the text space.
type occurrenceCollector struct {
	scanner *blockScanner
	m       *patternMatcher
	text    []byte
	base    int  // offset of text
	cut     bool // only part of text is searched for the literals
}

// collectDocument collects the occurrences in one document that start at or after at and
// before to. It returns the offset at which to continue, or to if nothing is left.
func (c *occurrenceCollector) collectDocument(lo, hi, at, to int) int {
	c.reset(len(c.text))
	for at < min(hi, to) {
		start, end := c.m.literals.Next(at - c.base)
		start, end = c.base+start, c.base+end
		switch {
		case start < c.base && c.cut:
			return hi
		case start < c.base || start >= to:
			return to
		case start >= hi:
			return start
		case end > hi:
			// It extends into the next document; another literal may not.
			c.reset(hi - c.base)
			at = start
			continue
		case !c.m.hasLineBounds(c.text, c.base, lo, hi, start, end) || !c.m.hasWordBounds(c.text, c.base, lo, hi, start, end):
			at = start + 1
			continue
		}
		c.scanner.found = append(c.scanner.found, occurrence{uint32(start), uint32(end)})
		if !c.scanner.findsMatches() {
			return hi
		}
		if at = end; c.m.onePerLine {
			at = c.base + lineEnd(c.text, end-c.base)
			c.scanner.nameEnd = at
		}
	}
	return at
}

// reset restricts the search to the first n bytes of text.
func (c *occurrenceCollector) reset(n int) {
	if cut := n < len(c.text); cut || c.cut {
		c.m.literals.Reset(c.text[:n])
		c.cut = cut
	}
}
