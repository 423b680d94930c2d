package eventlog

import "context"

// urgentKey marks the context of an append that is urgent.
type urgentKey struct{}

// Urgent returns a context whose appends go before those that wait already, such as
// records of the audit log or of an import, and for which room is reserved: a code
// host waits for the response to its webhook, and gives up after ten seconds.
// Appends of one caller, one after the other, keep their order if they have the
// same context.
func Urgent(ctx context.Context) context.Context { return context.WithValue(ctx, urgentKey{}, true) }

// IsUrgent reports whether ctx is one of Urgent.
func IsUrgent(ctx context.Context) bool { return ctx.Value(urgentKey{}) != nil }
