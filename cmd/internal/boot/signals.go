package boot

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// WithSignals returns a context that ends at the first SIGTERM or interrupt. A second
// signal has its default effect and ends the process. The caller must call stop.
func WithSignals(ctx context.Context) (_ context.Context, stop context.CancelFunc) {
	ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// IsTerminated reports whether SIGTERM ended a context of WithSignals.
func IsTerminated(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return cause != nil && strings.HasPrefix(cause.Error(), syscall.SIGTERM.String())
}

// Hangups returns a channel that receives each SIGHUP. From now on, SIGHUP no longer ends
// the process. Signals that arrive while one is pending are merged into it.
func Hangups() <-chan os.Signal {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	return hangups
}
