package clock

import (
	"context"
	"time"
)

// Sleep waits for d, or until ctx ends and then returns ctx.Err(). If ctx has already
// ended, it does not wait.
func Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
