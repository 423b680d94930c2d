package match

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/internal/identifier"
	"github.com/quarrysearch/quarry/query/internal/ranking"
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
	lineNamePart   = 2    // a term after the first that is part of the name of one symbol, by its kind
	lineMeant      = 20   // the same, if the query means definitions before text
	lineMember     = 20   // the same, if it is in a parent that the query names
	lineStart      = 0.1  // a match is the first text of the line
)

const (
	// maxLineGap is the distance from which two matches count as matches on different
	// lines, without a check of the text between them.
	maxLineGap = 1 << 10
	// MaxLineMatches bounds the matches of each term that are compared on a line.
	MaxLineMatches = 64
	// maxLineBytes bounds the part of a line that is read from its first match on,
	// maxIndent the part that is read before the match.
	maxLineBytes = 16 << 10
	maxIndent    = 64
	// maxOutlines bounds the documents whose symbols are read after each OpenSegment.
	maxOutlines = 64
	// MaxBestLines bounds the lines that an answer names as the best of a file.
	MaxBestLines = 10
)

// matchLine is a run of matches on one line of a document.
type matchLine struct {
	first, last int // indexes into the matches of a hit; last is exclusive
	score       float64
}

// OrderByLine orders the matches of a hit by the score of their lines, best first.
// Matches on one line, and lines with the same score, stay in text order.
func (v *Matcher) OrderByLine(h *Hit) error {
	if !v.mergesAtoms && len(v.Finder.s.Query.Atoms) > 0 && v.Finder.s.Query.Atoms[0].Symbols {
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
	ordered := make([]Match, 0, len(h.Matches))
	for _, l := range lines {
		ordered = append(ordered, h.Matches[l.first:l.last]...)
	}
	h.Matches = ordered
	return nil
}

// splitLines groups the matches of a hit, which are in text order, by line. The result is
// valid until the next call.
func (v *Matcher) splitLines(h *Hit) ([]matchLine, error) {
	lo, _ := v.Finder.Seg.Reader.TextRange(h.Doc)
	lines := v.matchLines[:0]
	for i, m := range h.Matches {
		if i > 0 {
			same, err := v.onOneLine(lo+int(h.Matches[i-1].End), lo+int(m.Start))
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
func (v *Matcher) onOneLine(from, to int) (bool, error) {
	if to <= from || to-from > maxLineGap {
		return to <= from, nil
	}
	text, err := v.Finder.text.Bytes(from, to)
	return err == nil && bytes.IndexByte(text, '\n') < 0, err
}

// lineScorer scores the lines of one hit. Its caller passes them in text order.
type lineScorer struct {
	v    *Matcher
	h    *Hit
	lo   int   // offset of the document in the segment's text
	next []int // by atom: its first match at or after the line
	// outline reports whether v.outline holds the symbols of the document.
	outline bool
	found   []TermMatch // on the line
}

func (v *Matcher) newLineScorer(h *Hit) (*lineScorer, error) {
	s := &lineScorer{v: v, h: h, next: make([]int, len(v.Finder.s.Query.Atoms)), found: v.termMatches[:0]}
	s.lo, _ = v.Finder.Seg.Reader.TextRange(h.Doc)
	if s.outline = v.mayHaveDefinition(h); s.outline {
		if err := v.Finder.Seg.Reader.Outline(&v.Finder.cursor, h.Doc, v.outline); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// mayHaveDefinition reports whether the document of a hit may define a symbol that the
// query names. If the names were not looked up, it returns true for the first documents
// of a segment.
func (v *Matcher) mayHaveDefinition(h *Hit) bool {
	if v.Finder.Named.All != nil {
		return v.Finder.Named.All.Has(int(h.Doc))
	}
	v.outlines++
	return v.outlines <= maxOutlines
}

// setScore sets the score of a line.
func (s *lineScorer) setScore(l *matchLine) error {
	matches := s.h.Matches[l.first:l.last]
	from := matches[0].Start
	to := min(matches[len(matches)-1].End, from+maxLineBytes)
	s.findMatches(from, to)
	before := min(int(from), maxIndent)
	_, hi := s.v.Finder.Seg.Reader.TextRange(s.h.Doc)
	text, err := s.v.Finder.text.Bytes(s.lo+int(from)-before, min(s.lo+int(to)+1, hi))
	if err != nil {
		return err
	}
	l.score = s.v.Finder.s.ScoreLine(text, int(from)-before, from == uint32(before), s.found)
	best := 0.0
	for _, m := range matches {
		defines, kind, parent := s.definitionAt(m)
		best = max(best, s.v.Finder.s.DefinitionShare(defines, kind, string(parent)))
	}
	l.score += max(best, s.partShare())
	if slices.ContainsFunc(matches, func(m Match) bool { return s.h.IsUnit(m.Start, m.End) }) {
		l.score += s.v.Finder.s.UnitShare(s.h.Unit)
	}
	return nil
}

// partShare returns the score of the definition on the line whose name has the most terms.
func (s *lineScorer) partShare() (best float64) {
	if !s.outline || len(s.found) < 2 {
		return 0
	}
	type named struct {
		symbol int
		terms  TermSet
	}
	var names [4]named // a line seldom defines more
	n := 0
	for _, m := range s.found {
		i := s.v.outline.At(m.Start, m.End)
		if i < 0 || i >= s.v.outline.Len() {
			continue
		}
		k := slices.IndexFunc(names[:n], func(x named) bool { return x.symbol == i })
		if k < 0 {
			if n == len(names) {
				continue
			}
			k, n = n, n+1
			names[k].symbol = i
		}
		names[k].terms |= 1 << m.Atom
	}
	for _, x := range names[:n] {
		best = max(best, s.v.Finder.s.PartShare(x.terms, s.v.outline.Kind(x.symbol)))
	}
	return best
}

// PartShare returns the score that the definition of a symbol adds to its line if its name has
// several terms of the query, in any order: check_password_hash for password hash check. Each
// counts as a whole word then. A comment above has the same words.
func (s *Scope) PartShare(terms TermSet, kind code.SymbolKind) (share float64) {
	n := bits.OnesCount64(uint64(terms))
	if n < 2 {
		return 0
	}
	for i := range s.Query.Atoms {
		if terms>>i&1 != 0 {
			share += (lineWholeWord + lineExactCase) * s.rarityOf(i)
		}
	}
	return share + lineNamePart*float64(n-1)*ranking.KindWeight(kind)
}

// DefinitionKind is the kind of definition on a line.
type DefinitionKind uint8

// The kinds of definitions.
const (
	NotDefined    DefinitionKind = iota
	DefinedMatch                 // a symbol whose name is a match
	DefinedJoined                // a symbol whose words are all terms
)

// DefinitionShare returns the score that the definition of a symbol in a parent adds to
// its line. If all terms together make up the name of the symbol, each counts as a whole
// word.
func (s *Scope) DefinitionShare(d DefinitionKind, kind code.SymbolKind, parent string) float64 {
	switch d {
	case DefinedMatch:
		share := lineDefinition * ranking.KindWeight(kind)
		if s.Query.meansDefinitions {
			share += lineMeant
		}
		if parent != "" && slices.ContainsFunc(s.Query.Atoms, func(a *Atom) bool { return a.parent == parent }) {
			share += lineMember
		}
		return share
	case DefinedJoined:
		share := float64(lineDefinition)
		for i := range s.Query.Atoms {
			share += (lineWholeWord + lineExactCase) * s.rarityOf(i)
		}
		return share
	}
	return 0
}

// findMatches sets found to the matches of all atoms between from and to, by atom and
// start, at most MaxLineMatches of each.
func (s *lineScorer) findMatches(from, to uint32) {
	s.found = s.found[:0]
	for i, a := range s.v.Finder.s.Query.Atoms {
		state := &s.v.atomStates[i]
		if a.existenceOnly || !state.known || state.doc != s.h.Doc {
			continue
		}
		for s.next[i] < len(state.matches) && state.matches[s.next[i]].Start < from {
			s.next[i]++
		}
		for j, n := s.next[i], 0; j < len(state.matches) && state.matches[j].Start < to && n < MaxLineMatches; j, n = j+1, n+1 {
			s.found = append(s.found, TermMatch{state.matches[j], i})
		}
	}
}

// definitionAt returns the kind of definition at a match, and the kind and the parent of
// its symbol.
func (s *lineScorer) definitionAt(m Match) (d DefinitionKind, kind code.SymbolKind, parent []byte) {
	if !s.outline {
		if m.Symbol >= 0 {
			return DefinedMatch, "", nil
		}
		return NotDefined, "", nil
	}
	i := int(m.Symbol)
	if i < 0 {
		i = s.v.outline.At(m.Start, m.End)
	}
	if i < 0 || i >= s.v.outline.Len() {
		return NotDefined, "", nil
	}
	start, end := s.v.outline.Range(i)
	if m.Symbol >= 0 || start == m.Start && end == m.End {
		return DefinedMatch, s.v.outline.Kind(i), s.v.outline.Parent(i)
	}
	c := s.v.Finder.s.Query
	if c.Joined == "" || int(end-start) < len(c.Joined) || int(end-start) > 2*len(c.Joined) {
		return NotDefined, "", nil
	}
	if name, err := s.v.Finder.text.Bytes(s.lo+int(start), s.lo+int(end)); err == nil && c.IsJoined(string(name)) {
		return DefinedJoined, "", nil
	}
	return NotDefined, "", nil
}

// ScoreLine scores a line by its matches, without definitions. found holds the matches on
// the line by atom and start. text contains them and begins at base, which is the start
// of a line if starts is set.
func (s *Scope) ScoreLine(text []byte, base int, starts bool, found []TermMatch) (score float64) {
	if len(found) == 0 {
		return 0
	}
	for i := 0; i < len(found); {
		atom, first, best := found[i].Atom, i, 0.0
		for ; i < len(found) && found[i].Atom == atom; i++ {
			best = max(best, s.termShare(text, base, found[i]))
		}
		if isFollowed(text, base, found[first:i], found[i:]) {
			best += lineAdjacent
		}
		score += best * s.rarityOf(atom)
	}
	first := slices.MinFunc(found, func(a, b TermMatch) int { return cmp.Compare(a.Start, b.Start) })
	before := text[:int(first.Start)-base]
	if start := bytes.LastIndexByte(before, '\n') + 1; (start > 0 || starts) && len(bytes.TrimLeft(before[start:], " \t")) == 0 {
		score += lineStart
	}
	return score
}

func (s *Scope) rarityOf(atom int) float64 {
	if atom >= 0 && atom < len(s.Rarity) {
		return s.Rarity[atom]
	}
	return 1
}

// termShare returns the factor by which a match multiplies the rarity of its term. text
// begins at base.
func (s *Scope) termShare(text []byte, base int, a TermMatch) float64 {
	start, end := int(a.Start)-base, min(int(a.End)-base, len(text))
	share := 1.0
	if identifier.IsWholeWord(text, start, end) {
		share += lineWholeWord
	} else if identifier.IsWordPart(text, start, end) {
		share += lineWordPart
	}
	if a.Atom >= 0 && s.Query.Atoms[a.Atom].Literal != "" && s.Query.Atoms[a.Atom].Literal == string(text[start:end]) {
		share += lineExactCase
	}
	return share
}

// isFollowed reports whether a match of the next atom follows one of the matches of an
// atom, with only punctuation and blanks between them. text begins at base.
func isFollowed(text []byte, base int, matches, next []TermMatch) bool {
	atom := matches[0].Atom + 1
	for i, j := 0, 0; i < len(matches) && j < len(next) && next[j].Atom == atom; {
		switch from, to := matches[i].End, next[j].Start; {
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

// AtomOf returns the index of the atom whose literal equals text, or -1 if there is none.
func (c *Query) AtomOf(text []byte) int {
	fold := -1
	for _, a := range c.Atoms {
		switch {
		case a.existenceOnly || len(a.Literal) != len(text):
		case a.Literal == string(text):
			return a.number
		case fold < 0 && strings.EqualFold(a.Literal, string(text)):
			fold = a.number
		}
	}
	return fold
}
