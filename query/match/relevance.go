package match

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/identifier"
)

// Proximity is the distance between all terms of a query.
type Proximity uint8

// The proximities, farthest first.
const (
	NearNot    Proximity = iota
	NearRegion           // within nearLines lines
	NearLines3           // within three lines
	NearLine             // on one line
	NearPhrase           // in the order of the query, with only punctuation and blanks between them
)

const (
	nearLines = 10
	// nearBytes is the maximum length of a text whose terms are near, however few lines
	// it has.
	nearBytes = 2 << 10
	// phraseGap bounds the bytes between two terms of a phrase.
	phraseGap = 4
	// nearMatches bounds the matches of each term that are compared.
	nearMatches = 1 << 10
	// Parameters of BM25, and the size of a typical document.
	saturation, lengthShare = 1.2, 0.75
	ordinaryBytes           = 16 << 10
)

// SetRelevance sets the relevance of a hit from the matches in the current document.
func (v *Matcher) SetRelevance(h *Hit) error {
	if v.Finder.s.Ranker != nil {
		return v.setRankedPoints(h)
	}
	lo, hi := v.Finder.Seg.Reader.TextRange(h.Doc)
	sum, all := 0.0, 0.0
	for i, a := range v.Finder.s.Query.Atoms {
		if a.existenceOnly {
			continue
		}
		weight := 1.0
		if i < len(v.Finder.s.Rarity) {
			weight = v.Finder.s.Rarity[i]
		}
		all += weight
		if s := &v.atomStates[i]; s.known && s.doc == h.Doc && s.count > 0 {
			sum += weight * saturateFrequency(float64(s.count), hi-lo)
			h.Points = max(h.Points, a.points)
		}
	}
	if all > 0 {
		h.Frequency = float32(sum / all)
	}
	if len(v.Finder.s.Query.Atoms) < 2 {
		return nil
	}
	if err := v.setNearness(h, lo); err != nil || len(v.Finder.s.Query.Literals) < 2 {
		return err
	}
	err := v.setBestUnit(h)
	h.Points += float32(v.unitPoints(h))
	return err
}

// saturateFrequency returns the BM25, without the weight of the term, of a number of matches in
// a document of a number of bytes.
func saturateFrequency(matches float64, bytes int) float64 {
	length := 1 - lengthShare + lengthShare*float64(bytes)/ordinaryBytes
	return matches / (matches + saturation*length)
}

// TermMatch is a match of one of several terms.
type TermMatch struct {
	Match
	Atom int
}

// setNearness finds the shortest piece of text with a match of every term.
func (v *Matcher) setNearness(h *Hit, lo int) error {
	terms := 0
	v.termMatches = v.termMatches[:0]
	for i, a := range v.Finder.s.Query.Atoms {
		s := &v.atomStates[i]
		if a.existenceOnly || !s.known || s.doc != h.Doc || len(s.matches) == 0 {
			continue
		}
		terms++
		for _, m := range s.matches[:min(len(s.matches), nearMatches)] {
			v.termMatches = append(v.termMatches, TermMatch{m, i})
		}
	}
	if terms < 2 {
		return nil
	}
	slices.SortFunc(v.termMatches, func(a, b TermMatch) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Atom, b.Atom))
	})
	best := shortestRun(v.termMatches, len(v.Finder.s.Query.Atoms), terms)
	if best == nil {
		return nil
	}
	for _, a := range best {
		h.End = max(h.End, a.End)
	}
	if h.Start = best[0].Start; h.End-h.Start > nearBytes {
		return nil
	}
	text, err := v.Finder.text.Bytes(lo+int(h.Start), lo+int(h.End))
	if err != nil {
		return err
	}
	h.Near = proximityOf(text, best, h.Start, terms)
	return nil
}

// shortestRun returns the shortest run of matches that includes all terms; of equally
// short runs, the first.
func shortestRun(all []TermMatch, atoms, terms int) []TermMatch {
	seen := make([]int, atoms)
	var best []TermMatch
	have, first, size := 0, 0, uint32(math.MaxUint32)
	for i, a := range all {
		if seen[a.Atom]++; seen[a.Atom] == 1 {
			have++
		}
		for have == terms {
			if s := a.End - all[first].Start; s < size {
				best, size = all[first:i+1], s
			}
			if seen[all[first].Atom]--; seen[all[first].Atom] == 0 {
				have--
			}
			first++
		}
	}
	return best
}

// proximityOf returns the proximity of the terms in a text that begins at start in its
// document.
func proximityOf(text []byte, run []TermMatch, start uint32, terms int) Proximity {
	if isPhrase(text, run, start, terms) {
		return NearPhrase
	}
	switch lines := bytes.Count(text, newline); {
	case lines == 0:
		return NearLine
	case lines < 3:
		return NearLines3
	case lines < nearLines:
		return NearRegion
	}
	return NearNot
}

// isPhrase reports whether the terms follow one another in the order of the query.
func isPhrase(text []byte, run []TermMatch, start uint32, terms int) bool {
	if len(run) != terms {
		return false
	}
	for i := 1; i < len(run); i++ {
		from, to := run[i-1].End, run[i].Start
		if run[i].Atom <= run[i-1].Atom || to < from || to-from > phraseGap {
			return false
		}
		if bytes.ContainsFunc(text[from-start:to-start], isPhraseRune) {
			return false
		}
	}
	return true
}

// isPhraseRune reports whether a rune between two terms prevents a phrase. Underscores do
// not, because terms may be words of one identifier.
func isPhraseRune(r rune) bool { return r != '_' && identifier.IsWordRune(r) }

// MaxOrderedAtoms bounds the atoms of a query whose documents are ordered by the index.
const MaxOrderedAtoms = 16

// MaxRaritySegments bounds the segments that are checked for the rarity of terms.
const MaxRaritySegments = 64

// ListCosts are the numbers of blocks of one segment that may contain each atom.
type ListCosts struct {
	Blocks int   // of the segment
	Lists  []int // by atom
}

// CountLists returns the costs of the first MaxRaritySegments segments. It returns nil for
// a single atom, and for restricted callers: lists also count hidden text.
func (s *Scope) CountLists(segments []corpus.Segment) (costs []ListCosts) {
	if len(s.Query.Atoms) < 2 || len(s.Query.Atoms) > MaxOrderedAtoms || s.Restricted {
		return nil
	}
	l := &indexLookup{work: &Work{}}
	for _, seg := range segments[:min(len(segments), MaxRaritySegments)] {
		l.r = seg.Reader
		cost := ListCosts{Blocks: seg.Reader.Blocks(), Lists: make([]int, len(s.Query.Atoms))}
		for i, a := range s.Query.Atoms {
			cost.Lists[i] = l.rarestSetCost(a)
		}
		costs = append(costs, cost)
	}
	return costs
}

// RarityWeights returns the weight of each atom, 1 or more, like an inverse document
// frequency: the logarithm of the share of blocks in the smallest posting list of its
// trigrams. It is nil without costs.
func (s *Scope) RarityWeights(costs []ListCosts) []float64 {
	if costs == nil {
		return nil
	}
	weights := make([]float64, len(s.Query.Atoms))
	for i := range weights {
		list, all := 0, 0
		for _, c := range costs[:min(len(costs), MaxRaritySegments)] {
			list, all = list+c.Lists[i], all+c.Blocks
		}
		weights[i] = 1 + math.Log2(float64(all+1)/float64(min(list, all)+1))
	}
	return weights
}

// rarestSetCost estimates the number of blocks that contain an atom by its rarest set of
// literals.
func (l *indexLookup) rarestSetCost(a *Atom) int {
	least := l.r.Blocks()
	if a.pattern == nil || a.re2 != nil {
		return least
	}
	for _, set := range a.pattern.Sets[:min(len(a.pattern.Sets), 2)] {
		least = min(least, l.setCost(set[:min(len(set), maxNames)]))
	}
	return least
}
