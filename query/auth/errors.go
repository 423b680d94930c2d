package auth

import (
	"errors"
	"fmt"
	"time"
)

// Errors of the Service, in addition to ErrUnauthenticated and ErrForbidden. All
// except ErrUnavailable, ErrNotReady and ErrBusy are caused by the caller, and
// their texts are written for the caller.
var (
	// ErrInvalid refuses values of a request; a FieldError names the field.
	ErrInvalid = errors.New("not valid")
	// ErrBusy says that too many passwords are being checked; it passes.
	ErrBusy = errors.New("too many sign-ins at once")
	// ErrUnavailable says that the log or the directory did not answer in time. The
	// change may still take effect.
	ErrUnavailable = errors.New("accounts are not available")
	// ErrNotReady says that the accounts are still being read after a start. Nothing
	// was done.
	ErrNotReady = errors.New("the accounts are still loading")
	// ErrTooMany says that a bound on how many there may be is reached.
	ErrTooMany = errors.New("too many")
	// ErrConflict says that another request has changed the same at the same time.
	ErrConflict = errors.New("the change had no effect: it conflicts with a concurrent change")

	ErrUserNotFound        = errors.New("no such user")
	ErrNotActive           = errors.New("the user is not active")
	ErrPending             = errors.New("the account waits for an owner's approval")
	ErrLastOwnerRemoved    = errors.New("the last active owner cannot be removed or suspended")
	ErrLastOwnerDemoted    = errors.New("the last active owner has to stay one")
	ErrSessionNotFound     = errors.New("no such session")
	ErrKeyNotFound         = errors.New("no such API key")
	ErrKeyExists           = errors.New("there is an API key of that name")
	ErrTokenNotFound       = errors.New("no such access token")
	ErrRepositoryScope     = errors.New("repositories that do not exist")
	ErrInvitationNotFound  = errors.New("no such invitation")
	ErrSavedSearchNotFound = errors.New("no such saved search")
	ErrSavedSearchExists   = errors.New("there is a saved search of that name")
	// ErrInvitation has one text for every reason, or it would reveal whether an
	// e-mail address has an account.
	ErrInvitation = errors.New("the invitation has expired, was used or taken back, or is not for this e-mail address")
	// ErrIdentity says that a provider's word is not enough to sign in by.
	ErrIdentity = errors.New("this sign-in cannot be matched to an account")
)

// ThrottledError says that there were too many failures. It is returned to callers
// over the limit, whether or not there is such an account.
type ThrottledError struct {
	// RetryAfter is how long the next try has to wait.
	RetryAfter time.Duration
}

// Error implements error.
func (e *ThrottledError) Error() string {
	return fmt.Sprintf("too many failed attempts; wait %s", e.RetryAfter.Round(time.Second))
}

// FieldError says what is wrong with one field of a request. It wraps ErrInvalid.
type FieldError struct {
	// Field is its name in the API, Reason a phrase for people.
	Field, Reason string
}

// Error implements error.
func (e *FieldError) Error() string { return ErrInvalid.Error() + ": " + e.Field + ": " + e.Reason }

// Unwrap returns ErrInvalid.
func (e *FieldError) Unwrap() error { return ErrInvalid }

func invalidField(field, format string, args ...any) error {
	return &FieldError{field, fmt.Sprintf(format, args...)}
}
