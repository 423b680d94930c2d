package front

import (
	"context"
	"net/http"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// Exchange is a request and its response, as the layers and the handler share them. Its
// methods are for the goroutine of the request; on nil, which is what a context outside
// of a Front has, they do nothing.
type Exchange struct {
	id    string
	route string
	// status is that of metrics and of the audit log: of a stream that failed half-way,
	// the status of its error.
	status int
	err    error
	// response is what the client gets.
	response *responseTracker
	// control sets the deadlines of the connection.
	control *http.ResponseController
	// body is that of the request, without bounds.
	body body

	// Principal, client address and rate limit of the caller; see admission.go.
	principal *auth.Principal
	address   string
	pace      *paceState
	// cookie is a session that has taken the place of the one that was sent.
	cookie *http.Cookie
	// What the audit log says; see audit.go. refusal is set where the request did not
	// get through.
	targetType audit.TargetType
	target     string
	metadata   map[string]string
	refusal    audit.Action
	recorded   bool
	done       bool // the handler has returned, without a panic
}

// exchangeKey is the key of the Exchange in a request's context.
type exchangeKey struct{}

// ExchangeIn returns the Exchange of a request by its context, nil if there is none.
func ExchangeIn(ctx context.Context) *Exchange {
	x, _ := ctx.Value(exchangeKey{}).(*Exchange)
	return x
}

// exchangeOf returns the Exchange of a request that came through withObservation.
func exchangeOf(r *http.Request) *Exchange {
	return r.Context().Value(exchangeKey{}).(*Exchange)
}

// ID returns the ID of the request.
func (x *Exchange) ID() string {
	if x == nil {
		return ""
	}
	return x.id
}

// Control returns what sets the deadlines of the connection.
func (x *Exchange) Control() *http.ResponseController { return x.control }

// SetAuditTarget notes what a request reads or changes, for the audit log. Metadata are
// pairs of name and value; empty values are left out.
func (x *Exchange) SetAuditTarget(kind audit.TargetType, name string, metadata ...string) {
	if x == nil {
		return
	}
	x.targetType, x.target = kind, failure.Cut(name, audit.MaxTargetBytes)
	for i := 0; i+1 < len(metadata); i += 2 {
		x.AddMetadata(metadata[i], metadata[i+1])
	}
}

// AddMetadata adds a name and a value to the audit record of the request.
func (x *Exchange) AddMetadata(name, value string) {
	if x == nil || value == "" || len(x.metadata) >= audit.MaxMetadata {
		return
	}
	if x.metadata == nil {
		x.metadata = map[string]string{}
	}
	x.metadata[name] = failure.Cut(value, audit.MaxMetadataBytes)
}

// Deny makes the audit record one of a denied request: a handler calls it where it
// refuses what the route admitted.
func (x *Exchange) Deny() {
	if x != nil {
		x.refusal = audit.RequestDenied
	}
}

// setHeaders sets what the layers around a handler have to say.
func (x *Exchange) setHeaders(h http.Header) {
	x.pace.setHeaders(h)
	if x.cookie != nil {
		h.Add("Set-Cookie", x.cookie.String())
		x.cookie = nil
	}
}
