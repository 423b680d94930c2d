package engine

import (
	"context"
	"time"

	"github.com/quarrysearch/quarry/schemas/clock"
)

const (
	// SettleTime is the time without a merge after which a server counts as settled: the
	// compactor waits until a partition has been quiet for five seconds, and a merge
	// takes several more.
	SettleTime = 12 * time.Second
	// settleTimeout bounds the wait for merges to end.
	settleTimeout = 5 * time.Minute
)

// Settle waits until nothing was merged for the given time, usually SettleTime. It
// reports false if merges do not end within settleTimeout.
func (s *QuarryServer) Settle(ctx context.Context, quiet time.Duration) (bool, error) {
	deadline, last, since := time.Now().Add(settleTimeout), -1.0, time.Now()
	for time.Now().Before(deadline) {
		m, err := s.Metrics(ctx)
		if err != nil {
			return false, err
		}
		if n := m["quarry_compactor_merges_total"] + m["quarry_places_excised_total"] - m["quarry_projections_lag_records"]; n != last {
			last, since = n, time.Now()
		}
		if time.Since(since) > quiet {
			return true, nil
		}
		if err := clock.Sleep(ctx, quiet/12); err != nil {
			return false, err
		}
	}
	return false, nil
}
