package bench

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/suite"
)

// timing is one query of one program.
type timing struct {
	first   time.Duration // of the warm-up
	median  time.Duration
	matches int
	files   int
	err     error
}

func (t timing) ok() bool { return t.err == nil && t.median > 0 }

// queryBudget bounds all runs of one query: a query of ten seconds is not run six times.
const queryBudget = 40 * time.Second

// word translates a query for one program.
type word func(suite.Query) engine.Request

func forZoekt(q suite.Query) engine.Request { return engine.Request{Text: q.Text, Limit: q.Limit} }

func forQuarry(q suite.Query) engine.Request {
	text, form := q.Quarry()
	return engine.Request{Text: text, Limit: q.Limit, Repositories: form == suite.FormRepositories}
}

// askAll asks every query, one client, one after the other.
func (b *bench) askAll(ctx context.Context, name string, s engine.Searcher, queries []suite.Query, translate word) []timing {
	timings := make([]timing, len(queries))
	for i, q := range queries {
		timings[i] = ask(ctx, s, translate(q), b.Runs)
		if err := timings[i].err; err != nil {
			if interrupted(err) {
				return timings
			}
			b.missing("%s: query %s: %v", name, q.Name, err)
			continue
		}
		b.Log("%s: %-26s first %9s median %9s, %d matches in %d files", name, q.Name, timings[i].first.Round(10*time.Microsecond),
			timings[i].median.Round(10*time.Microsecond), timings[i].matches, timings[i].files)
	}
	return timings
}

// ask runs a query once to warm up and then runs times, as far as the budget allows; at least once.
func ask(ctx context.Context, s engine.Searcher, request engine.Request, runs int) timing {
	start := time.Now()
	answer, err := s.Search(ctx, request)
	if err != nil {
		return timing{err: err}
	}
	t := timing{first: answer.Elapsed, matches: answer.Matches, files: answer.Files}
	var all []time.Duration
	for len(all) < runs && (len(all) == 0 || time.Since(start)+answer.Elapsed < queryBudget) {
		if answer, err = s.Search(ctx, request); err != nil {
			return timing{err: err}
		}
		all = append(all, answer.Elapsed)
	}
	t.median = median(all)
	return t
}

func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Clone(d)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}

// quantile returns the value below which a share q of d lies.
func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Clone(d)
	slices.Sort(sorted)
	return sorted[min(len(sorted)-1, int(math.Ceil(q*float64(len(sorted))))-1)]
}

// geometricMean of the medians of the timings that keep admits; 0 when there is none.
func geometricMean(timings []timing, keep func(i int) bool) time.Duration {
	sum, n := 0.0, 0
	for i, t := range timings {
		if t.ok() && keep(i) {
			sum += math.Log(float64(t.median))
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return time.Duration(math.Exp(sum / float64(n)))
}

// better takes for each query the faster of two engines of the same program.
func better(a, b []timing) []timing {
	if len(a) == 0 {
		return b
	}
	best := slices.Clone(a)
	for i := range best {
		if i < len(b) && b[i].ok() && (!best[i].ok() || b[i].median < best[i].median) {
			best[i] = b[i]
		}
	}
	return best
}
