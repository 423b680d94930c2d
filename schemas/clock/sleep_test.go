package clock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/schemas/clock"
)

func TestSleep(t *testing.T) {
	for _, c := range []struct {
		name        string
		sleep, stop time.Duration // stop 0: never
		took        time.Duration
		want        error
	}{
		{"to its end", time.Minute, 0, time.Minute, nil},
		{"no time", 0, 0, 0, nil},
		{"a negative time", -time.Second, 0, 0, nil},
		{"stopped", time.Hour, time.Minute, time.Minute, context.DeadlineExceeded},
		{"stopped before it began", time.Hour, -time.Second, 0, context.DeadlineExceeded},
		{"no time, stopped before", 0, -time.Second, 0, context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, began := t.Context(), time.Now()
			if c.stop != 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.stop)
				defer cancel()
			}
			err := clock.Sleep(ctx, c.sleep)
			if took := time.Since(began); !errors.Is(err, c.want) || took != c.took {
				t.Errorf("%s: %v after %s, want %v after %s", c.name, err, took, c.want, c.took)
			}
		})
	}
}
