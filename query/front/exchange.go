package front

import (
	"context"
	"net/http"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// Exchange is a request and its response, as the layers and the handler share them. Only
// the goroutine of the request may call its methods. They do nothing on nil, which
// ExchangeIn returns for contexts outside a Front.
type Exchange struct {
	id    string
	route string
	// status is the status for metrics and the audit log. For a stream that failed
	// halfway, it is the status of the error.
	status int
	err    error
	// response is the writer of the client's response.
	response *responseTracker
	// control sets the deadlines of the connection.
	control *http.ResponseController
	// body is the request's body without limits.
	body body

	// Principal, client address and rate limit of the caller; see admission.go.
	principal *auth.Principal
	address   string
	pace      *paceState
	// cookie is the session that replaces the one in the request.
	cookie *http.Cookie
	// Fields of the audit record; see audit.go. refusal is set if the request was
	// refused.
	targetType audit.TargetType
	target     string
	metadata   map[string]string
	refusal    audit.Action
	recorded   bool
	done       bool // the handler returned without a panic
}

// exchangeKey is the key of the Exchange in a request's context.
type exchangeKey struct{}

// ExchangeIn returns the Exchange of a request by its context, or nil if there is none.
func ExchangeIn(ctx context.Context) *Exchange {
	x, _ := ctx.Value(exchangeKey{}).(*Exchange)
	return x
}

// exchangeOf returns the Exchange of a request that passed through withObservation.
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

// Control returns the controller of the connection's deadlines.
func (x *Exchange) Control() *http.ResponseController { return x.control }

// SetAuditTarget sets what a request reads or changes, for the audit log. metadata holds
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

// Deny marks the audit record as that of a denied request. A handler calls it when it
// refuses a request that the route admitted.
func (x *Exchange) Deny() {
	if x != nil {
		x.refusal = audit.RequestDenied
	}
}

// setHeaders sets the headers that the layers around a handler contribute.
func (x *Exchange) setHeaders(h http.Header) {
	x.pace.setHeaders(h)
	if x.cookie != nil {
		h.Add("Set-Cookie", x.cookie.String())
		x.cookie = nil
	}
}
