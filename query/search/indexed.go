package search

import (
	"math"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/query/internal/bitset"
)

// isIndexed reports whether the index shows for which documents a node can be true.
func isIndexed(n node) bool {
	switch n := n.(type) {
	case *andNode:
		return slices.ContainsFunc(n.children, isIndexed)
	case *orNode:
		return !slices.ContainsFunc(n.children, func(k node) bool { return !isIndexed(k) })
	case *atomNode:
		return isAtomIndexed(n.atom)
	}
	return false
}

func isAtomIndexed(a *atom) bool { return a.re2 == nil && len(indexedSet(a.pattern.Sets)) > 0 }

// indexedSet returns the first set of literals that all have trigrams, or nil.
func indexedSet(sets [][]string) []string {
	i := slices.IndexFunc(sets, func(set []string) bool {
		return len(set) > 0 && !slices.ContainsFunc(set, func(s string) bool { return len(s) < 3 })
	})
	if i < 0 {
		return nil
	}
	return sets[i]
}

// fullScanCandidates returns the segmentCandidates of a segment without index results.
func fullScanCandidates(c *compiledQuery) *segmentCandidates {
	p := &segmentCandidates{possible: true, atomCandidates: make([]atomCandidates, len(c.atoms)), columns: make([]bitset.Set, len(c.predicates)+1)}
	for i, a := range c.atoms {
		p.atomCandidates[i] = everyBlock(a)
	}
	p.atomsLookedUp = len(c.atoms)
	return p
}

// everyBlock returns the candidates of an atom without index results.
func everyBlock(a *atom) atomCandidates {
	f := atomCandidates{all: true}
	if a.re2 == nil && len(a.pattern.Sets) > 0 {
		f.literals = a.pattern.Sets[0]
	}
	return f
}

// countCandidates returns an upper bound on the blocks that can match, or on the places
// if the node has no atoms.
func (v *candidateFinder) countCandidates(n node) int {
	switch n := n.(type) {
	case *andNode:
		least := math.MaxInt32
		for _, k := range n.children {
			least = min(least, v.countCandidates(k))
		}
		return least
	case *orNode:
		sum := 0
		for _, k := range n.children {
			sum = min(sum+v.countCandidates(k), math.MaxInt32)
		}
		return sum
	case *atomNode:
		if f := &v.candidates.atomCandidates[n.number]; !f.all {
			return v.candidateBlocks(n.atom, f)
		}
	}
	return math.MaxInt32
}

// countSegmentCandidates returns an upper bound on the candidates in the current segment.
func (v *candidateFinder) countSegmentCandidates() int {
	switch {
	case !v.candidates.possible:
		return 0
	case len(v.s.c.atoms) > 0:
		return v.countCandidates(v.s.c.root)
	case v.candidates.allowed == nil:
		return v.seg.Places.Len()
	}
	return v.candidates.allowed.Count()
}

// requiredAtoms returns the atoms on text that must all match and that the index helps to
// find.
func requiredAtoms(c *compiledQuery) (numbers []int) {
	for _, n := range conjunctsOf(c.root) {
		if k, ok := n.(*atomNode); ok && isAtomIndexed(k.atom) && !k.symbols && !k.isCondition {
			numbers = append(numbers, k.number)
		}
	}
	return numbers
}

// phraseOf returns the folded terms of a query, joined with blanks. It returns an empty
// string if some term is not a literal that must match.
func phraseOf(c *compiledQuery) string {
	n := 0
	for _, k := range conjunctsOf(c.root) {
		if k, ok := k.(*atomNode); ok && !k.symbols && k.literal != "" {
			n++
		}
	}
	if n != len(c.atoms) || n != len(c.literals) {
		return ""
	}
	return string(postings.AppendFold(nil, []byte(strings.Join(c.literals, " "))))
}

// countBlocks returns the number of blocks in which each atom that was looked up may match, -1
// for all.
func (p *segmentCandidates) countBlocks() (counts []int) {
	for i := range p.atomCandidates[:p.atomsLookedUp] {
		blocks := -1
		if f := &p.atomCandidates[i]; !f.all {
			blocks = f.blocks.Len()
		}
		counts = append(counts, blocks)
	}
	return counts
}
