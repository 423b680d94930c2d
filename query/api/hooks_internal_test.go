package api

import (
	"testing"
	"time"

	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// TestHooks checks how webhooks are judged by the last delivery and the usual gap.
func TestHooks(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	every := func(last, gap time.Duration, n int) (out []time.Time) {
		for i := range n {
			out = append(out, now.Add(-last-time.Duration(i)*gap))
		}
		return out
	}
	for _, c := range []struct {
		name  string
		times []time.Time
		state wire.ConnectionHooksState
		gap   int64
	}{
		{"no delivery", nil, wire.ConnectionHooksStateNone, 0},
		{"one, long ago", every(1000*time.Hour, 0, 1), wire.ConnectionHooksStateOk, 0},
		{"too few for a usual gap", every(1000*time.Hour, time.Minute, 4), wire.ConnectionHooksStateOk, 0},
		{"on time", every(time.Minute, time.Minute, 20), wire.ConnectionHooksStateOk, 60},
		{"quiet over night", every(14*time.Hour, time.Minute, 20), wire.ConnectionHooksStateOk, 60},
		{"late", every(25*time.Hour, time.Minute, 5), wire.ConnectionHooksStateLate, 60},
		{"rare", every(9*24*time.Hour, 24*time.Hour, 20), wire.ConnectionHooksStateOk, 86400},
		{"rare and late", every(11*24*time.Hour, 24*time.Hour, 20), wire.ConnectionHooksStateLate, 86400},
	} {
		if got := judgeHooks(c.times, now); got.State != c.state || got.UsualGapSeconds != c.gap {
			t.Errorf("deliveries %s: %+v, want %s and a gap of %d s", c.name, got, c.state, c.gap)
		}
	}
}
