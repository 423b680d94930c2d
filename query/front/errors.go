package front

import (
	"errors"
	"time"

	"github.com/quarrysearch/quarry/schemas/failure"
)

// Failures of the layers, for Options.ErrorAnswer. Other errors that it gets are those
// of auth, of the Auditor and of handlers.
var (
	// ErrHost refuses a request for a host name that is not the server's.
	ErrHost = errors.New("unknown host name; add it to access.hosts or set publicUrl")
	// ErrCrossOrigin refuses a request from a page of another origin.
	ErrCrossOrigin = errors.New("requests from pages of other origins are not allowed")
	// ErrNotChanged refuses a change that could not be kept.
	ErrNotChanged = errors.New("nothing was changed")
	// ErrNotRecorded is a change that was made and could not be recorded.
	ErrNotRecorded = errors.New("the change was made, but the audit log cannot be written now; check before retrying")
	// ErrTooManyStreams says that the process has as many streams as it may have.
	ErrTooManyStreams = errors.New("too many streams at once")
	// errPanic stands for a panic, whose value is in the log.
	errPanic = errors.New("panic")
)

// RateError refuses a caller that sends too many requests: a 429.
type RateError struct {
	// Wait is after which time the request may be sent again.
	Wait   time.Duration
	reason string
}

// Error says how much is too much.
func (e *RateError) Error() string { return "too many requests: " + e.reason }

// MediaTypeError refuses a body that a form of another page could have sent: a 415.
type MediaTypeError struct{ declared string }

// Error names the header that the client has to send.
func (e *MediaTypeError) Error() string {
	return "with a session, bodies need the header Content-Type: application/json, not " + failure.Clean(e.declared, 80)
}
