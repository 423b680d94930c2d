package auth

import (
	"errors"
	"fmt"
	"time"
)

// Errors of the Service, in addition to ErrUnauthenticated and ErrForbidden. All except
// ErrUnavailable, ErrNotReady and ErrBusy are caused by the caller, and their texts are
// written for the caller.
var (
	// ErrInvalid refuses values of a request; a FieldError names the field.
	ErrInvalid = errors.New("not valid")
	// ErrBusy reports that too many passwords are being checked. It is temporary.
	ErrBusy = errors.New("too many concurrent sign-ins")
	// ErrUnavailable reports that the log or the directory did not respond in time. The
	// change may still take effect.
	ErrUnavailable = errors.New("accounts are not available")
	// ErrNotReady reports that the accounts are still loading after a start. Nothing was
	// changed.
	ErrNotReady = errors.New("the accounts are still loading")
	// ErrTooMany reports that a limit on the number of objects is reached.
	ErrTooMany = errors.New("too many")
	// ErrConflict reports a conflict with a concurrent change.
	ErrConflict = errors.New("the change had no effect: it conflicts with a concurrent change")

	ErrUserNotFound        = errors.New("no such user")
	ErrNotActive           = errors.New("the user is not active")
	ErrPending             = errors.New("the account is waiting for an owner's approval")
	ErrLastOwnerRemoved    = errors.New("the last active owner cannot be removed or suspended")
	ErrLastOwnerDemoted    = errors.New("the last active owner cannot be demoted")
	ErrSessionNotFound     = errors.New("no such session")
	ErrKeyNotFound         = errors.New("no such API key")
	ErrKeyExists           = errors.New("an API key with that name already exists")
	ErrTokenNotFound       = errors.New("no such access token")
	ErrRepositoryScope     = errors.New("repositories that do not exist")
	ErrInvitationNotFound  = errors.New("no such invitation")
	ErrSavedSearchNotFound = errors.New("no such saved search")
	ErrSavedSearchExists   = errors.New("a saved search with that name already exists")
	// ErrInvitation has one text for every reason; otherwise it would reveal whether an
	// e-mail address has an account.
	ErrInvitation = errors.New("the invitation has expired, was used or revoked, or is for another email address")
	// ErrReset has one text for every reason, as ErrInvitation has.
	ErrReset = errors.New("the link has expired or was used, or the password has changed since")
	// ErrIdentity reports that the provider's statement is not sufficient for a sign-in.
	ErrIdentity = errors.New("this sign-in cannot be matched to an account")
)

// ThrottledError reports too many failures. It is returned to callers over the limit,
// whether or not the account exists.
type ThrottledError struct {
	// RetryAfter is how long to wait before the next attempt.
	RetryAfter time.Duration
}

func (e *ThrottledError) Error() string {
	return fmt.Sprintf("too many failed attempts; wait %s", e.RetryAfter.Round(time.Second))
}

// FieldError reports an invalid field of a request. It wraps ErrInvalid.
type FieldError struct {
	// Field is the name of the field in the API, and Reason a phrase for people.
	Field, Reason string
}

// Error implements error.
func (e *FieldError) Error() string { return ErrInvalid.Error() + ": " + e.Field + ": " + e.Reason }

// Unwrap returns ErrInvalid.
func (e *FieldError) Unwrap() error { return ErrInvalid }

func invalidField(field, format string, args ...any) error {
	return &FieldError{field, fmt.Sprintf(format, args...)}
}
