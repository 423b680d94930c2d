package bench

import (
	"context"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/stat"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/suite"
)

// measureRipgrep runs the scans over all checkouts.
func (b *bench) measureRipgrep(ctx context.Context) []timing {
	trees := make(map[string]string)
	for _, r := range b.chosenRepositories() {
		trees[r.Name] = corpus.TreePath(b.Corpora, r.Name)
	}
	timings := make([]timing, len(b.Scans))
	for i, q := range b.Scans {
		var err error
		timings[i], err = recallOrMeasure(b.zoektLedger, "ripgrep/"+q.Text, func() (timing, error) {
			t := b.timeRipgrep(ctx, q, trees)
			return t, t.err
		})
		if timings[i].err = err; err != nil {
			b.noteMissing("ripgrep: %s: %v", q.Name, err)
		}
	}
	return timings
}

// ripgrepRuns is the number of runs. After the first, the files are in the page cache.
const ripgrepRuns = 3

func (b *bench) timeRipgrep(ctx context.Context, q suite.Query, trees map[string]string) timing {
	plain, ok := q.Plain()
	if !ok {
		return timing{err: suite.ErrInvalid}
	}
	var t timing
	var all []time.Duration
	for range ripgrepRuns + 1 {
		counts, elapsed, err := b.Ripgrep.Count(ctx, plain, trees)
		if err != nil {
			return timing{err: err}
		}
		all = append(all, elapsed)
		t.Matches, t.Files = 0, len(counts)
		for _, n := range counts {
			t.Matches += n
		}
	}
	t.First, t.Median, t.All = all[0], stat.Median(all[1:]), all[1:]
	b.Log("ripgrep: %-26s first %9s median %9s, %d matches in %d files", q.Name, t.First.Round(time.Millisecond), t.Median.Round(time.Millisecond), t.Matches, t.Files)
	return t
}
