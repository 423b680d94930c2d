package engine

import (
	"context"
	"time"

	"github.com/quarrysearch/quarry/schemas/clock"
)

const (
	// SettleTime is how long no merge may have happened for a server to count as settled: the compactor waits five seconds for a partition to be
	// quiet, and one merge takes some.
	SettleTime = 12 * time.Second
	// settleTimeout bounds the wait for merges to end.
	settleTimeout = 5 * time.Minute
)

// Settle waits until nothing was merged for a time, SettleTime as a rule. It reports false if there is no end of it.
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
