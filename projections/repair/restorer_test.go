package repair_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections/repair"
	"github.com/quarrysearch/quarry/projections/segment"
)

// restorations is a log that counts the reports of damage and the attempts to restore a segment
// of the past.
type restorations struct {
	slog.Handler
	reports int
	times   []time.Time
}

func (r *restorations) Enabled(context.Context, slog.Level) bool { return true }

func (r *restorations) Handle(_ context.Context, rec slog.Record) error {
	switch rec.Level {
	case slog.LevelError:
		r.reports++
	case slog.LevelWarn:
		r.times = append(r.times, rec.Time)
	}
	return nil
}

// TestManyDamagedSegments reports more damaged segments than are remembered, twice, as two
// searches do. Each of the first 4,096 is logged once, and no other.
func TestManyDamagedSegments(t *testing.T) {
	seen := &restorations{}
	r := repair.NewRestorer(slog.New(seen), repair.NewMetrics(prometheus.NewRegistry()))
	for range 2 {
		for i := range 5000 {
			r.NoteDamage(segment.ID{byte(i), byte(i >> 8)}, segment.ErrCorrupt)
		}
	}
	if seen.reports != 4096 {
		t.Errorf("%d reports, want 4096", seen.reports)
	}
}

// TestRestoredInVain reports a segment as damaged every second, as searches do that read content
// which no restoration changes. It is restored more and more rarely, and soon again after it could be
// read for a long time.
func TestRestoredInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		seen := &restorations{}
		r := repair.NewRestorer(slog.New(seen), repair.NewMetrics(prometheus.NewRegistry()))
		done := make(chan error)
		go func() { done <- r.Run(ctx, repair.Owner{}) }()
		report := func(during time.Duration) int {
			before := len(seen.times)
			for range during / time.Second {
				r.NoteDamage(segment.ID{1}, segment.ErrCorrupt)
				synctest.Wait()
				<-time.After(time.Second)
			}
			return len(seen.times) - before
		}
		if n := report(24 * time.Hour); n < 20 || n > 40 {
			t.Errorf("%d restorations in a day, want one at once, then after 10 s, 20 s and so on up to an hour", n)
		}
		if n := len(seen.times); n > 2 && (seen.times[1].Sub(seen.times[0]) < 10*time.Second || seen.times[n-1].Sub(seen.times[n-2]) < time.Hour) {
			t.Errorf("restored at %v", seen.times)
		}
		<-time.After(3 * time.Hour)
		if n := report(20 * time.Second); n != 2 {
			t.Errorf("%d restorations in 20 s after three hours without damage, want 2", n)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
