package eventlog

import "context"

// urgentKey marks the context of an urgent append.
type urgentKey struct{}

// Urgent returns a context whose appends go before waiting non-urgent ones, such as
// records of the audit log or of an import, and for which queue space is reserved: a code
// host waits for the response to its webhook, and gives up after ten seconds. Consecutive
// appends of one caller keep their order if they use the same context.
func Urgent(ctx context.Context) context.Context { return context.WithValue(ctx, urgentKey{}, true) }

// IsUrgent reports whether ctx was returned by Urgent, or derived from such a context.
func IsUrgent(ctx context.Context) bool { return ctx.Value(urgentKey{}) != nil }
