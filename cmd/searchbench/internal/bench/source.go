package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/suite"
)

// A source is one server to query, with its name in logs and in the ledger of its
// program.
type source struct {
	name      string
	searcher  engine.Searcher
	translate translator
	ledger    *ledger
}

// answers holds the measurements of one server. Zero values mean not measured.
type answers struct {
	suite []timing // parallel to Options.Queries
	extra []timing // parallel to Options.Extra
	scans []timing // parallel to Options.Scans
	load  *loadFigure
	heavy *loadFigure
	// stable holds figures by the name of the query.
	stable map[string]stableFigure
}

// askAll sends every query with one client, one after the other. kind distinguishes the
// same query in two lists.
func (b *bench) askAll(ctx context.Context, s *source, kind string, queries []suite.Query, runs int) []timing {
	timings := make([]timing, len(queries))
	for i, q := range queries {
		key := fmt.Sprintf("%s/%s/%d/%s", s.name, kind, q.Limit, q.Text)
		var err error
		timings[i], err = recallOrMeasure(s.ledger, key, func() (timing, error) {
			t := measureQuery(ctx, s.searcher, s.translate(q), runs, b.QueryBudget)
			if t.err == nil {
				b.Log("%s: %-26s first %9s median %9s, %d matches in %d files", s.name, q.Name, t.First.Round(10*time.Microsecond),
					t.Median.Round(10*time.Microsecond), t.Matches, t.Files)
			}
			return t, t.err
		})
		timings[i].err = err
		if isInterrupted(err) {
			return timings
		}
		if err != nil {
			b.noteMissing("%s: query %s: %v", s.name, q.Name, err)
		}
	}
	return timings
}

// askLoads measures the throughput of the interactive mix, then of the mix with heavy
// queries.
func (b *bench) askLoads(ctx context.Context, s *source, a *answers) {
	mix := suite.Interactive(b.Queries)
	if len(mix) == 0 {
		b.noteMissing("%s: throughput: none of the queries belongs to the interactive mix", s.name)
		return
	}
	a.load = b.askLoad(s, "load", mix, func() (loadFigure, error) { return b.warmLoad(ctx, s, mix), ctx.Err() })
	heavy := b.heavyMix()
	a.heavy = b.askLoad(s, "heavy", heavy, func() (loadFigure, error) {
		return measureRounds(ctx, s.searcher, heavy, s.translate, b.LoadDuration), ctx.Err()
	})
}

func (b *bench) askLoad(s *source, kind string, mix []suite.Query, measure func() (loadFigure, error)) *loadFigure {
	load, err := recallOrMeasure(s.ledger, s.name+"/"+kind+"/"+listKey(mix), func() (loadFigure, error) {
		f, err := measure()
		b.Log("%s: %s: %.2f queries/s, p99 %s, %d errors", s.name, kind, f.perSecond(), f.P99.Round(time.Millisecond), f.Errors)
		return f, err
	})
	if err != nil {
		b.noteMissing("%s: throughput: %v", s.name, err)
		return nil
	}
	return &load
}
