package oidc

import "errors"

// Errors of a sign-in. Their text may be shown to people; errors that wrap them are for
// the log.
var (
	// ErrUnknown reports that no provider has that name.
	ErrUnknown = errors.New("there is no such provider")
	// ErrUnavailable reports that the provider does not respond, or not as a provider
	// would.
	ErrUnavailable = errors.New("the provider cannot be reached")
	// ErrFlow reports that the sign-in was not begun in this browser, took too long, or
	// was already completed.
	ErrFlow = errors.New("this sign-in was started in another browser, has expired, or is complete")
	// ErrDenied reports that the provider has redirected the person back without signing
	// them in.
	ErrDenied = errors.New("the provider did not sign you in")
	// ErrToken reports that the provider's response cannot be trusted.
	ErrToken = errors.New("the provider's answer is not valid")
	// ErrEmail reports that the provider has no verified e-mail address for the person.
	ErrEmail = errors.New("the provider does not vouch for an e-mail address of yours")
	// ErrDomain reports that users with an e-mail address in this domain may not sign in.
	ErrDomain = errors.New("e-mail addresses of this domain may not sign in here")
)
