package failure

import "errors"

// Errors that answer a request, whichever part carries it out.
var (
	// ErrAuditHead reports a text that is not a head of the audit log.
	ErrAuditHead = errors.New("not a head of the audit log")
	// ErrConflict reports that the current state does not allow the request.
	ErrConflict = errors.New("conflict")
	// ErrCursor reports a cursor that no earlier page returned.
	ErrCursor = errors.New("cursor is not valid")
	// ErrNotReady reports that the part is still starting.
	ErrNotReady = errors.New("not ready")
	// ErrPosition reports a position that the log does not have.
	ErrPosition = errors.New("minPosition")
	// ErrRefused reports that a policy forbids the request, with the reason.
	ErrRefused = errors.New("refused")
	// ErrUnavailable reports that the operation is not possible now.
	ErrUnavailable = errors.New("unavailable")
)
