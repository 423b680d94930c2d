package search

import (
	"cmp"
	"math"
	"regexp"
	"slices"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/internal/ranking"
	"github.com/quarrysearch/quarry/query/match"
)

// A ranked search reads only the documents that are likely to be the best for several
// terms, of which none must match. The index shows which blocks may contain which terms;
// with the rarity of the terms, the paths and the flags of the files, this orders the
// documents before any text is read.

const (
	// maxRanked bounds the documents that a ranked search reads.
	maxRanked = 100
	// rankTogether is the weight of the terms in the best block of a document, relative to
	// those in all of it.
	rankTogether = 1
	// minRankedShare is the minimum share of the terms, by weight, in a document whose
	// path is looked at.
	minRankedShare = 0.2
)

// rankedDocument is a document with its estimated worth.
type rankedDocument struct {
	DocumentID
	at    filePosition // of its first place
	worth float64
}

// countTermBlocks returns the number of blocks that may contain each term of a ranked
// search, after the survey.
func (n *searchRun) countTermBlocks() match.ListCosts {
	cost := match.ListCosts{Blocks: indexBlocks(n.plan.segments), Lists: make([]int, len(n.plan.ranked))}
	for i := range n.plan.segments {
		if c := n.plan.schedule.segmentStates[i].candidates; c != nil {
			for k, blocks := range c.CountBlocks() {
				cost.Lists[k] += max(blocks, 0)
			}
		}
	}
	return cost
}

// termWeights weighs the terms of a ranked search by the share of all blocks that may
// contain them, and for restricted callers by their length.
func (n *searchRun) termWeights(costs ...match.ListCosts) []float64 {
	if n.plan.scope.Restricted {
		return match.LengthWeights(n.plan.ranked)
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

// bestDocuments returns the best documents of all segments for terms with the given
// weights, best first.
func (n *searchRun) bestDocuments(v *segmentSearcher, weights []float64) []rankedDocument {
	r := match.NewRanker(n.plan.ranked, weights)
	n.plan.scope.Ranker, n.plan.scope.Rarity = r, r.Weights
	var best []rankedDocument
	floor := 0.0
	for i := range n.plan.segments {
		o := &n.plan.schedule.segmentStates[i]
		if o.candidates == nil || !o.candidates.Possible || o.terms == nil {
			continue
		}
		v.openSegment(n.plan.segments[i])
		f := v.finder
		f.Candidates = o.candidates
		for d := f.NextAllowed(0); d >= 0 && !f.ShouldStop(); d = f.NextAllowed(d + 1) {
			doc := segment.DocID(d)
			var all, together match.TermSet
			if n.plan.scope.Restricted {
				all = o.terms[d]
			} else {
				lo, hi := f.Seg.Reader.TextRange(doc)
				all, together = r.TermsBetween(o.terms, lo, hi)
			}
			worth := r.Worth[all] + rankTogether*r.Worth[together]
			if all == 0 || worth < minRankedShare*r.Sum || worth+match.RankStem*r.Sum < floor {
				continue
			}
			place := f.Seg.FirstPlace(doc)
			worth += r.PathWorth(f.Seg.Places.Path(place))
			if match.IsAside(&f.Seg, doc) || ranking.ProseLanguages[f.Seg.Reader.Language(doc)] {
				worth *= match.RankAside
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
		a.setOrder(n.plan.scope.Query)
	} else {
		a.setOrder(n.plan.scope.Query, tierMain, tierRest)
	}
}

// minRankedTerms and maxRankedTerms are the minimum and maximum numbers of terms of an or by
// which documents are ranked.
const minRankedTerms, maxRankedTerms = 3, 12

// rankedWords returns the words by which documents are ranked: those of the request, or the
// terms of a query that is an or of several literals, with filters. An or is not ranked if
// all its matches are shown, and for a caller who may not see everything, because that
// would read most documents with a term.
func (p *searchPlan) rankedWords() []string {
	c, r := p.scope.Query, &p.request
	if r.Ranked != nil || p.scope.Restricted || r.AnyMatch || p.display >= p.limit || c.EntriesOnly() || len(c.Atoms) < minRankedTerms || len(c.Atoms) > maxRankedTerms {
		return r.Ranked
	}
	words := c.EitherTerms()
	if len(words) < len(c.Atoms) {
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

// testWord matches a word that asks for test code. A filter such as -file:test/ and a
// negated word do not ask for it.
var testWord = regexp.MustCompile(`(?i)(?:^|[\s("'])(?:[\pL\pN]+-)?(?:tests?|testing|tested|test-?cases?|specs?)(?:[\s)"'.,:;!?-]|$)`)
