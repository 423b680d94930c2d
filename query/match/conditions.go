package match

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/plan"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// A lineCondition applies to the lines of a match: one of them must match or, with not,
// none may match.
type lineCondition struct {
	regexp *regexp.Regexp
	not    bool
	// sets are sets of literals. A line that matches contains a literal from each set.
	sets [][]string
}

// addConditions adds conditions on its matches to an atom. err is the error from
// compiling its pattern.
func (c *Query) addConditions(a *atomNode, kinds []syntax.Kinds, lines []syntax.Line, err error) (Node, error) {
	if err != nil {
		return nil, err
	}
	a.kinds = kinds
	for _, l := range lines {
		flags := "(?mi)"
		if l.Case == syntax.CaseYes {
			flags = "(?m)"
		}
		re, err := regexp.Compile(flags + l.Pattern)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", plan.ErrPattern, err)
		}
		p, err := plan.Regexp(l.Pattern, l.Case != syntax.CaseYes)
		if err != nil {
			return nil, err
		}
		a.lines = append(a.lines, lineCondition{regexp: re, not: l.Not, sets: p.Sets})
	}
	return a, nil
}

// isConditional reports whether the atom may reject a match of its pattern.
func (a *Atom) isConditional() bool { return len(a.kinds)+len(a.lines) > 0 || a.parent != "" }

func (c *Query) hasConditions() bool {
	return slices.ContainsFunc(c.Atoms, (*Atom).isConditional)
}

// mayHaveKind reports whether a segment contains a symbol of a kind that the atom
// selects.
func (a *Atom) mayHaveKind(r *segment.Reader) bool {
	if len(a.kinds) == 0 {
		return true
	}
	return slices.ContainsFunc(r.Kinds(), func(kind string) bool { return a.hasKind(code.SymbolKind(kind)) })
}

func (a *Atom) hasKind(kind code.SymbolKind) bool {
	for i := range a.kinds {
		if !a.kinds[i].Has(kind) {
			return false
		}
	}
	return true
}

// findLines narrows the candidates of an atom to documents that contain the literals of
// its line conditions and, for a symbol, the name of its parent.
func (l *indexLookup) findLines(a *Atom, f atomCandidates) (atomCandidates, error) {
	required := &f.requiredBlocks
	var sets [][]string
	if a.Symbols {
		required = &f.textBlocks
	}
	if a.parent != "" {
		sets = append(sets, []string{a.parent})
	}
	for i := range a.lines {
		if c := &a.lines[i]; !c.not && len(c.sets) > 0 {
			sets = append(sets, slices.MinFunc(c.sets, func(x, y []string) int { return l.setCost(x) - l.setCost(y) }))
		}
	}
	for _, set := range sets {
		if len(*required) == maxRequiredSets {
			break
		}
		other, err := l.setBlocks(set, true)
		if err != nil {
			return atomCandidates{}, err
		}
		if other.isEmpty() {
			return atomCandidates{}, nil
		}
		if !other.all {
			*required = append(*required, other.blocks)
		}
	}
	return f, nil
}

// applyConditions keeps the matches of an atom in a document that meet its conditions. s
// holds all matches, because an atom with conditions has no match limit.
func (v *Matcher) applyConditions(a *Atom, s *atomState) error {
	if !a.isConditional() || len(s.matches) == 0 || v.Finder.Exceeded {
		return nil
	}
	if a.Symbols { // numberSymbols has read the outline
		s.matches = slices.DeleteFunc(s.matches, func(m Match) bool {
			i := int(m.Symbol)
			return i >= v.outline.Len() || !a.hasKind(v.outline.Kind(i)) || a.parent != "" && string(v.outline.Parent(i)) != a.parent
		})
	}
	if len(a.lines) > 0 {
		lo, hi := v.Finder.Seg.Reader.TextRange(s.doc)
		text, err := v.Finder.text.Bytes(lo, hi)
		if err != nil {
			return err
		}
		j := lineConditionChecker{text: text, conditions: a.lines}
		s.matches = slices.DeleteFunc(s.matches, func(m Match) bool { return !j.meetsConditions(int(m.Start), int(m.End)) })
	}
	s.count = len(s.matches)
	return nil
}

// lineConditionChecker checks the conditions on the lines of matches, in ascending order.
// Matches on one line share the result.
type lineConditionChecker struct {
	text       []byte
	conditions []lineCondition
	start, end int // lines checked last
	decided    bool
	met        bool
}

func (j *lineConditionChecker) meetsConditions(start, end int) bool {
	if end > len(j.text) || start > end {
		return false
	}
	if j.decided && start >= j.start && end <= j.end {
		return j.met
	}
	j.start = bytes.LastIndexByte(j.text[:start], '\n') + 1
	j.end = end
	if n := bytes.IndexByte(j.text[end:], '\n'); n >= 0 {
		j.end += n
	} else {
		j.end = len(j.text)
	}
	lines := bytes.TrimSuffix(bytes.ReplaceAll(j.text[j.start:j.end], []byte("\r\n"), newline), []byte("\r"))
	j.met = !slices.ContainsFunc(j.conditions, func(c lineCondition) bool { return c.regexp.Match(lines) == c.not })
	j.decided = true
	return j.met
}
