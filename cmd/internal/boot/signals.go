package boot

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// WithSignals returns a context that ends at the first SIGTERM or interrupt. A second
// signal has its default effect and ends the process. The caller must call stop.
func WithSignals(ctx context.Context) (_ context.Context, stop context.CancelFunc) {
	ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// Hangups returns a channel that receives each SIGHUP. From now on, SIGHUP no longer ends
// the process. Signals that arrive while one is pending are merged into it.
func Hangups() <-chan os.Signal {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	return hangups
}
