package match

import (
	"math"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/projections/postings"
)

// IsIndexed reports whether the index shows for which documents a node can be true.
func IsIndexed(n Node) bool {
	switch n := n.(type) {
	case *andNode:
		return slices.ContainsFunc(n.children, IsIndexed)
	case *orNode:
		return !slices.ContainsFunc(n.children, func(k Node) bool { return !IsIndexed(k) })
	case *atomNode:
		return isAtomIndexed(n.Atom)
	}
	return false
}

// isAtomIndexed reports whether the index shows for which documents an atom can match.
func isAtomIndexed(a *Atom) bool { return a.re2 == nil && len(indexedSet(a.pattern.Sets)) > 0 }

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

// FullScanCandidates returns the Candidates of a segment without index results.
func FullScanCandidates(c *Query) *Candidates {
	p := newCandidates(c)
	p.Possible = true
	for i, a := range c.Atoms {
		p.byAtom[i] = everyBlock(a)
	}
	p.atomsLookedUp = len(c.Atoms)
	return p
}

// everyBlock returns the candidates of an atom without index results.
func everyBlock(a *Atom) atomCandidates {
	f := atomCandidates{all: true}
	if a.re2 == nil && len(a.pattern.Sets) > 0 {
		f.literals = a.pattern.Sets[0]
	}
	return f
}

// countCandidates returns an upper bound on the blocks that can match, or on the places
// if the node has no atoms.
func (v *Finder) countCandidates(n Node) int {
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
		if f := &v.Candidates.byAtom[n.number]; !f.all {
			return v.candidateBlocks(n.Atom, f)
		}
	}
	return math.MaxInt32
}

// CountSegmentCandidates returns an upper bound on the candidates in the current segment.
func (v *Finder) CountSegmentCandidates() int {
	switch {
	case !v.Candidates.Possible:
		return 0
	case len(v.s.Query.Atoms) > 0:
		return v.countCandidates(v.s.Query.Root)
	case v.Candidates.allowed == nil:
		return v.Seg.Places.Len()
	}
	return v.Candidates.allowed.Count()
}

// RequiredAtoms returns the atoms on text that must all match and that the index helps to
// find.
func RequiredAtoms(c *Query) (numbers []int) {
	for _, n := range conjunctsOf(c.Root) {
		if k, ok := n.(*atomNode); ok && isAtomIndexed(k.Atom) && !k.Symbols && !k.isCondition {
			numbers = append(numbers, k.number)
		}
	}
	return numbers
}

// PhraseOf returns the folded terms of a query, joined with blanks. It returns an empty
// string if some term is not a literal that must match.
func PhraseOf(c *Query) string {
	n := 0
	for _, k := range conjunctsOf(c.Root) {
		if k, ok := k.(*atomNode); ok && !k.Symbols && k.Literal != "" {
			n++
		}
	}
	if n != len(c.Atoms) || n != len(c.Literals) {
		return ""
	}
	return string(postings.AppendFold(nil, []byte(strings.Join(c.Literals, " "))))
}

// CountBlocks returns the number of blocks in which each atom that was looked up may match, -1
// for all.
func (p *Candidates) CountBlocks() (counts []int) {
	for i := range p.byAtom[:p.atomsLookedUp] {
		blocks := -1
		if f := &p.byAtom[i]; !f.all {
			blocks = f.blocks.Len()
		}
		counts = append(counts, blocks)
	}
	return counts
}

// MaxCountedBlocks is the number of candidate blocks above which their number does not
// matter.
const MaxCountedBlocks = 1 << 14

// candidateBlocks counts the candidate blocks of an atom. For restricted callers, it
// counts only blocks with visible text, and stops once the count no longer matters.
func (v *Finder) candidateBlocks(a *Atom, f *atomCandidates) int {
	if !v.s.Restricted {
		return f.blocks.Len()
	}
	n := 0
	for b := f.blocks.Next(0); b >= 0 && n <= MaxCountedBlocks; b = f.blocks.Next(b + 1) {
		if v.showsBlock(a.Symbols, b) {
			n++
		}
	}
	return n
}

// showsBlock reports whether a block contains text or symbols of a document that the
// caller may see.
func (v *Finder) showsBlock(symbols bool, block int) bool {
	r := v.Seg.Reader
	if r.Documents() == 0 {
		return false
	}
	first, _ := r.TextRange(0)
	end, of := r.TextEnd(), r.DocumentAt
	if symbols {
		first, _ = r.SymbolRange(0) // a line feed precedes it
		end, of = r.SpaceEnd(), r.DocumentOfSymbol
	}
	from, to := max(block*postings.BlockBytes, first), min((block+1)*postings.BlockBytes, end)
	if from >= to {
		return false
	}
	for d, last := of(from), of(to-1); d <= last; d++ {
		if v.Seg.FirstPlace(d) >= 0 {
			return true
		}
	}
	return false
}

// EitherTerms returns the literals, in lower case, of an or that must be true, as far as the
// index helps to find them.
func (c *Query) EitherTerms() (words []string) {
	for _, n := range conjunctsOf(c.Root) {
		either, ok := n.(*orNode)
		if !ok || words != nil {
			continue
		}
		for _, k := range either.children {
			if a, ok := k.(*atomNode); ok && a.Literal != "" && !a.Symbols && !a.isConditional() && isAtomIndexed(a.Atom) {
				words = append(words, strings.ToLower(a.Literal))
			}
		}
	}
	return words
}
