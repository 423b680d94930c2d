package match

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/internal/identifier"
	"github.com/quarrysearch/quarry/query/internal/ranking"
	"github.com/quarrysearch/quarry/schemas/code"
)

const (
	// RankStem, rankName and rankFolder are the weights of the terms that are the name of
	// the file, are in it, and in its folders.
	RankStem   = 1.2
	rankName   = 0.7
	rankFolder = 0.35
	// RankAside is the factor for test code, vendored and generated files, prose and
	// large files.
	RankAside = 0.9
	// minExactShare is the minimum share of the terms of a document that callers who may
	// not see everything find.
	minExactShare = 0.5
	// minPathWord is the minimum length of a term that is looked for in paths.
	minPathWord = 3
	// maxFormEnding is the maximum length of the ending that a stem lacks.
	maxFormEnding = 3
)

// A TermSet has bit i set for the term with number i.
type TermSet uint16

// Ranker orders documents by their terms.
type Ranker struct {
	words   [][]byte  // by term, in lower case
	Weights []float64 // by term
	Worth   []float64 // by TermSet, the sum of its weights
	Sum     float64
}

// NewRanker returns a Ranker of terms with the given weights.
func NewRanker(words []string, weights []float64) *Ranker {
	r := &Ranker{Weights: weights, Worth: make([]float64, 1<<len(words))}
	for k, word := range words {
		r.words = append(r.words, []byte(word))
		for set := range r.Worth {
			if set>>k&1 != 0 {
				r.Worth[set] += weights[k]
			}
		}
	}
	r.Sum = r.Worth[len(r.Worth)-1]
	return r
}

// LengthWeights weighs words by their length: long words are rare.
func LengthWeights(words []string) (weights []float64) {
	for _, word := range words {
		weights = append(weights, float64(min(len(word), 12)))
	}
	return weights
}

// TermsBetween returns the terms of the blocks between two offsets, and those of the best
// of these blocks.
func (r *Ranker) TermsBetween(blocks []TermSet, lo, hi int) (all, best TermSet) {
	for b := lo / postings.BlockBytes; b*postings.BlockBytes < hi; b++ {
		all |= blocks[b]
		if r.Worth[blocks[b]] > r.Worth[best] {
			best = blocks[b]
		}
	}
	return all, best
}

// PathWorth returns the worth of the terms in a path.
func (r *Ranker) PathWorth(path []byte) float64 {
	var buffer [256]byte
	lower := append(buffer[:0], path...)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	name := bytes.LastIndexByte(lower, '/') + 1
	end := len(lower)
	if dot := bytes.IndexByte(lower[name:], '.'); dot > 0 {
		end = name + dot
	}
	worth := 0.0
	for k, word := range r.words {
		if len(word) < minPathWord {
			continue
		}
		switch at := bytes.LastIndex(lower, word); {
		case at == name && end-name <= len(word)+maxFormEnding:
			worth += RankStem * r.Weights[k]
		case at >= name:
			worth += rankName * r.Weights[k]
		case at >= 0:
			worth += rankFolder * r.Weights[k]
		}
	}
	return worth
}

// MarkTerms returns the terms that each block of the current segment may contain. Which
// documents share a block depends on hidden ones, so for callers who may not see
// everything it returns the terms of each document instead.
func (v *Matcher) MarkTerms(words []string) ([]TermSet, error) {
	terms := make([]TermSet, v.Finder.Seg.Reader.Blocks())
	for i := range v.Finder.s.Query.Atoms {
		f := &v.Finder.Candidates.byAtom[i]
		for b := f.blocks.Next(0); b >= 0; b = f.blocks.Next(b + 1) {
			terms[b] |= 1 << i
		}
	}
	if v.Finder.s.Restricted {
		return v.findTerms(terms, NewRanker(words, LengthWeights(words)))
	}
	return terms, nil
}

// findTerms returns the terms of each document that has at least minExactShare of them by
// weight, from its text. blocks are the terms that its blocks may contain.
func (v *Matcher) findTerms(blocks []TermSet, r *Ranker) ([]TermSet, error) {
	terms := make([]TermSet, v.Finder.Seg.Reader.Documents())
	defer v.StartMatching()()
	for d := v.Finder.NextAllowed(0); d >= 0 && !v.Finder.ShouldStop(); d = v.Finder.NextAllowed(d + 1) {
		doc := segment.DocID(d)
		lo, hi := v.Finder.Seg.Reader.TextRange(doc)
		if may, _ := r.TermsBetween(blocks, lo, hi); !v.Finder.Seg.NoIndex && r.Worth[may] < minExactShare*r.Sum {
			continue
		}
		var found TermSet
		for i, a := range v.Finder.s.Query.Atoms {
			s, err := v.searchAtom(a, doc)
			if err != nil {
				return terms, err
			}
			if s.count > 0 {
				found |= 1 << i
			}
		}
		if r.Worth[found] >= minExactShare*r.Sum {
			terms[d] = found
		}
	}
	return terms, nil
}

// Points of a file in a ranked search: for how often the terms appear, relative to the
// length of the file; for the terms within rankedWindow bytes and within rankedLine bytes;
// for terms that follow one another as in the query; and for those in its path.
const (
	rankedFrequency = 1000
	rankedDense     = 1000
	rankedOnLine    = 500
	rankedPairs     = 600
	rankedPath      = 600
	rankedWindow    = 500
	rankedLine      = 80
	rankedProse     = 0.5 // factor for prose
	rankedTest      = 1.3 // factor for test code if the words ask for tests
	rankedOtherTest = 0.75
	// rankedChangelog is the factor for changelogs. An entry has all words of the subject
	// of a commit and is not what it changed.
	rankedChangelog = 0.3
)

// setRankedPoints sets the points of a hit of a ranked search.
func (v *Matcher) setRankedPoints(h *Hit) error {
	r := v.Finder.s.Ranker
	if r.Sum == 0 {
		return nil
	}
	lo, hi := v.Finder.Seg.Reader.TextRange(h.Doc)
	length := 1 - lengthShare + lengthShare*float64(hi-lo)/ordinaryBytes
	frequency := 0.0
	v.termMatches = v.termMatches[:0]
	for k := range v.Finder.s.Query.Atoms {
		s := &v.atomStates[k]
		if s.known && s.doc == h.Doc && s.count > 0 {
			mean, best := v.addWordMatches(h.Doc, k, s.matches[:min(len(s.matches), maxRankedMatches)])
			count := mean * float64(s.count)
			frequency += r.Weights[k] * best * count / (count + saturation*length)
		}
	}
	slices.SortFunc(v.termMatches, func(a, b TermMatch) int { return cmp.Compare(a.Start, b.Start) })
	points := rankedFrequency*frequency + rankedDense*r.densest(v.termMatches, rankedWindow) + rankedOnLine*r.densest(v.termMatches, rankedLine)
	path := v.Finder.Seg.Places.Path(h.Place)
	points = (points + rankedPairs*v.pairsWorth(h.Doc) + rankedPath*r.PathWorth(path)) / r.Sum
	if err := v.setBestUnit(h); err != nil {
		return err
	}
	points += v.unitPoints(h)
	flags := v.Finder.Seg.Places.Flags[h.Place] | v.Finder.Seg.Reader.Flags(h.Doc)
	switch file := string(path); {
	case ranking.IsChangelog(v.Finder.Seg.Reader.Language(h.Doc), file):
		points *= rankedChangelog
	case ranking.IsProse(v.Finder.Seg.Reader.Language(h.Doc), file):
		points *= rankedProse
	case v.Finder.s.MeansTests && flags&code.FlagTest != 0:
		points = rankedTest*points - ranking.ScoreTest // the score subtracts that of other queries
	case flags&code.FlagTest != 0:
		points *= rankedOtherTest
	case IsAside(&v.Finder.Seg, h.Doc):
		points *= RankAside
	}
	h.Points = float32(points)
	return nil
}

// addWordMatches adds the matches of a term in a document to v.termMatches, only those that
// are a form of a word if there are some. It returns how much a match counts on average, and
// the one that counts most.
func (v *Matcher) addWordMatches(d segment.DocID, term int, matches []Match) (mean, best float64) {
	if len(matches) == 0 {
		return 1, 1 // of its path
	}
	lo, hi := v.Finder.Seg.Reader.TextRange(d)
	sum, words := 0.0, len(v.termMatches)
	for _, m := range matches {
		before := min(int(m.Start), 1)
		text, err := v.Finder.text.Bytes(lo+int(m.Start)-before, min(lo+int(m.End)+maxFormEnding+2, hi))
		if err != nil {
			continue
		}
		share := wordShare(text, before, before+int(m.End-m.Start))
		sum, best = sum+share, max(best, share)
		if share == 1 {
			v.termMatches = append(v.termMatches, TermMatch{m, term})
		}
	}
	if len(v.termMatches) == words {
		for _, m := range matches {
			v.termMatches = append(v.termMatches, TermMatch{m, term})
		}
	}
	return sum / float64(len(matches)), best
}

// wordShare returns how much a match counts, by the word that it is in.
func wordShare(text []byte, start, end int) float64 {
	if !identifier.IsWordStart(text, start) {
		return rankedInside
	}
	for i := range maxFormEnding + 1 {
		if identifier.IsWordStart(text, end+i) {
			return 1
		}
	}
	return rankedPrefix
}

// densest returns the worth of the terms whose matches begin within a window, in the best
// one. The matches are sorted.
func (r *Ranker) densest(matches []TermMatch, window uint32) (worth float64) {
	counts, first := make([]int, len(r.Weights)), 0
	var set TermSet
	for _, m := range matches {
		for ; m.Start-matches[first].Start > window; first++ {
			k := matches[first].Atom
			if counts[k]--; counts[k] == 0 {
				set &^= 1 << k
			}
		}
		counts[m.Atom]++
		set |= 1 << m.Atom
		worth = max(worth, r.Worth[set])
	}
	return worth
}

// pairsWorth returns the worth of the terms of v.termMatches that the next term of the query
// follows, as a word of text or of the same identifier.
func (v *Matcher) pairsWorth(d segment.DocID) (worth float64) {
	lo, _ := v.Finder.Seg.Reader.TextRange(d)
	var found TermSet
	for i, m := range v.termMatches {
		for _, next := range v.termMatches[i+1:] {
			if next.Start > m.End+maxFormEnding+phraseGap {
				break
			}
			if next.Atom != m.Atom+1 || next.Start < m.End || found>>m.Atom&1 != 0 {
				continue
			}
			gap, err := v.Finder.text.Bytes(lo+int(m.End), lo+int(next.Start))
			if gap = bytes.TrimLeftFunc(gap, isPhraseRune); err == nil && !bytes.ContainsFunc(gap, isPhraseRune) {
				found |= 1 << m.Atom
				worth += v.Finder.s.Ranker.Weights[m.Atom] + v.Finder.s.Ranker.Weights[next.Atom]
			}
		}
	}
	return worth
}

// A match of a term counts fully if it is a form of a word, of text or of an identifier.
// It counts rankedPrefix if a word only begins with it, as reference does with ref, and
// rankedInside within a word. maxRankedMatches bounds the matches of a term that are
// looked at in a file.
const (
	rankedPrefix     = 0.4
	rankedInside     = 0.2
	maxRankedMatches = 256
)
