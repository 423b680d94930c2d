package hostapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/quarrysearch/quarry/schemas/failure"
)

// Code is the reason why a request to a code host failed.
type Code string

// Codes of failed requests.
const (
	Unauthorized Code = "unauthorized"
	Forbidden    Code = "forbidden"
	NotFound     Code = "not_found"
	RateLimited  Code = "rate_limited"
	Unreachable  Code = "unreachable"
	TLS          Code = "tls_failed"
	Timeout      Code = "timeout"
	NotJSON      Code = "not_json"
	TooLarge     Code = "too_large"
	Redirected   Code = "redirected"
	Refused      Code = "refused"
	HostFailed   Code = "host_failed"
	Rejected     Code = "rejected"
)

// Codes returns every code.
func Codes() []Code {
	return []Code{Unauthorized, Forbidden, NotFound, RateLimited, Unreachable, TLS, Timeout, NotJSON, TooLarge, Redirected, Refused, HostFailed, Rejected}
}

// Error is a request that failed permanently.
type Error struct {
	Code Code
	// Status is the status of the response, or 0 if there was none.
	Status int
	// Detail is the host's message with secrets masked, for owners.
	Detail string
	err    error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("%s: the host answered %d: %s", e.Code, e.Status, e.Detail)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Detail)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

// CodeOf returns the Code of an error, or HostFailed if it has none: a client could not
// read the response.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return HostFailed
}

// maxDetailBytes bounds the host's message in an Error.
const maxDetailBytes = 300

// NewError returns an Error for a client that checks more than the status of a response.
func NewError(code Code, detail string) *Error { return newError(code, 0, detail, nil) }

func newError(code Code, status int, detail string, err error) *Error {
	return &Error{Code: code, Status: status, Detail: failure.Quote(detail, maxDetailBytes), err: err}
}

// classifyFailure returns the Error of a request that got no response.
func classifyFailure(err error) *Error {
	var certificate *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var timeout net.Error
	switch {
	case errors.As(err, &certificate), errors.As(err, &unknown), errors.As(err, &hostname), errors.As(err, &record), errors.As(err, &alert):
		return newError(TLS, 0, err.Error(), err)
	case failure.CodeOf(err) == failure.Refused:
		return newError(Refused, 0, err.Error(), err)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return newError(Timeout, 0, err.Error(), err)
	}
	return newError(Unreachable, 0, err.Error(), err)
}

// classifyStatus returns the Error of a response with an error status.
func classifyStatus(resp *http.Response, body []byte) *Error {
	code := Rejected
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		code = Unauthorized
	case resp.StatusCode == http.StatusForbidden:
		code = Forbidden
	case resp.StatusCode == http.StatusNotFound, resp.StatusCode == http.StatusGone:
		code = NotFound
	case resp.StatusCode == http.StatusTooManyRequests:
		code = RateLimited
	case resp.StatusCode >= 500:
		code = HostFailed
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		code = Redirected
	}
	detail := string(body)
	if needs := resp.Header.Get("X-Accepted-OAuth-Scopes"); code == Forbidden && needs != "" {
		detail = fmt.Sprintf("the token has the scopes %q, one of %q is needed: %s", resp.Header.Get("X-OAuth-Scopes"), needs, detail)
	}
	return newError(code, resp.StatusCode, detail, nil)
}
