package search

import (
	"time"

	"github.com/quarrysearch/quarry/query/match"
)

// explainTasks returns how the query ran, for the tasks before to.
func (n *searchRun) explainTasks(to int) *Explain {
	e := &Explain{Query: n.plan.request.Query.String()}
	for _, a := range n.plan.scope.Query.Atoms {
		e.Atoms = append(e.Atoms, a.DescribePlan())
	}
	e.Segments = n.mu.explain[:min(len(n.mu.explain), to)]
	return e
}

// stageTimes returns the time of each stage of a search.
func stageTimes(s *Stats) Stages {
	return Stages{
		WaitMicros: s.Wait.Microseconds(), PlanMicros: s.Planning.Microseconds(), CandidatesMicros: s.Indexing.Microseconds(), VerifyMicros: s.Verifying.Microseconds(),
		RankMicros: s.Ranking.Microseconds(), RenderMicros: s.Rendering.Microseconds(), TotalMicros: s.Duration.Microseconds(),
	}
}

// explainLocked adds the cost of a step to the explanation of a segment; before holds the
// work until the start of the step. It reports no candidates if the index was not
// searched.
func (n *searchRun) explainLocked(v *segmentSearcher, segment int, before *match.Work, matches int, took time.Duration) {
	if n.mu.explain == nil {
		return
	}
	f := v.finder
	e, r, now := &n.mu.explain[segment], f.Seg.Reader, &f.Work
	e.ID, e.Documents = r.ID().String(), r.Documents()
	e.Matches += matches
	e.Micros += took.Microseconds()
	e.FilesConsidered += now.FilesConsidered - before.FilesConsidered
	e.IndexBytes += now.IndexBytes - before.IndexBytes
	e.ContentBytes += now.ContentBytes - before.ContentBytes
	e.ScannedBytes += now.ScannedBytes - before.ScannedBytes
	e.Lists += now.Lists - before.Lists
	if len(e.CandidateBlocks) == 0 && f.Candidates != n.plan.schedule.fullScan {
		e.CandidateBlocks = f.Candidates.CountBlocks()
	}
}
