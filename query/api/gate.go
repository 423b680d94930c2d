package api

import (
	"context"
	"net/http"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// Gate tells who asks and what exists for them; auth.Service is one.
type Gate interface {
	// Authenticate returns who sends r. The error wraps auth.ErrUnauthenticated if a
	// credential is no good, or is missing where anonymous requests are not allowed.
	Authenticate(r *http.Request) (*auth.Principal, error)
	// Visible returns which repositories exist for p now.
	Visible(p *auth.Principal) auth.Visible
}

// Auditor writes down what was done.
type Auditor interface {
	// Note takes a record of something read: it is written shortly. It waits where
	// too many wait already.
	Note(ctx context.Context, rec audit.Record)
	// Record returns once the record is durable.
	Record(ctx context.Context, rec audit.Record) error
}
