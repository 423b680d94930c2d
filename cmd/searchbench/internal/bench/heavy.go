package bench

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/stat"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/suite"
)

// The heavy mix is one list of queries, the same for every program and in the same order.
// Clients take the next query from it. Every heavyEvery-th query is a scan, and each scan
// occurs once. The whole list is run repeatedly until the time is over. Cutting the list
// off would count too many of the slow queries of a slow program, because those are
// running at the end.
const (
	heavyEvery = 20
	// maxHeavyRounds bounds the rounds for a program that answers immediately.
	maxHeavyRounds = 1000
)

// heavyMix returns the interactive queries, shuffled with a fixed seed, with the scans
// between them.
func (b *bench) heavyMix() []suite.Query {
	interactive := slices.Clone(suite.Interactive(b.Queries))
	if len(interactive) == 0 {
		return nil
	}
	order := rand.New(rand.NewPCG(1, 2))
	order.Shuffle(len(interactive), func(i, j int) { interactive[i], interactive[j] = interactive[j], interactive[i] })
	var mix []suite.Query
	for i, scan := range b.Scans {
		for n := range heavyEvery - 1 {
			mix = append(mix, interactive[(i*(heavyEvery-1)+n)%len(interactive)])
		}
		mix = append(mix, scan)
	}
	return mix
}

// measureRounds runs the list with all clients repeatedly, at least once and until
// duration has passed.
func measureRounds(ctx context.Context, s engine.Searcher, mix []suite.Query, translate translator, duration time.Duration) loadFigure {
	var f loadFigure
	var all []time.Duration
	requests := make([]engine.Request, len(mix))
	for i, q := range mix {
		requests[i] = translate(q)
	}
	start := time.Now()
	for rounds := 0; rounds < maxHeavyRounds && ctx.Err() == nil && (rounds == 0 || time.Since(start) < duration); rounds++ {
		latencies, failed := engine.SendAll(ctx, s, requests, loadClients)
		all = append(all, latencies...)
		f.Errors += failed
	}
	f.Wall = time.Since(start)
	f.Queries, f.P50, f.P99 = len(all), stat.Median(all), stat.Quantile(all, 0.99)
	return f
}
