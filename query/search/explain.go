package search

import (
	"fmt"
	"time"
)

// explainTasks returns how the query ran, for the tasks before to.
func (n *searchRun) explainTasks(to int) *Explain {
	e := &Explain{Query: n.plan.request.Query.String()}
	for _, a := range n.plan.scope.c.atoms {
		e.Atoms = append(e.Atoms, a.describePlan())
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

func (a *atom) describePlan() string {
	p := a.pattern
	region := "text"
	if a.symbols {
		region = "symbols"
	}
	switch {
	case a.re2 != nil:
		return fmt.Sprintf("%s in %s: all lines in one pass", a.label, region)
	case p.Exact:
		return fmt.Sprintf("%s in %s: literals %q", a.label, region, p.Sets[0])
	case len(p.Sets) > 0:
		return fmt.Sprintf("%s in %s: lines with one of %q, the rarest of each segment", a.label, region, p.Sets)
	case p.Run.Bytes > 0:
		return fmt.Sprintf("%s in %s: lines with a run of %d bytes of its class", a.label, region, p.Run.Bytes)
	}
	return fmt.Sprintf("%s in %s: every line", a.label, region)
}

// explainLocked adds the cost of a step to the explanation of a segment; before holds the
// work until the start of the step. It reports no candidates if the index was not
// searched.
func (n *searchRun) explainLocked(v *segmentSearcher, segment int, before *work, matches int, took time.Duration) {
	if n.mu.explain == nil {
		return
	}
	f := v.finder
	e, r, now := &n.mu.explain[segment], f.seg.Reader, &f.work
	e.ID, e.Documents = r.ID().String(), r.Documents()
	e.Matches += matches
	e.Micros += took.Microseconds()
	e.FilesConsidered += now.FilesConsidered - before.FilesConsidered
	e.IndexBytes += now.IndexBytes - before.IndexBytes
	e.ContentBytes += now.ContentBytes - before.ContentBytes
	e.ScannedBytes += now.ScannedBytes - before.ScannedBytes
	e.Lists += now.Lists - before.Lists
	if len(e.CandidateBlocks) == 0 && f.candidates != n.plan.schedule.fullScan {
		e.CandidateBlocks = f.candidates.countBlocks()
	}
}
