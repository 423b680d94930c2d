package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// SendAll sends every request once. Each of the clients takes the next one when its last
// one was answered. It returns the times of the answers, in no order, and the number of
// requests that failed.
func SendAll(ctx context.Context, s Searcher, requests []Request, clients int) (latencies []time.Duration, failed int) {
	var next, failures atomic.Int64
	results := make([][]time.Duration, clients)
	var running sync.WaitGroup
	for i := range results {
		running.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= len(requests) || ctx.Err() != nil {
					return
				}
				answer, err := s.Search(ctx, requests[n])
				if err != nil {
					failures.Add(1)
					continue
				}
				results[i] = append(results[i], answer.Elapsed)
			}
		})
	}
	running.Wait()
	for _, r := range results {
		latencies = append(latencies, r...)
	}
	return latencies, int(failures.Load())
}
