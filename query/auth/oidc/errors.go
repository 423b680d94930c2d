package oidc

import "errors"

// Errors of a sign-in. Their text may be shown; what wraps them is for the log.
var (
	// ErrUnknown says that no provider has that name.
	ErrUnknown = errors.New("there is no such provider")
	// ErrUnavailable says that the provider does not answer, or not as a provider
	// would.
	ErrUnavailable = errors.New("the provider cannot be reached")
	// ErrFlow says that the sign-in was not begun in this browser, has taken too
	// long, or was finished before.
	ErrFlow = errors.New("this sign-in was started in another browser, has expired, or is complete")
	// ErrDenied says that the provider has sent the person back without signing
	// them in.
	ErrDenied = errors.New("the provider did not sign you in")
	// ErrToken says that what the provider sent is not to be trusted.
	ErrToken = errors.New("the provider's answer is not valid")
	// ErrEmail says that the provider knows no verified e-mail address.
	ErrEmail = errors.New("the provider does not vouch for an e-mail address of yours")
	// ErrDomain says that users with an e-mail address in this domain may not sign
	// in.
	ErrDomain = errors.New("e-mail addresses of this domain may not sign in here")
)
