package search

import (
	"github.com/quarrysearch/quarry/query/internal/ranking"
	"github.com/quarrysearch/quarry/query/syntax"
)

const (
	// maxOtherScore bounds the score of a file with matches of the only term, none of which
	// is the whole name of a symbol.
	maxOtherScore = ranking.ScoreDefinition*ranking.ScoreDefinitionPart + ranking.ScoreWholeWord + ranking.ScoreExactCase +
		ranking.ScoreFrequency + ranking.ScoreFileName + ranking.MaxScoreRecent
	// leastAboveEstimate is the least difference between the score of a file that defines the
	// term and its estimate, which lacks the points for a whole word and those that the file
	// may lose by its language and its repository.
	leastAboveEstimate = ranking.ScoreWholeWord + ranking.ScoreProse + ranking.ScoreArchived + ranking.ScoreFork
)

// definitionsFill reports whether the files with the best definitions, which were all searched,
// have more matches than were requested, and fill the answer with files that are better than any
// other can be. The caller holds n.mu.
func (n *searchRun) definitionsFill() bool {
	r, q, a := &n.plan.request, n.plan.scope.Query, n.plan.schedule
	if n.mu.count <= r.Matches || !q.HasOneTerm() || q.SelectKind == syntax.SelectRepo || len(r.LeafPoints) > 0 || len(r.Documents) > 0 {
		return false
	}
	if r.isPart || r.Related {
		return false // a front, or package assist, counts all matches
	}
	for i := range a.segmentStates {
		if o := &a.segmentStates[i]; !o.defineAll() {
			return false
		}
	}
	room := n.plan.display
	for i := range n.mu.done[:n.mu.prefix+1] {
		for k := range n.mu.done[i].hits {
			if h := &n.mu.done[i].hits[k]; h.estimatedScore > maxOtherScore-leastAboveEstimate {
				room -= min(h.showableMatches(), n.fileShare())
			}
		}
	}
	return room <= 0
}

// defineAll reports whether tierDefines has all documents of the segment that define the term.
func (o *segmentState) defineAll() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.searched && o.named.AllDefine || o.candidates != nil && !o.candidates.Possible
}
