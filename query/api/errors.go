package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/projections/scip"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/query/mcp"
	"github.com/quarrysearch/quarry/query/navigate"
	"github.com/quarrysearch/quarry/query/plan"
	"github.com/quarrysearch/quarry/query/precise"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
	"github.com/quarrysearch/quarry/schemas/replay"
	"github.com/quarrysearch/quarry/schemas/verification"
)

// Failures of the API itself, wrapped with the field or parameter.
var (
	errNoRoute      = errors.New("no such path; GET /api/openapi.json describes the API")
	errBody         = errors.New("request body")
	errBodyTooBig   = errors.New("request body is too large")
	errBodySlow     = errors.New("request body arrived too slowly")
	errMissingParam = errors.New("query parameters")
	errParams       = errors.New("query parameters")
	errPathParams   = errors.New("path parameters")
	errTaken        = errors.New("conflict")
	errTimedOut     = errors.New("the search timed out; narrow the query, for example with a repo: or lang: filter")
	errContext      = errors.New("search context")
)

// methodError is a 405.
type methodError struct{ allowed string }

func (e *methodError) Error() string {
	return "method is not allowed here; want " + e.allowed
}

// errorStatus is a row of the table of errors: errors with their status and code.
type errorStatus struct {
	err    error
	status int
	code   string
}

// statusClientGone counts requests whose client disconnected; it is never sent.
const statusClientGone = 499

// failures maps errors to statuses and codes. The first matching row counts.
var failures = []errorStatus{
	{front.ErrNotChanged, http.StatusServiceUnavailable, "UNAVAILABLE"},
	{front.ErrNotRecorded, http.StatusServiceUnavailable, "UNAVAILABLE"},
	{syntax.ErrInvalid, http.StatusBadRequest, "FAILED_TO_PARSE_QUERY"},
	{plan.ErrPattern, http.StatusBadRequest, "FAILED_TO_PARSE_QUERY"},
	{errBody, http.StatusBadRequest, "INVALID_REQUEST_BODY"},
	{navigate.ErrInvalid, http.StatusBadRequest, "INVALID_REQUEST_BODY"},
	{code.ErrCloneURL, http.StatusBadRequest, "INVALID_REQUEST_BODY"},
	{scip.ErrInvalid, http.StatusBadRequest, "INVALID_REQUEST_BODY"},
	{scip.ErrTooLarge, http.StatusRequestEntityTooLarge, "REQUEST_TOO_LARGE"},
	{precise.ErrFull, http.StatusConflict, "CONFLICT"},
	{precise.ErrBusy, http.StatusServiceUnavailable, "UNAVAILABLE"},
	{failure.ErrPosition, http.StatusBadRequest, "INVALID_POSITION"},
	{errNotReached, http.StatusServiceUnavailable, "POSITION_NOT_REACHED"},
	{errMissingParam, http.StatusBadRequest, "MISSING_REQUIRED_QUERY_PARAMETER"},
	{errParams, http.StatusBadRequest, "INVALID_QUERY_PARAMS"},
	{failure.ErrCursor, http.StatusBadRequest, "INVALID_QUERY_PARAMS"},
	{failure.ErrAuditHead, http.StatusBadRequest, "INVALID_REQUEST_BODY"},
	{errPathParams, http.StatusBadRequest, "INVALID_PATH_PARAMS"},
	{source.ErrInvalidRevision, http.StatusBadRequest, "INVALID_GIT_REF"},
	{source.ErrNoRevision, http.StatusBadRequest, "INVALID_GIT_REF"},
	{source.ErrInvalidPattern, http.StatusBadRequest, "INVALID_QUERY_PARAMS"},
	{auth.ErrUnauthenticated, http.StatusUnauthorized, "NOT_AUTHENTICATED"},
	{auth.ErrForbidden, http.StatusForbidden, "INSUFFICIENT_PERMISSIONS"},
	{mcp.ErrSessionForeign, http.StatusForbidden, "INSUFFICIENT_PERMISSIONS"},
	{mcp.ErrSessionUnknown, http.StatusNotFound, "NOT_FOUND"},
	{mcp.ErrNotAcceptable, http.StatusNotAcceptable, "NOT_ACCEPTABLE"},
	{mcp.ErrRequestTooLarge, http.StatusRequestEntityTooLarge, "REQUEST_TOO_LARGE"},
	{front.ErrHost, http.StatusMisdirectedRequest, "MISDIRECTED_REQUEST"},
	{front.ErrCrossOrigin, http.StatusForbidden, "CROSS_ORIGIN_REQUEST"},
	{failure.ErrRefused, http.StatusForbidden, "REPOSITORY_REFUSED"},
	{errNoRoute, http.StatusNotFound, "NOT_FOUND"},
	{errContext, http.StatusNotFound, "SEARCH_CONTEXT_NOT_FOUND"},
	{code.ErrNotFound, http.StatusNotFound, "NOT_FOUND"},
	{replay.ErrRefused, http.StatusBadRequest, "INVALID_REPLAY"},
	{replay.ErrBusy, http.StatusConflict, "REPLAY_CONFLICT"},
	{source.ErrNoObject, http.StatusNotFound, "GIT_OBJECT_MISSING"},
	{source.ErrInvalidPath, http.StatusNotFound, "FILE_NOT_FOUND"},
	{source.ErrNoPath, http.StatusNotFound, "FILE_NOT_FOUND"},
	{source.ErrNoLine, http.StatusBadRequest, "INVALID_QUERY_PARAMS"},
	{errBodySlow, http.StatusRequestTimeout, "REQUEST_TIMEOUT"},
	{errTaken, http.StatusConflict, "REPOSITORY_ALREADY_EXISTS"},
	{failure.ErrConflict, http.StatusConflict, "CONFLICT"},
	{errBodyTooBig, http.StatusRequestEntityTooLarge, "REQUEST_TOO_LARGE"},
	{source.ErrBinary, http.StatusUnprocessableEntity, "FILE_IS_BINARY"},
	{source.ErrTooLarge, http.StatusUnprocessableEntity, "RESULT_TOO_LARGE"},
	{context.Canceled, statusClientGone, "CLIENT_CLOSED_REQUEST"},
	{ErrNotSharded, http.StatusNotImplemented, "NOT_IMPLEMENTED"},
	{errTimedOut, http.StatusServiceUnavailable, "TIMEOUT"},
	{source.ErrTimeout, http.StatusServiceUnavailable, "TIMEOUT"},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, "TIMEOUT"},
	{search.ErrBusy, http.StatusServiceUnavailable, "UNAVAILABLE"},
	{failure.ErrNotReady, http.StatusServiceUnavailable, "NOT_READY"},
	{source.ErrBusy, http.StatusServiceUnavailable, "UNAVAILABLE"},
	{source.ErrUnavailable, http.StatusServiceUnavailable, "UNAVAILABLE"},
	{front.ErrTooManyWaits, http.StatusServiceUnavailable, "UNAVAILABLE"},
	{front.ErrTooManyStreams, http.StatusServiceUnavailable, "UNAVAILABLE"},
	{verification.ErrBusy, http.StatusServiceUnavailable, "UNAVAILABLE"},
	{failure.ErrUnavailable, http.StatusServiceUnavailable, "UNAVAILABLE"},
	{auth.ErrInvalid, http.StatusBadRequest, "INVALID_REQUEST_BODY"},
	{auth.ErrInvitation, http.StatusBadRequest, "INVALID_INVITE"},
	{auth.ErrKeyExists, http.StatusBadRequest, "API_KEY_ALREADY_EXISTS"},
	{auth.ErrRepositoryScope, http.StatusBadRequest, "INVALID_REPOSITORY_SCOPE"},
	{auth.ErrNotActive, http.StatusBadRequest, "MEMBER_NOT_ACTIVE"},
	{auth.ErrLastOwnerRemoved, http.StatusForbidden, "LAST_OWNER_CANNOT_BE_REMOVED"},
	{auth.ErrLastOwnerDemoted, http.StatusForbidden, "LAST_OWNER_CANNOT_BE_DEMOTED"},
	{auth.ErrPending, http.StatusForbidden, "INSUFFICIENT_PERMISSIONS"},
	{auth.ErrIdentity, http.StatusForbidden, "INSUFFICIENT_PERMISSIONS"},
	{auth.ErrUserNotFound, http.StatusNotFound, "USER_NOT_FOUND"},
	{auth.ErrKeyNotFound, http.StatusNotFound, "API_KEY_NOT_FOUND"},
	{auth.ErrTokenNotFound, http.StatusNotFound, "SCOPED_ACCESS_TOKEN_NOT_FOUND"},
	{auth.ErrSessionNotFound, http.StatusNotFound, "NOT_FOUND"},
	{auth.ErrInvitationNotFound, http.StatusNotFound, "NOT_FOUND"},
	{auth.ErrSavedSearchNotFound, http.StatusNotFound, "NOT_FOUND"},
	{auth.ErrSavedSearchExists, http.StatusConflict, "CONFLICT"},
	{auth.ErrConflict, http.StatusConflict, "CONFLICT"},
	{auth.ErrTooMany, http.StatusConflict, "CONFLICT"},
	{auth.ErrBusy, http.StatusServiceUnavailable, "UNAVAILABLE"},
	{auth.ErrNotReady, http.StatusServiceUnavailable, "NOT_READY"},
	{auth.ErrUnavailable, http.StatusServiceUnavailable, "UNAVAILABLE"},
}

func failureOf(err error) errorStatus {
	if _, ok := errors.AsType[*methodError](err); ok {
		return errorStatus{nil, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED"}
	}
	if _, ok := errors.AsType[*front.MediaTypeError](err); ok {
		return errorStatus{nil, http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE"}
	}
	if _, ok := errors.AsType[*front.RateError](err); ok {
		return errorStatus{nil, http.StatusTooManyRequests, "RATE_LIMITED"}
	}
	if _, ok := errors.AsType[*auth.ThrottledError](err); ok {
		return errorStatus{nil, http.StatusTooManyRequests, "RATE_LIMITED"}
	}
	for _, f := range failures {
		if errors.Is(err, f.err) {
			return f
		}
	}
	return errorStatus{nil, http.StatusInternalServerError, "UNEXPECTED_ERROR"}
}

// wholeSeconds rounds up so that a caller who waits that long has waited long enough.
func wholeSeconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// retryAfterSeconds is the Retry-After of a 503.
const retryAfterSeconds = 5

// newError returns the body of an error response. It contains only messages about the
// client's own request; other messages are in the log, by request ID.
func newError(err error, requestID string) wire.Error {
	f := failureOf(err)
	out := wire.Error{StatusCode: f.status, ErrorCode: wire.ErrorErrorCode(f.code), Message: err.Error()}
	switch f.status {
	case http.StatusInternalServerError:
		out.Message = fmt.Sprintf("Unexpected error. The server's log has the cause under request ID %s.", requestID)
	case http.StatusServiceUnavailable:
		out.Message = failure.Mask(out.Message)
	}
	if e, ok := errors.AsType[*syntax.Error](err); ok {
		out.Query = wire.QueryFault{Position: e.Position, Column: e.Column, Advice: e.Advice}
	}
	return out
}

// errorReply returns the response to a failed request.
func errorReply(err error, requestID string) *reply {
	body := newError(err, requestID)
	out := &reply{status: body.StatusCode, header: http.Header{}, body: &body}
	switch body.StatusCode {
	case http.StatusServiceUnavailable:
		out.header.Set("Retry-After", strconv.Itoa(retryAfterSeconds))
	case http.StatusUnauthorized:
		out.header.Set("WWW-Authenticate", `Bearer realm="quarry"`)
	case http.StatusTooManyRequests:
		if e, ok := errors.AsType[*front.RateError](err); ok {
			out.header.Set("Retry-After", strconv.Itoa(max(1, wholeSeconds(e.Wait))))
		}
		if e, ok := errors.AsType[*auth.ThrottledError](err); ok {
			out.header.Set("Retry-After", strconv.Itoa(max(1, wholeSeconds(e.RetryAfter))))
		}
	case http.StatusMethodNotAllowed:
		e, _ := errors.AsType[*methodError](err)
		out.header.Set("Allow", e.allowed)
	}
	return out
}
