package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// ErrNoAnswer reports that the server could not be reached.
var ErrNoAnswer = errors.New("no server answers")

// errCutOff reports that a stream ended without its final frame.
var errCutOff = errors.New("the answer ended in the middle")

// Error is an error returned by the server.
type Error struct {
	StatusCode int
	// ErrorCode identifies the failure for programs.
	ErrorCode wire.ErrorErrorCode
	// Message is for people.
	Message string
	// Query locates the error in a query; it is zero for other failures.
	Query wire.QueryFault
	// RequestID is the ID of the request in the server's log.
	RequestID string
	// RetryAfter is the wait that the server requests before a retry; 0 if it sends none.
	RetryAfter time.Duration
}

// Error returns the server's message.
func (e *Error) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("the server answered %d %s", e.StatusCode, http.StatusText(e.StatusCode))
	}
	return e.Message
}

// newError parses an error response. If the body is not an error object, the status must
// suffice.
func newError(response *http.Response) *Error {
	var body wire.Error
	b, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBytes))
	_ = json.Unmarshal(b, &body)
	e := toError(&body, response)
	e.StatusCode = response.StatusCode
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}

func toError(body *wire.Error, response *http.Response) *Error {
	return &Error{
		StatusCode: body.StatusCode, ErrorCode: body.ErrorCode, Message: body.Message, Query: body.Query,
		RequestID: response.Header.Get("X-Request-Id"),
	}
}
