package search

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/identifier"
)

// proximity is the distance between all terms of a query.
type proximity uint8

const (
	nearNot    proximity = iota
	nearRegion           // within nearLines lines
	nearLines3           // within three lines
	nearLine             // on one line
	nearPhrase           // in the order of the query, with only punctuation and blanks between them
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

// setRelevance sets the relevance of a hit from the matches in the current document.
func (v *documentMatcher) setRelevance(h *documentHit) error {
	if v.finder.s.ranker != nil {
		v.setRankedPoints(h)
		return nil
	}
	lo, hi := v.finder.seg.Reader.TextRange(h.doc)
	sum, all := 0.0, 0.0
	for i, a := range v.finder.s.c.atoms {
		if a.existenceOnly {
			continue
		}
		weight := 1.0
		if i < len(v.finder.s.rarity) {
			weight = v.finder.s.rarity[i]
		}
		all += weight
		if s := &v.atomStates[i]; s.known && s.doc == h.doc && s.count > 0 {
			sum += weight * saturateFrequency(float64(s.count), hi-lo)
			h.points = max(h.points, a.points)
		}
	}
	if all > 0 {
		h.frequency = float32(sum / all)
	}
	if len(v.finder.s.c.atoms) > 1 {
		return v.setNearness(h, lo)
	}
	return nil
}

// saturateFrequency returns the BM25, without the weight of the term, of a number of matches in
// a document of a number of bytes.
func saturateFrequency(matches float64, bytes int) float64 {
	length := 1 - lengthShare + lengthShare*float64(bytes)/ordinaryBytes
	return matches / (matches + saturation*length)
}

// termMatch is a match of one of several terms.
type termMatch struct {
	match
	atom int
}

// setNearness finds the shortest piece of text with a match of every term.
func (v *documentMatcher) setNearness(h *documentHit, lo int) error {
	terms := 0
	v.termMatches = v.termMatches[:0]
	for i, a := range v.finder.s.c.atoms {
		s := &v.atomStates[i]
		if a.existenceOnly || !s.known || s.doc != h.doc || len(s.matches) == 0 {
			continue
		}
		terms++
		for _, m := range s.matches[:min(len(s.matches), nearMatches)] {
			v.termMatches = append(v.termMatches, termMatch{m, i})
		}
	}
	if terms < 2 {
		return nil
	}
	slices.SortFunc(v.termMatches, func(a, b termMatch) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.atom, b.atom))
	})
	best := shortestRun(v.termMatches, len(v.finder.s.c.atoms), terms)
	if best == nil {
		return nil
	}
	for _, a := range best {
		h.end = max(h.end, a.end)
	}
	if h.start = best[0].start; h.end-h.start > nearBytes {
		return nil
	}
	text, err := v.finder.text.Bytes(lo+int(h.start), lo+int(h.end))
	if err != nil {
		return err
	}
	h.near = proximityOf(text, best, h.start, terms)
	return nil
}

// shortestRun returns the shortest run of matches that includes all terms; of equally
// short runs, the first.
func shortestRun(all []termMatch, atoms, terms int) []termMatch {
	seen := make([]int, atoms)
	var best []termMatch
	have, first, size := 0, 0, uint32(math.MaxUint32)
	for i, a := range all {
		if seen[a.atom]++; seen[a.atom] == 1 {
			have++
		}
		for have == terms {
			if s := a.end - all[first].start; s < size {
				best, size = all[first:i+1], s
			}
			if seen[all[first].atom]--; seen[all[first].atom] == 0 {
				have--
			}
			first++
		}
	}
	return best
}

// proximityOf returns the proximity of the terms in a text that begins at start in its
// document.
func proximityOf(text []byte, run []termMatch, start uint32, terms int) proximity {
	if isPhrase(text, run, start, terms) {
		return nearPhrase
	}
	switch lines := bytes.Count(text, newline); {
	case lines == 0:
		return nearLine
	case lines < 3:
		return nearLines3
	case lines < nearLines:
		return nearRegion
	}
	return nearNot
}

// isPhrase reports whether the terms follow one another in the order of the query.
func isPhrase(text []byte, run []termMatch, start uint32, terms int) bool {
	if len(run) != terms {
		return false
	}
	for i := 1; i < len(run); i++ {
		from, to := run[i-1].end, run[i].start
		if run[i].atom <= run[i-1].atom || to < from || to-from > phraseGap {
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

// maxRaritySegments bounds the segments that are checked for the rarity of terms.
const maxRaritySegments = 64

// listCosts are the numbers of blocks of one segment that may contain each atom.
type listCosts struct {
	Blocks int   // of the segment
	Lists  []int // by atom
}

// countLists returns the costs of the first maxRaritySegments segments. It returns nil for
// a single atom, and for restricted callers: lists also count hidden text.
func (s *scope) countLists(segments []corpus.Segment) (costs []listCosts) {
	if len(s.c.atoms) < 2 || len(s.c.atoms) > maxOrderedAtoms || s.restricted {
		return nil
	}
	l := &indexLookup{work: &work{}}
	for _, seg := range segments[:min(len(segments), maxRaritySegments)] {
		l.r = seg.Reader
		cost := listCosts{Blocks: seg.Reader.Blocks(), Lists: make([]int, len(s.c.atoms))}
		for i, a := range s.c.atoms {
			cost.Lists[i] = l.rarestSetCost(a)
		}
		costs = append(costs, cost)
	}
	return costs
}

// rarityWeights returns the weight of each atom, 1 or more, like an inverse document
// frequency: the logarithm of the share of blocks in the smallest posting list of its
// trigrams. It is nil without costs.
func (s *scope) rarityWeights(costs []listCosts) []float64 {
	if costs == nil {
		return nil
	}
	weights := make([]float64, len(s.c.atoms))
	for i := range weights {
		list, all := 0, 0
		for _, c := range costs[:min(len(costs), maxRaritySegments)] {
			list, all = list+c.Lists[i], all+c.Blocks
		}
		weights[i] = 1 + math.Log2(float64(all+1)/float64(min(list, all)+1))
	}
	return weights
}

// rarestSetCost estimates the number of blocks that contain an atom by its rarest set of
// literals.
func (l *indexLookup) rarestSetCost(a *atom) int {
	least := l.r.Blocks()
	if a.pattern == nil || a.re2 != nil {
		return least
	}
	for _, set := range a.pattern.Sets[:min(len(a.pattern.Sets), 2)] {
		least = min(least, l.setCost(set[:min(len(set), maxNames)]))
	}
	return least
}
