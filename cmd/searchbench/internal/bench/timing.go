package bench

import (
	"context"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/stat"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/suite"
)

// timing holds the measurements of one query of one program.
type timing struct {
	First   time.Duration   `json:"first"` // the warm-up run
	Median  time.Duration   `json:"median"`
	All     []time.Duration `json:"all"` // without the warm-up, but see measureQuery
	Matches int             `json:"matches"`
	Files   int             `json:"files"`
	err     error
}

func (t timing) isMeasured() bool { return t.err == nil && t.Median > 0 }

// p99 returns the 99th percentile, which is the slowest run if there are fewer than a
// hundred.
func (t timing) p99() time.Duration { return stat.Quantile(t.All, 0.99) }

// defaultQueryBudget bounds all runs of one query, so that a query of ten seconds is not
// run six times.
const defaultQueryBudget = 40 * time.Second

// translator translates a query for one program.
type translator func(suite.Query) engine.Request

// measureQuery runs a query once to warm up and then runs times, within the budget. If
// the warm-up takes half of the budget, it is the measurement: caches do not speed up
// anything that slow.
func measureQuery(ctx context.Context, s engine.Searcher, request engine.Request, runs int, budget time.Duration) timing {
	answer, err := s.Search(ctx, request)
	if err != nil {
		return timing{err: err}
	}
	spent := answer.Elapsed
	t := timing{First: answer.Elapsed, Matches: answer.Matches, Files: answer.Files}
	if answer.Elapsed > budget/2 {
		t.All = append(t.All, answer.Elapsed)
	}
	for len(t.All) < runs && (len(t.All) == 0 || spent+answer.Elapsed < budget) {
		if answer, err = s.Search(ctx, request); err != nil {
			return timing{err: err}
		}
		spent += answer.Elapsed
		t.All = append(t.All, answer.Elapsed)
	}
	t.Median = stat.Median(t.All)
	return t
}

// geometricMean returns the geometric mean of the medians of the timings that keep
// accepts, or 0 if there are none.
func geometricMean(timings []timing, keep func(i int) bool) time.Duration {
	var medians []time.Duration
	for i, t := range timings {
		if t.isMeasured() && keep(i) {
			medians = append(medians, t.Median)
		}
	}
	return stat.GeometricMean(medians)
}

// fasterTimings returns for each query the faster timing of two engines of the same
// program.
func fasterTimings(a, b []timing) []timing {
	if len(a) == 0 {
		return b
	}
	best := slices.Clone(a)
	for i := range best {
		if i < len(b) && b[i].isMeasured() && (!best[i].isMeasured() || b[i].Median < best[i].Median) {
			best[i] = b[i]
		}
	}
	return best
}
