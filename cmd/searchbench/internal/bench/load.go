package bench

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/stat"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/suite"
)

// The throughput mix consists of clients that repeat the interactive queries, each in a
// different order.
const (
	loadClients = 8
	// defaultLoadDuration is the duration of each mix. The heavy mix lasts at least until
	// its list is done.
	defaultLoadDuration = 15 * time.Second
	// loadWarmUp is an unmeasured phase before each mix: the scans leave the caches in an
	// untypical state, and some kernels evict idle file pages even if there is free
	// memory.
	loadWarmUp = 10 * time.Second
	// maxLoadQueries bounds the number of timings of one client.
	maxLoadQueries = 1_000_000
)

// warmLoad is measureLoad after a warm-up.
func (b *bench) warmLoad(ctx context.Context, s *source, queries []suite.Query) loadFigure {
	_, _ = s.searcher.Search(ctx, s.translate(queries[0])) // this may start the server; the clients will report its errors
	measureLoad(ctx, s.searcher, queries, s.translate, loadWarmUp)
	return measureLoad(ctx, s.searcher, queries, s.translate, b.LoadDuration)
}

// measureLoad runs the clients and waits for the last answer of each.
func measureLoad(ctx context.Context, s engine.Searcher, queries []suite.Query, translate translator, duration time.Duration) loadFigure {
	deadline := time.Now().Add(duration)
	results := make([]clientResult, loadClients)
	start := time.Now()
	var clients sync.WaitGroup
	for i := range results {
		clients.Go(func() { results[i] = runClient(ctx, s, queries, translate, uint64(i), deadline) })
	}
	clients.Wait()
	f := loadFigure{Wall: time.Since(start)}
	var all []time.Duration
	for _, r := range results {
		all = append(all, r.latencies...)
		f.Errors += r.errors
	}
	f.Queries, f.P50, f.P99 = len(all), stat.Median(all), stat.Quantile(all, 0.99)
	return f
}

type clientResult struct {
	latencies []time.Duration
	errors    int
}

func runClient(ctx context.Context, s engine.Searcher, queries []suite.Query, translate translator, seed uint64, deadline time.Time) clientResult {
	order := rand.New(rand.NewPCG(seed, 1)).Perm(len(queries))
	var r clientResult
	for n := 0; n < maxLoadQueries && time.Now().Before(deadline); n++ {
		answer, err := s.Search(ctx, translate(queries[order[n%len(order)]]))
		if errors.Is(err, context.Canceled) {
			return r
		}
		if err != nil {
			r.errors++
			continue
		}
		r.latencies = append(r.latencies, answer.Elapsed)
	}
	return r
}
