package search

import (
	"cmp"
	"slices"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/internal/ranking"
)

const (
	// weighedDocuments bounds the candidates of a tier in one segment of which a search with
	// a small limit chooses those to read first. It must exceed each tier.maxDocuments.
	weighedDocuments = 512
	// chosenShare is the ratio of tier.maxDocuments to the documents that are chosen.
	chosenShare = 4
)

// A weighedDocument is a document with its expected score.
type weighedDocument struct {
	doc   segment.DocID
	score float64
}

// chooseDocuments returns the best of the first candidates for which wanted, if not nil,
// returns true, in the order of the segment. It judges them by what is known before they
// are read: flags, depth, and how many of their blocks may match, for their size. It returns
// nil if the candidates are so few that all of them are read.
func (t *taskVisit) chooseDocuments(wanted func(segment.DocID) bool) []segment.DocID {
	if t.maxDocuments == 0 || len(t.v.scope.Query.Atoms) == 0 {
		return nil
	}
	best, weighed := make([]weighedDocument, 0, t.maxDocuments/chosenShare), 0
	for d := t.v.finder.NextAllowed(0); d >= 0 && weighed < weighedDocuments; {
		if next := t.v.finder.NextDocument(t.v.scope.Query.Root, d); next != d {
			if next < 0 {
				break
			}
			d = t.v.finder.NextAllowed(next)
			continue
		}
		if wanted == nil || wanted(segment.DocID(d)) {
			w := weighedDocument{segment.DocID(d), t.v.expectScore(segment.DocID(d))}
			weighed++
			at, _ := slices.BinarySearchFunc(best, w.score, func(a weighedDocument, score float64) int {
				if a.score >= score {
					return -1
				}
				return 1
			})
			if len(best) < cap(best) {
				best = slices.Insert(best, at, w)
			} else if at < len(best) {
				copy(best[at+1:], best[at:])
				best[at] = w
			}
		}
		d = t.v.finder.NextAllowed(d + 1)
	}
	if weighed <= t.maxDocuments {
		return nil
	}
	chosen := make([]segment.DocID, len(best))
	for i := range best {
		chosen[i] = best[i].doc
	}
	slices.SortFunc(chosen, cmp.Compare)
	return chosen
}

// expectScore returns the score that a document is expected to have: see estimateScore.
func (v *segmentSearcher) expectScore(d segment.DocID) float64 {
	seg := &v.finder.Seg
	score, flags := ranking.ScoreFrequency*v.finder.ExpectFrequency(d), seg.Reader.Flags(d)
	if first := seg.FirstPlace(d); first >= 0 {
		flags |= seg.Places.Flags[first]
		score += float64(ranking.ScoreDepth * min(pathDepth(seg.Places.Path(first)), ranking.MaxScoredDepth))
	}
	for _, f := range flagScores {
		if flags&f.flag != 0 {
			score += f.points
		}
	}
	return score
}
