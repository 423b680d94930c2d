package clock

import (
	"context"
	"time"
)

// RunEvery calls do once per period, the first time after one period. When ctx ends, it
// returns nil. A call that takes longer than a period delays the next.
func RunEvery(ctx context.Context, period time.Duration, do func(context.Context)) error {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			do(ctx)
		}
	}
}
