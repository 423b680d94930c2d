package search

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/internal/identifier"
	"github.com/quarrysearch/quarry/schemas/code"
)

// If a file has more matches than can be shown, the matches on its best lines are shown.
// A line is good if it contains many of the terms, rare ones above all, as whole words,
// next to each other in the order of the query, or if it defines a symbol that the query
// names.

// Weights of the score of a line. Each term on the line adds its rarity, which is at
// least 1.
const (
	lineWholeWord  = 0.5  // of its rarity, if the term is a whole word
	lineWordPart   = 0.2  // of its rarity, if the term is part of an identifier and consists of whole words
	lineExactCase  = 0.15 // of its rarity, if the letter case matches
	lineAdjacent   = 0.75 // of its rarity, if the next term follows with only punctuation and blanks between
	lineDefinition = 3    // a match is the whole name of a symbol, by its kind
	lineMeant      = 20   // the same, if the query means definitions before text
	lineStart      = 0.1  // a match is the first text of the line
)

const (
	// MinLooked is the minimum number of matches that a search finds before it chooses
	// the ones to show.
	MinLooked = 1000
	// maxLineGap is the distance from which two matches count as matches on different
	// lines, without a check of the text between them.
	maxLineGap = 1 << 10
	// maxLineMatches bounds the matches of each term that are compared on a line.
	maxLineMatches = 64
	// maxLineBytes bounds the part of a line that is read from its first match on,
	// maxIndent the part that is read before the match.
	maxLineBytes = 16 << 10
	maxIndent    = 64
	// maxOutlines bounds the documents of a task whose symbols are read.
	maxOutlines = 64
	// maxBestLines bounds FileMatch.BestLines.
	maxBestLines = 10
)

// matchLine is a run of matches on one line of a document.
type matchLine struct {
	first, last int // indexes into the matches of a hit; last is exclusive
	score       float64
}

// orderByLine orders the matches of a hit by the score of their lines, best first.
// Matches on one line, and lines with the same score, stay in text order.
func (v *documentMatcher) orderByLine(h *documentHit) error {
	if !v.mergesAtoms && len(v.finder.s.c.atoms) > 0 && v.finder.s.c.atoms[0].symbols {
		return nil // each match is a symbol, and its offsets are not those of the text
	}
	lines, err := v.splitLines(h)
	if err != nil || len(lines) < 2 {
		return err
	}
	scorer, err := v.newLineScorer(h)
	if err != nil {
		return err
	}
	for i := range lines {
		if err := scorer.setScore(&lines[i]); err != nil {
			return err
		}
	}
	slices.SortStableFunc(lines, func(a, b matchLine) int { return cmp.Compare(b.score, a.score) })
	ordered := make([]match, 0, len(h.matches))
	for _, l := range lines {
		ordered = append(ordered, h.matches[l.first:l.last]...)
	}
	h.matches = ordered
	return nil
}

// splitLines groups the matches of a hit, which are in text order, by line. The result is
// valid until the next call.
func (v *documentMatcher) splitLines(h *documentHit) ([]matchLine, error) {
	lo, _ := v.finder.seg.Reader.TextRange(h.doc)
	lines := v.matchLines[:0]
	for i, m := range h.matches {
		if i > 0 {
			same, err := v.onOneLine(lo+int(h.matches[i-1].end), lo+int(m.start))
			if err != nil {
				return nil, err
			}
			if same {
				lines[len(lines)-1].last = i + 1
				continue
			}
		}
		lines = append(lines, matchLine{first: i, last: i + 1})
	}
	v.matchLines = lines
	return lines, nil
}

// onOneLine reports whether no line feed is between two offsets of the segment's text.
func (v *documentMatcher) onOneLine(from, to int) (bool, error) {
	if to <= from || to-from > maxLineGap {
		return to <= from, nil
	}
	text, err := v.finder.text.Bytes(from, to)
	return err == nil && bytes.IndexByte(text, '\n') < 0, err
}

// lineScorer scores the lines of one hit. Its caller passes them in text order.
type lineScorer struct {
	v    *documentMatcher
	h    *documentHit
	lo   int   // offset of the document in the segment's text
	next []int // by atom: its first match at or after the line
	// outline reports whether v.outline holds the symbols of the document.
	outline bool
	found   []termMatch // on the line
}

func (v *documentMatcher) newLineScorer(h *documentHit) (*lineScorer, error) {
	s := &lineScorer{v: v, h: h, next: make([]int, len(v.finder.s.c.atoms)), found: v.termMatches[:0]}
	s.lo, _ = v.finder.seg.Reader.TextRange(h.doc)
	if s.outline = v.mayHaveDefinition(h); s.outline {
		if err := v.finder.seg.Reader.Outline(&v.finder.cursor, h.doc, v.outline); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// mayHaveDefinition reports whether the document of a hit may define a symbol that the
// query names. If the names were not looked up, it returns true for the first documents
// of a task.
func (v *documentMatcher) mayHaveDefinition(h *documentHit) bool {
	if v.finder.named.all != nil {
		return v.finder.named.all.Has(int(h.doc))
	}
	v.outlines++
	return v.outlines <= maxOutlines
}

// setScore sets the score of a line.
func (s *lineScorer) setScore(l *matchLine) error {
	matches := s.h.matches[l.first:l.last]
	from := matches[0].start
	to := min(matches[len(matches)-1].end, from+maxLineBytes)
	s.findMatches(from, to)
	before := min(int(from), maxIndent)
	_, hi := s.v.finder.seg.Reader.TextRange(s.h.doc)
	text, err := s.v.finder.text.Bytes(s.lo+int(from)-before, min(s.lo+int(to)+1, hi))
	if err != nil {
		return err
	}
	l.score = s.v.finder.s.scoreLine(text, int(from)-before, from == uint32(before), s.found)
	best := 0.0
	for _, m := range matches {
		defines, kind := s.definitionAt(m)
		best = max(best, s.v.finder.s.definitionShare(defines, kind))
	}
	l.score += best
	return nil
}

// definitionKind is the kind of definition on a line.
type definitionKind uint8

const (
	notDefined    definitionKind = iota
	definedMatch                 // a symbol whose name is a match
	definedJoined                // a symbol whose words are all terms
)

// definitionShare returns the score that the definition of a symbol adds to its line. If
// all terms together make up the name of the symbol, each counts as a whole word.
func (s *scope) definitionShare(d definitionKind, kind code.SymbolKind) float64 {
	switch d {
	case definedMatch:
		share := lineDefinition * weightOf(kind)
		if s.c.meansDefinitions {
			share += lineMeant
		}
		return share
	case definedJoined:
		share := float64(lineDefinition)
		for i := range s.c.atoms {
			share += (lineWholeWord + lineExactCase) * s.rarityOf(i)
		}
		return share
	}
	return 0
}

// findMatches sets found to the matches of all atoms between from and to, by atom and
// start, at most maxLineMatches of each.
func (s *lineScorer) findMatches(from, to uint32) {
	s.found = s.found[:0]
	for i, a := range s.v.finder.s.c.atoms {
		state := &s.v.atomStates[i]
		if a.existenceOnly || !state.known || state.doc != s.h.doc {
			continue
		}
		for s.next[i] < len(state.matches) && state.matches[s.next[i]].start < from {
			s.next[i]++
		}
		for j, n := s.next[i], 0; j < len(state.matches) && state.matches[j].start < to && n < maxLineMatches; j, n = j+1, n+1 {
			s.found = append(s.found, termMatch{state.matches[j], i})
		}
	}
}

// definitionAt returns the kind of definition at a match, and the kind of its symbol.
func (s *lineScorer) definitionAt(m match) (definitionKind, code.SymbolKind) {
	if !s.outline {
		if m.symbol >= 0 {
			return definedMatch, ""
		}
		return notDefined, ""
	}
	i := int(m.symbol)
	if i < 0 {
		i = s.v.outline.At(m.start, m.end)
	}
	if i < 0 || i >= s.v.outline.Len() {
		return notDefined, ""
	}
	start, end := s.v.outline.Range(i)
	if m.symbol >= 0 || start == m.start && end == m.end {
		return definedMatch, s.v.outline.Kind(i)
	}
	c := s.v.finder.s.c
	if c.joined == "" || int(end-start) < len(c.joined) || int(end-start) > 2*len(c.joined) {
		return notDefined, ""
	}
	if name, err := s.v.finder.text.Bytes(s.lo+int(start), s.lo+int(end)); err == nil && c.isJoined(string(name)) {
		return definedJoined, ""
	}
	return notDefined, ""
}

// scoreLine scores a line by its matches, without definitions. found holds the matches on
// the line by atom and start. text contains them and begins at base, which is the start
// of a line if starts is set.
func (s *scope) scoreLine(text []byte, base int, starts bool, found []termMatch) (score float64) {
	if len(found) == 0 {
		return 0
	}
	for i := 0; i < len(found); {
		atom, first, best := found[i].atom, i, 0.0
		for ; i < len(found) && found[i].atom == atom; i++ {
			best = max(best, s.termShare(text, base, found[i]))
		}
		if isFollowed(text, base, found[first:i], found[i:]) {
			best += lineAdjacent
		}
		score += best * s.rarityOf(atom)
	}
	first := slices.MinFunc(found, func(a, b termMatch) int { return cmp.Compare(a.start, b.start) })
	before := text[:int(first.start)-base]
	if start := bytes.LastIndexByte(before, '\n') + 1; (start > 0 || starts) && len(bytes.TrimLeft(before[start:], " \t")) == 0 {
		score += lineStart
	}
	return score
}

func (s *scope) rarityOf(atom int) float64 {
	if atom >= 0 && atom < len(s.rarity) {
		return s.rarity[atom]
	}
	return 1
}

// termShare returns the factor by which a match multiplies the rarity of its term. text
// begins at base.
func (s *scope) termShare(text []byte, base int, a termMatch) float64 {
	start, end := int(a.start)-base, min(int(a.end)-base, len(text))
	share := 1.0
	if identifier.IsWholeWord(text, start, end) {
		share += lineWholeWord
	} else if identifier.IsWordPart(text, start, end) {
		share += lineWordPart
	}
	if a.atom >= 0 && s.c.atoms[a.atom].literal != "" && s.c.atoms[a.atom].literal == string(text[start:end]) {
		share += lineExactCase
	}
	return share
}

// isFollowed reports whether a match of the next atom follows one of the matches of an
// atom, with only punctuation and blanks between them. text begins at base.
func isFollowed(text []byte, base int, matches, next []termMatch) bool {
	atom := matches[0].atom + 1
	for i, j := 0, 0; i < len(matches) && j < len(next) && next[j].atom == atom; {
		switch from, to := matches[i].end, next[j].start; {
		case to < from:
			j++
		case to-from <= phraseGap && !bytes.ContainsFunc(text[int(from)-base:int(to)-base], isPhraseRune):
			return true
		default:
			i++
		}
	}
	return false
}

// bestLines returns the numbers of the lines of chunks with matches, best first, at most
// maxBestLines.
func (r *renderer) bestLines(chunks []Chunk) (numbers []int) {
	type scored struct {
		number int
		score  float64
	}
	var lines []scored
	var found []termMatch
	looked := 0
	for i := range chunks {
		c := &chunks[i]
		for j := 0; j < len(c.Ranges) && looked < maxScoredRanges; {
			number, defined, first := c.Ranges[j].Start.LineNumber, 0.0, j
			found = found[:0]
			for ; j < len(c.Ranges) && c.Ranges[j].Start.LineNumber == number; j++ {
				at := c.Ranges[j]
				if len(c.Symbols) > 0 && c.Symbols[j] != nil {
					share := r.run.plan.scope.definitionShare(r.definedBy(c.Symbols[j].Name, at), c.Symbols[j].Kind)
					defined = max(defined, share)
				}
				if j-first < maxLineMatches {
					m := match{start: uint32(at.Start.ByteOffset), end: uint32(at.End.ByteOffset)}
					found = append(found, termMatch{m, r.run.plan.scope.c.atomOf(c.Content[at.Start.ByteOffset-c.Start.ByteOffset : at.End.ByteOffset-c.Start.ByteOffset])})
				}
				looked++
			}
			slices.SortStableFunc(found, func(a, b termMatch) int { return cmp.Compare(a.atom, b.atom) })
			l := scored{number, r.run.plan.scope.scoreLine(c.Content, c.Start.ByteOffset, true, found)}
			l.score += defined
			lines = append(lines, l)
		}
	}
	slices.SortStableFunc(lines, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	for _, l := range lines[:min(len(lines), maxBestLines)] {
		numbers = append(numbers, l.number)
	}
	return numbers
}

// definedBy returns the kind of definition at a match whose symbol has the given name.
func (r *renderer) definedBy(name string, at Range) definitionKind {
	switch {
	case r.run.plan.scope.c.isJoined(name):
		return definedJoined
	case at.End.ByteOffset-at.Start.ByteOffset == len(name):
		return definedMatch
	}
	return notDefined
}

// atomOf returns the index of the atom whose literal equals text, or -1 if there is none.
func (c *compiledQuery) atomOf(text []byte) int {
	fold := -1
	for _, a := range c.atoms {
		switch {
		case a.existenceOnly || len(a.literal) != len(text):
		case a.literal == string(text):
			return a.number
		case fold < 0 && strings.EqualFold(a.literal, string(text)):
			fold = a.number
		}
	}
	return fold
}
