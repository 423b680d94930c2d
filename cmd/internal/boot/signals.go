package boot

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// WithSignals returns a context that ends at the first SIGTERM or interrupt. A
// second one ends the process as if nobody listened. The caller calls stop.
func WithSignals(ctx context.Context) (_ context.Context, stop context.CancelFunc) {
	ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
