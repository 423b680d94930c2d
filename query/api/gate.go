package api

import (
	"context"
	"net/http"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Gate authenticates callers and decides what exists for them; auth.Service is one.
type Gate interface {
	// Authenticate returns the sender of r. The error wraps auth.ErrUnauthenticated
	// if a credential is invalid, or is missing where anonymous requests are not
	// allowed; it wraps auth.ErrNotReady until the accounts have been read.
	Authenticate(r *http.Request) (*auth.Principal, error)
	// Visible returns which repositories exist for p now.
	Visible(p *auth.Principal) auth.Visible
	// Visibility returns the visibility of r now: what an owner has decided, else
	// what the code host says, else the default.
	Visibility(r *code.Repository) account.Visibility
}

// Auditor records what was done.
type Auditor interface {
	// Note takes a record of something read, which is written shortly. Where too
	// many wait already it waits for a bounded time; an error, which wraps
	// ErrUnavailable, then says that the record is not taken and that the answer must
	// not be given. It is called before the answer goes out where that is possible.
	Note(ctx context.Context, rec audit.Record) error
	// Record returns once the record is durable, or after a bounded time with an
	// error that wraps ErrUnavailable: then the action must not be done, or if it
	// was, not be reported as done.
	Record(ctx context.Context, rec audit.Record) error
}
