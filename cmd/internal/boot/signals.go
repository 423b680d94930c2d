package boot

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// WithSignals returns a context that ends at the first SIGTERM or interrupt. A
// second one has its default effect and ends the process. The caller calls stop.
func WithSignals(ctx context.Context) (_ context.Context, stop context.CancelFunc) {
	ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// Hangups returns a channel that receives each SIGHUP from now on, which no longer
// ends the process. Those that come while one waits are one.
func Hangups() <-chan os.Signal {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	return hangups
}
