package search

import (
	"bytes"
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/internal/identifier"
	"github.com/quarrysearch/quarry/schemas/code"
)

// A ranked search reads only the documents that are likely to be the best for several
// terms, of which none must match. The index shows which blocks may contain which terms;
// with the rarity of the terms, the paths and the flags of the files, this orders the
// documents before any text is read.

const (
	// maxRanked bounds the documents that a ranked search reads.
	maxRanked = 100
	// rankTogether is the weight of the terms in the best block of a document, relative to
	// those in all of it; rankStem, rankName and rankFolder those of the terms that are
	// the name of the file, are in it, and in its folders.
	rankTogether = 1
	rankStem     = 1.2
	rankName     = 0.7
	rankFolder   = 0.35
	// rankAside is the factor for test code, vendored and generated files, prose and
	// large files.
	rankAside = 0.9
	// minRankedShare is the minimum share of the terms, by weight, in a document whose
	// path is looked at.
	minRankedShare = 0.2
	// minExactShare is the minimum share of the terms of a document that callers who may
	// not see everything find.
	minExactShare = 0.5
	// minPathWord is the minimum length of a term that is looked for in paths.
	minPathWord = 3
	// maxFormEnding is the maximum length of the ending that a stem lacks.
	maxFormEnding = 3
)

// rankedDocument is a document with its estimated worth.
type rankedDocument struct {
	DocumentID
	at    filePosition // of its first place
	worth float64
}

// A termSet has bit i set for the term with number i.
type termSet uint16

// markTerms returns the terms that each block of the current segment may contain. Which
// documents share a block depends on hidden ones, so for callers who may not see
// everything it returns the terms of each document instead.
func (v *documentMatcher) markTerms(words []string) ([]termSet, error) {
	terms := make([]termSet, v.finder.seg.Reader.Blocks())
	for i := range v.finder.s.c.atoms {
		f := &v.finder.candidates.atomCandidates[i]
		for b := f.blocks.Next(0); b >= 0; b = f.blocks.Next(b + 1) {
			terms[b] |= 1 << i
		}
	}
	if v.finder.s.restricted {
		return v.findTerms(terms, newDocumentRanker(words, lengthWeights(words)))
	}
	return terms, nil
}

// findTerms returns the terms of each document that has at least minExactShare of them by
// weight, from its text. blocks are the terms that its blocks may contain.
func (v *documentMatcher) findTerms(blocks []termSet, r *documentRanker) ([]termSet, error) {
	terms := make([]termSet, v.finder.seg.Reader.Documents())
	defer v.startMatching()()
	for d := v.finder.nextAllowed(0); d >= 0 && !v.finder.shouldStop(); d = v.finder.nextAllowed(d + 1) {
		doc := segment.DocID(d)
		lo, hi := v.finder.seg.Reader.TextRange(doc)
		if may, _ := r.termsBetween(blocks, lo, hi); !v.finder.seg.NoIndex && r.worth[may] < minExactShare*r.sum {
			continue
		}
		var found termSet
		for i, a := range v.finder.s.c.atoms {
			s, err := v.searchAtom(a, doc)
			if err != nil {
				return terms, err
			}
			if s.count > 0 {
				found |= 1 << i
			}
		}
		if r.worth[found] >= minExactShare*r.sum {
			terms[d] = found
		}
	}
	return terms, nil
}

// termsBetween returns the terms of the blocks between two offsets, and those of the best
// of these blocks.
func (r *documentRanker) termsBetween(blocks []termSet, lo, hi int) (all, best termSet) {
	for b := lo / postings.BlockBytes; b*postings.BlockBytes < hi; b++ {
		all |= blocks[b]
		if r.worth[blocks[b]] > r.worth[best] {
			best = blocks[b]
		}
	}
	return all, best
}

// documentRanker orders documents by their terms.
type documentRanker struct {
	words   [][]byte  // by term, in lower case
	weights []float64 // by term
	worth   []float64 // by termSet, the sum of its weights
	sum     float64
}

func newDocumentRanker(words []string, weights []float64) *documentRanker {
	r := &documentRanker{weights: weights, worth: make([]float64, 1<<len(words))}
	for k, word := range words {
		r.words = append(r.words, []byte(word))
		for set := range r.worth {
			if set>>k&1 != 0 {
				r.worth[set] += weights[k]
			}
		}
	}
	r.sum = r.worth[len(r.worth)-1]
	return r
}

// lengthWeights weighs words by their length: long words are rare.
func lengthWeights(words []string) (weights []float64) {
	for _, word := range words {
		weights = append(weights, float64(min(len(word), 12)))
	}
	return weights
}

// countTermBlocks returns the number of blocks that may contain each term of a ranked
// search, after the survey.
func (n *searchRun) countTermBlocks() listCosts {
	cost := listCosts{Blocks: indexBlocks(n.plan.segments), Lists: make([]int, len(n.plan.ranked))}
	for i := range n.plan.segments {
		if c := n.plan.schedule.segmentStates[i].candidates; c != nil {
			for k := range c.atomCandidates {
				cost.Lists[k] += c.atomCandidates[k].blocks.Len()
			}
		}
	}
	return cost
}

// termWeights weighs the terms of a ranked search by the share of all blocks that may
// contain them, and for restricted callers by their length.
func (n *searchRun) termWeights(costs ...listCosts) []float64 {
	if n.plan.scope.restricted {
		return lengthWeights(n.plan.ranked)
	}
	weights := make([]float64, len(n.plan.ranked))
	for k := range weights {
		found, blocks := 0, 1
		for _, c := range costs {
			found, blocks = found+c.Lists[k], blocks+c.Blocks
		}
		if found > 0 {
			weights[k] = math.Log2(float64(blocks) / float64(found))
		}
	}
	return weights
}

// pathWorth returns the worth of the terms in a path.
func (r *documentRanker) pathWorth(path []byte) float64 {
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
			worth += rankStem * r.weights[k]
		case at >= name:
			worth += rankName * r.weights[k]
		case at >= 0:
			worth += rankFolder * r.weights[k]
		}
	}
	return worth
}

// bestDocuments returns the best documents of all segments for terms with the given
// weights, best first.
func (n *searchRun) bestDocuments(v *segmentSearcher, weights []float64) []rankedDocument {
	r := newDocumentRanker(n.plan.ranked, weights)
	n.plan.scope.ranker, n.plan.scope.rarity = r, r.weights
	var best []rankedDocument
	floor := 0.0
	for i := range n.plan.segments {
		o := &n.plan.schedule.segmentStates[i]
		if o.candidates == nil || !o.candidates.possible || o.terms == nil {
			continue
		}
		v.openSegment(n.plan.segments[i])
		f := v.finder
		f.candidates = o.candidates
		for d := f.nextAllowed(0); d >= 0 && !f.shouldStop(); d = f.nextAllowed(d + 1) {
			doc := segment.DocID(d)
			var all, together termSet
			if n.plan.scope.restricted {
				all = o.terms[d]
			} else {
				lo, hi := f.seg.Reader.TextRange(doc)
				all, together = r.termsBetween(o.terms, lo, hi)
			}
			worth := r.worth[all] + rankTogether*r.worth[together]
			if all == 0 || worth < minRankedShare*r.sum || worth+rankStem*r.sum < floor {
				continue
			}
			place := f.seg.FirstPlace(doc)
			worth += r.pathWorth(f.seg.Places.Path(place))
			if isAside(&f.seg, doc) || proseLanguages[f.seg.Reader.Language(doc)] {
				worth *= rankAside
			}
			if worth < floor {
				continue
			}
			id := DocumentID{n.plan.segments[i].Reader.ID(), doc}
			if best = append(best, rankedDocument{id, positionOf(n.plan.scope, &n.plan.segments[i], place), worth}); len(best) == 2*maxRanked {
				best = keepBest(best)
				floor = best[len(best)-1].worth
			}
		}
	}
	return keepBest(best)
}

// visitDocumentsFirst sets the documents that a ranked search visits before all others.
func (n *searchRun) visitDocumentsFirst(documents []DocumentID) {
	a := n.plan.schedule
	a.documents = documentsBySegment(n.plan.segments, documents)
	if n.plan.request.Ranked != nil {
		a.names = nil
		a.setOrder(n.plan.scope.c)
	} else {
		a.setOrder(n.plan.scope.c, tierMain, tierRest)
	}
}

// minRankedTerms and maxRankedTerms are the minimum and maximum numbers of terms of an or by
// which documents are ranked.
const minRankedTerms, maxRankedTerms = 3, 12

// rankedWords returns the words by which documents are ranked: those of the request, or the
// terms of a query that is an or of several literals, with filters. An or is not ranked if
// all its matches are shown, and for a caller who may not see everything, because that
// would read most documents with a term.
func (p *searchPlan) rankedWords() (words []string) {
	c, r := p.scope.c, &p.request
	if r.Ranked != nil || p.scope.restricted || r.AnyMatch || p.display >= p.limit || c.entriesOnly() || len(c.atoms) < minRankedTerms || len(c.atoms) > maxRankedTerms {
		return r.Ranked
	}
	for _, n := range conjunctsOf(c.root) {
		either, ok := n.(*orNode)
		if !ok || words != nil {
			continue
		}
		for _, k := range either.children {
			if a, ok := k.(*atomNode); ok && a.literal != "" && !a.symbols && !a.isConditional() && isAtomIndexed(a.atom) {
				words = append(words, strings.ToLower(a.literal))
			}
		}
	}
	if len(words) < len(c.atoms) {
		return nil
	}
	return words
}

// keepBest sorts documents, best first and equal ones by position, and keeps the first
// maxRanked.
func keepBest(best []rankedDocument) []rankedDocument {
	slices.SortFunc(best, func(a, b rankedDocument) int {
		return cmp.Or(cmp.Compare(b.worth, a.worth), comparePositions(a.at, b.at))
	})
	return best[:min(len(best), maxRanked)]
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
	// rankedChangelog is the factor for changelogs. An entry has all words of the subject
	// of a commit and is not what it changed.
	rankedChangelog = 0.3
)

// A match of a term counts fully if it is a form of a word, of text or of an identifier.
// It counts rankedPrefix if a word only begins with it, as reference does with ref, and
// rankedInside within a word. maxRankedMatches bounds the matches of a term that are
// looked at in a file.
const (
	rankedPrefix     = 0.4
	rankedInside     = 0.2
	maxRankedMatches = 256
)

// testWord matches a word that asks for test code. A filter such as -file:test/ and a
// negated word do not ask for it.
var testWord = regexp.MustCompile(`(?i)(?:^|[\s("'])(?:[\pL\pN]+-)?(?:tests?|testing|tested|test-?cases?|specs?)(?:[\s)"'.,:;!?-]|$)`)

// setRankedPoints sets the points of a hit of a ranked search.
func (v *documentMatcher) setRankedPoints(h *documentHit) {
	r := v.finder.s.ranker
	if r.sum == 0 {
		return
	}
	lo, hi := v.finder.seg.Reader.TextRange(h.doc)
	length := 1 - lengthShare + lengthShare*float64(hi-lo)/ordinaryBytes
	frequency := 0.0
	v.termMatches = v.termMatches[:0]
	for k := range v.finder.s.c.atoms {
		s := &v.atomStates[k]
		if s.known && s.doc == h.doc && s.count > 0 {
			mean, best := v.addWordMatches(h.doc, k, s.matches[:min(len(s.matches), maxRankedMatches)])
			count := mean * float64(s.count)
			frequency += r.weights[k] * best * count / (count + saturation*length)
		}
	}
	slices.SortFunc(v.termMatches, func(a, b termMatch) int { return cmp.Compare(a.start, b.start) })
	points := rankedFrequency*frequency + rankedDense*r.densest(v.termMatches, rankedWindow) + rankedOnLine*r.densest(v.termMatches, rankedLine)
	path := v.finder.seg.Places.Path(h.place)
	points = (points + rankedPairs*v.pairsWorth(h.doc) + rankedPath*r.pathWorth(path)) / r.sum
	flags := v.finder.seg.Places.Flags[h.place] | v.finder.seg.Reader.Flags(h.doc)
	switch file := string(path); {
	case isChangelog(v.finder.seg.Reader.Language(h.doc), file):
		points *= rankedChangelog
	case isProse(v.finder.seg.Reader.Language(h.doc), file):
		points *= rankedProse
	case v.finder.s.meansTests && flags&code.FlagTest != 0:
		points = rankedTest*points - scoreTest // the score subtracts that of other queries
	case isAside(&v.finder.seg, h.doc):
		points *= rankAside
	}
	h.points = float32(points)
}

// addWordMatches adds the matches of a term in a document to v.termMatches, only those that
// are a form of a word if there are some. It returns how much a match counts on average, and
// the one that counts most.
func (v *documentMatcher) addWordMatches(d segment.DocID, term int, matches []match) (mean, best float64) {
	if len(matches) == 0 {
		return 1, 1 // of its path
	}
	lo, hi := v.finder.seg.Reader.TextRange(d)
	sum, words := 0.0, len(v.termMatches)
	for _, m := range matches {
		before := min(int(m.start), 1)
		text, err := v.finder.text.Bytes(lo+int(m.start)-before, min(lo+int(m.end)+maxFormEnding+2, hi))
		if err != nil {
			continue
		}
		share := wordShare(text, before, before+int(m.end-m.start))
		sum, best = sum+share, max(best, share)
		if share == 1 {
			v.termMatches = append(v.termMatches, termMatch{m, term})
		}
	}
	if len(v.termMatches) == words {
		for _, m := range matches {
			v.termMatches = append(v.termMatches, termMatch{m, term})
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
func (r *documentRanker) densest(matches []termMatch, window uint32) (worth float64) {
	counts, first := make([]int, len(r.weights)), 0
	var set termSet
	for _, m := range matches {
		for ; m.start-matches[first].start > window; first++ {
			k := matches[first].atom
			if counts[k]--; counts[k] == 0 {
				set &^= 1 << k
			}
		}
		counts[m.atom]++
		set |= 1 << m.atom
		worth = max(worth, r.worth[set])
	}
	return worth
}

// pairsWorth returns the worth of the terms of v.termMatches that the next term of the query
// follows, as a word of text or of the same identifier.
func (v *documentMatcher) pairsWorth(d segment.DocID) (worth float64) {
	lo, _ := v.finder.seg.Reader.TextRange(d)
	var found termSet
	for i, m := range v.termMatches {
		for _, next := range v.termMatches[i+1:] {
			if next.start > m.end+maxFormEnding+phraseGap {
				break
			}
			if next.atom != m.atom+1 || next.start < m.end || found>>m.atom&1 != 0 {
				continue
			}
			gap, err := v.finder.text.Bytes(lo+int(m.end), lo+int(next.start))
			if gap = bytes.TrimLeftFunc(gap, isPhraseRune); err == nil && !bytes.ContainsFunc(gap, isPhraseRune) {
				found |= 1 << m.atom
				worth += v.finder.s.ranker.weights[m.atom] + v.finder.s.ranker.weights[next.atom]
			}
		}
	}
	return worth
}
