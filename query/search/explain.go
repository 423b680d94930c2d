package search

import (
	"fmt"
	"time"
)

// explain returns how the query is run, without the segments.
func (n *run) explain() *Explain {
	e := &Explain{Query: n.request.Query.String()}
	for _, a := range n.scope.c.atoms {
		e.Atoms = append(e.Atoms, a.describe())
	}
	return e
}

func (a *atom) describe() string {
	p := a.pattern
	region := "text"
	if a.symbols {
		region = "symbols"
	}
	switch {
	case a.re2 != nil:
		return fmt.Sprintf("%s in %s: every line, at once", a.label, region)
	case p.Exact:
		return fmt.Sprintf("%s in %s: literals %q", a.label, region, p.Sets[0])
	case len(p.Sets) > 0:
		return fmt.Sprintf("%s in %s: lines with one of %q, the rarest of each segment", a.label, region, p.Sets)
	case p.Run.Bytes > 0:
		return fmt.Sprintf("%s in %s: lines with a run of %d bytes of its class", a.label, region, p.Run.Bytes)
	}
	return fmt.Sprintf("%s in %s: every line", a.label, region)
}

// explain describes the last visit, which began with the given stats. It names no
// candidates where the index was not asked.
func (v *visitor) explain(before *Stats, matches int, took time.Duration) *SegmentExplain {
	e := &SegmentExplain{
		ID: v.seg.Reader.ID().String(), Documents: v.seg.Reader.Documents(), Matches: matches, Micros: took.Microseconds(),
		FilesConsidered: v.stats.FilesConsidered - before.FilesConsidered,
		IndexBytes:      v.stats.IndexBytes - before.IndexBytes,
		ContentBytes:    v.stats.ContentBytes - before.ContentBytes,
	}
	for i := range v.findings[:v.found] {
		blocks := -1
		if f := &v.findings[i]; !f.all {
			blocks = f.blocks.Len()
		}
		e.CandidateBlocks = append(e.CandidateBlocks, blocks)
	}
	return e
}
