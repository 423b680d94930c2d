package search

import (
	"cmp"
	"slices"

	"github.com/quarrysearch/quarry/query/internal/ranking"
	"github.com/quarrysearch/quarry/query/match"
	"github.com/quarrysearch/quarry/schemas/code"
)

// bestLines returns the numbers of the lines of chunks with matches, best first, at most
// MaxBestLines.
func (r *renderer) bestLines(h *hit, chunks []Chunk) (numbers []int) {
	type scored struct {
		number int
		score  float64
	}
	var lines []scored
	var found []match.TermMatch
	looked := 0
	for i := range chunks {
		c := &chunks[i]
		for j := 0; j < len(c.Ranges); {
			if at := c.Ranges[j]; looked >= ranking.MaxScoredRanges && !h.IsUnit(uint32(at.Start.ByteOffset), uint32(at.End.ByteOffset)) {
				j++
				continue
			}
			number, defined, first, unit := c.Ranges[j].Start.LineNumber, 0.0, j, 0.0
			found = found[:0]
			var named *code.Symbol // of the line, with the terms in its name
			var terms match.TermSet
			for ; j < len(c.Ranges) && c.Ranges[j].Start.LineNumber == number; j++ {
				at := c.Ranges[j]
				if h.IsUnit(uint32(at.Start.ByteOffset), uint32(at.End.ByteOffset)) {
					unit = r.run.plan.scope.UnitShare(h.Unit)
				}
				if len(c.Symbols) > 0 && c.Symbols[j] != nil {
					share := r.run.plan.scope.DefinitionShare(r.definedBy(c.Symbols[j].Name, at), c.Symbols[j].Kind, c.Symbols[j].Parent)
					defined = max(defined, share)
				}
				if j-first < match.MaxLineMatches {
					m := match.Match{Start: uint32(at.Start.ByteOffset), End: uint32(at.End.ByteOffset)}
					text := c.Content[at.Start.ByteOffset-c.Start.ByteOffset : at.End.ByteOffset-c.Start.ByteOffset]
					atom := r.run.plan.scope.Query.AtomOf(text)
					found = append(found, match.TermMatch{Match: m, Atom: atom})
					if len(c.Symbols) > 0 && c.Symbols[j] != nil && atom >= 0 {
						if s := c.Symbols[j]; named == nil || *named != *s {
							named, terms = s, 0
						}
						terms |= 1 << atom
						defined = max(defined, r.run.plan.scope.PartShare(terms, named.Kind))
					}
				}
				looked++
			}
			slices.SortStableFunc(found, func(a, b match.TermMatch) int { return cmp.Compare(a.Atom, b.Atom) })
			l := scored{number, r.run.plan.scope.ScoreLine(c.Content, c.Start.ByteOffset, true, found)}
			l.score += defined + unit
			lines = append(lines, l)
		}
	}
	slices.SortStableFunc(lines, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	for _, l := range lines[:min(len(lines), match.MaxBestLines)] {
		numbers = append(numbers, l.number)
	}
	return numbers
}

// definedBy returns the kind of definition at a match whose symbol has the given name.
func (r *renderer) definedBy(name string, at Range) match.DefinitionKind {
	switch {
	case r.run.plan.scope.Query.IsJoined(name):
		return match.DefinedJoined
	case at.End.ByteOffset-at.Start.ByteOffset == len(name):
		return match.DefinedMatch
	}
	return match.NotDefined
}
