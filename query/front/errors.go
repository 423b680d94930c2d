package front

import (
	"errors"
	"time"

	"github.com/quarrysearch/quarry/schemas/failure"
)

// Errors of the layers, for Options.ErrorAnswer, which also gets the errors of auth, of
// the Auditor and of handlers.
var (
	// ErrHost refuses a request for a host name that is not the server's.
	ErrHost = errors.New("unknown host name; add it to access.hosts or set publicUrl")
	// ErrCrossOrigin refuses a request from a page of another origin.
	ErrCrossOrigin = errors.New("requests from pages of other origins are not allowed")
	// ErrNotChanged refuses a change that could not be stored.
	ErrNotChanged = errors.New("nothing was changed")
	// ErrNotRecorded reports a change that was made but could not be recorded.
	ErrNotRecorded = errors.New("the change was made, but the audit log cannot be written now; check before retrying")
	// ErrTooManyStreams reports that the process has reached its limit of streams.
	ErrTooManyStreams = errors.New("too many concurrent streams")
	// errPanic represents a panic, whose value is in the log.
	errPanic = errors.New("panic")
)

// RateError refuses a caller that sends too many requests: a 429.
type RateError struct {
	// Wait is the time after which the request may be sent again.
	Wait   time.Duration
	reason string
}

// Error names the limit that was exceeded.
func (e *RateError) Error() string { return "too many requests: " + e.reason }

// MediaTypeError refuses a body that a form on another origin's page could have sent: a
// 415.
type MediaTypeError struct{ declared string }

// Error names the header that the client must send.
func (e *MediaTypeError) Error() string {
	return "with a session, bodies need the header Content-Type: application/json, not " + failure.Clean(e.declared, 80)
}
