package worker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/event"
)

// TestGauges handles the second of five records for ten seconds. The gauges of the
// partition show the records that are not finished, until they are. The first record has
// another key, as records of one key may share a batch.
func TestGauges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLiveLog()
		l.records = make([]event.Record, 5) // the high-water mark
		_, w, stop := startHandling(t, l, Options{Lanes: 2}, func(ctx context.Context, values []string) (int, error) {
			if values[0] == "a slow" {
				return len(values), clock.Sleep(ctx, 10*time.Second)
			}
			return len(values), nil
		})
		l.add("c first", "a slow", "b last", "b last", "b last")
		_ = clock.Sleep(t.Context(), 5*watchEvery+watchEvery/2)
		for _, tc := range []struct {
			gauge string
			have  float64
			want  float64
		}{
			{"lag_records", testutil.ToFloat64(w.metrics.behind.WithLabelValues("0")), 4},
			{"window_records", testutil.ToFloat64(w.metrics.window.WithLabelValues("0")), 1},
			{"oldest_seconds", testutil.ToFloat64(w.metrics.oldest.WithLabelValues("0")), 5},
			{"longest_handling_seconds", testutil.ToFloat64(w.metrics.longest), 5},
		} {
			if tc.have != tc.want {
				t.Errorf("quarry_worker_%s is %v while the second of five records is handled, want %v", tc.gauge, tc.have, tc.want)
			}
		}
		_ = clock.Sleep(t.Context(), 10*time.Second)
		if n := testutil.ToFloat64(w.metrics.behind.WithLabelValues("0")); n != 0 || l.committed() != 5 {
			t.Errorf("a lag of %v records after %d of 5 are committed", n, l.committed())
		}
		stop()
		if n := testutil.CollectAndCount(w.metrics.behind); n != 0 {
			t.Errorf("%d lags are left of a partition that is no longer held", n)
		}
	})
}
