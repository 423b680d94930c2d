package webhook

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/quarrysearch/quarry/ingest"
)

// Errors of the receiver itself.
var (
	errNoRoute           = errors.New("want POST /webhooks/{kind}/{connection}")
	errMethod            = errors.New("method is not allowed: want POST")
	errUnknownConnection = errors.New("no such connection of this kind is configured")
	errUnknownRepository = errors.New("repository is not registered")
	errRefused           = errors.New("registration is refused")
	errTooLarge          = errors.New("body is too large")
	errSlow              = errors.New("body arrived too slowly")
	errBody              = errors.New("body cannot be read")
	errUnavailable       = errors.New("events cannot be accepted now; send the delivery again later")
)

// retryAfterSeconds is the Retry-After value of a 503.
const retryAfterSeconds = 5

// failure is a row of the table of failures.
type failure struct {
	err    error
	status int
	code   string
	// result is the label of the metric.
	result string
}

// failures maps errors to statuses; the first matching row applies.
var failures = []failure{
	{errUnavailable, http.StatusServiceUnavailable, "UNAVAILABLE", "unavailable"},
	{ingest.ErrUnauthenticated, http.StatusUnauthorized, "NOT_AUTHENTICATED", "unauthenticated"},
	{ingest.ErrNotJSON, http.StatusBadRequest, "INVALID_REQUEST_BODY", "not_json"},
	{ingest.ErrInvalidPayload, http.StatusBadRequest, "INVALID_REQUEST_BODY", "invalid"},
	{errTooLarge, http.StatusRequestEntityTooLarge, "REQUEST_TOO_LARGE", "too_large"},
	{errSlow, http.StatusRequestTimeout, "REQUEST_TIMEOUT", "slow"},
	{errBody, http.StatusBadRequest, "INVALID_REQUEST_BODY", "aborted"},
	{errRefused, http.StatusForbidden, "REPOSITORY_REFUSED", "refused"},
	{errUnknownRepository, http.StatusNotFound, "REPOSITORY_NOT_FOUND", "unknown_repository"},
	{errUnknownConnection, http.StatusNotFound, "NOT_FOUND", "unknown_connection"},
	{errNoRoute, http.StatusNotFound, "NOT_FOUND", "unknown_connection"},
	{errMethod, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "method"},
}

// unexpected is the row for every other error: an internal error.
var unexpected = failure{nil, http.StatusInternalServerError, "UNEXPECTED_ERROR", "error"}

func failureOf(err error) failure {
	for _, f := range failures {
		if errors.Is(err, f.err) {
			return f
		}
	}
	return unexpected
}

// errorObject is the error object of the public API.
type errorObject struct {
	StatusCode int    `json:"statusCode"`
	ErrorCode  string `json:"errorCode"`
	Message    string `json:"message"`
}

func writeError(w http.ResponseWriter, err error) {
	f := failureOf(err)
	message := err.Error()
	switch f.status {
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", strconv.Itoa(retryAfterSeconds))
		// The cause is for the operator only; it is logged.
		message = f.err.Error()
	case http.StatusInternalServerError:
		message = "unexpected error, see the server's log"
	}
	writeJSON(w, f.status, errorObject{f.status, f.code, message})
}

// Results of successful deliveries.
const (
	resultAccepted  = "accepted"
	resultDuplicate = "duplicate"
	resultIgnored   = "ignored"
)

func resultOf(a answer, err error) string {
	switch {
	case err != nil:
		return failureOf(err).result
	case a.Duplicate:
		return resultDuplicate
	case a.Ignored != "":
		return resultIgnored
	}
	return resultAccepted
}

// connectionResults lists the possible results of deliveries to a connection.
func connectionResults() []string {
	results := []string{resultAccepted, resultDuplicate, resultIgnored, unexpected.result}
	for _, f := range failures {
		if f.err != errUnknownConnection && f.err != errNoRoute && f.err != errMethod && !slices.Contains(results, f.result) {
			results = append(results, f.result)
		}
	}
	return results
}
