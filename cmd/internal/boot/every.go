package boot

import (
	"context"
	"time"
)

// RunEvery calls do once in each period, for the first time after one, until ctx
// ends, and then returns nil. A call that takes longer delays the next.
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
