package segmentstore

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/quarrysearch/quarry/schemas/code"
)

// errSlow ends a request that transfers less than minBytesPerSecond.
var errSlow = errors.New("the server is too slow")

// request runs an operation on an object within the bounds of time. extend allows for a
// body of that size.
func (b *Bucket) request(ctx context.Context, operation, name string, do func(ctx context.Context, extend func(bytes int64)) error) error {
	err := ctx.Err()
	if err == nil && operation != "list" {
		err = ValidateName(name)
	}
	if err == nil {
		limited, cancel := context.WithCancelCause(ctx)
		timer := time.AfterFunc(requestTimeout, func() { cancel(errSlow) })
		began := time.Now()
		err = do(limited, func(bytes int64) {
			timer.Reset(requestTimeout + time.Duration(bytes/minBytesPerSecond)*time.Second)
		})
		if slow := context.Cause(limited); err != nil && errors.Is(slow, errSlow) {
			err = errSlow // not an error of a context, which the caller would take for its own
		}
		timer.Stop()
		cancel(nil)
		b.o.Metrics.requests.WithLabelValues(operation).Observe(time.Since(began).Seconds())
	}
	if isMissing(err) {
		err = code.ErrNotFound
		if name != IdentityName {
			err = b.identity.confirmMissing(ctx, err)
		}
	}
	if err == nil {
		return nil
	}
	if ctx.Err() == nil {
		b.o.Metrics.countError(operation, err)
	}
	return fmt.Errorf("segment store: %s %s%s: %w", operation, b.address, name, b.explain(err))
}

// isMissing reports whether the server has no such object.
func isMissing(err error) bool { return errorCode(err) == "NoSuchKey" }

// isPrecondition reports whether a condition was not met: the object exists, or has
// changed.
func isPrecondition(err error) bool {
	c := errorCode(err)
	return c == "PreconditionFailed" || c == "ConditionalRequestConflict"
}

// errorCode returns the code of an error response of the server, or "".
func errorCode(err error) string {
	var response minio.ErrorResponse
	if !errors.As(err, &response) {
		return ""
	}
	if response.Code == "" && response.StatusCode == http.StatusPreconditionFailed {
		return "PreconditionFailed"
	}
	return response.Code
}

// These are the reasons of failed operations.
const (
	reasonDenied      = "denied"
	reasonBucket      = "missing bucket"
	reasonClock       = "clock"
	reasonRegion      = "region"
	reasonSlow        = "slow"
	reasonDamaged     = "damaged"
	reasonUnavailable = "unavailable"
)

// errorReason returns the reason of a failed operation, or "" for an answer that is no
// failure.
func errorReason(err error) string {
	switch {
	case errors.Is(err, code.ErrNotFound), errors.Is(err, ErrHeld), errors.Is(err, ErrTooLarge), errors.Is(err, ErrName):
		return ""
	case errors.Is(err, errSlow):
		return reasonSlow
	case errors.Is(err, errBody), errors.Is(err, ErrCorrupt):
		return reasonDamaged
	}
	switch errorCode(err) {
	case "NoSuchBucket":
		return reasonBucket
	case "RequestTimeTooSkewed":
		return reasonClock
	case "AuthorizationHeaderMalformed", "PermanentRedirect", "IllegalLocationConstraintException", "InvalidRegion":
		return reasonRegion
	}
	var response minio.ErrorResponse
	if errors.As(err, &response) && (response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden || response.StatusCode == http.StatusMethodNotAllowed) {
		return reasonDenied
	}
	return reasonUnavailable
}

// explain adds what the operator can do about an error of the server.
func (b *Bucket) explain(err error) error {
	var advice string
	switch errorReason(err) {
	case reasonDenied:
		advice = "check the credentials; they need s3:ListBucket on the bucket, and s3:GetObject, s3:PutObject and s3:DeleteObject on its objects"
	case reasonBucket:
		advice = "create the bucket, or correct storage.segments"
	case reasonClock:
		advice = "set the clock of this machine"
	case reasonRegion:
		advice = "set storage.s3.region to the region of the bucket"
	}
	var unknownCA x509.UnknownAuthorityError
	var network *url.Error // also of a connection that was closed before the response
	var response minio.ErrorResponse
	switch {
	case errors.As(err, &unknownCA):
		advice = "name its root certificate in storage.s3.caFile"
	case errors.As(err, &network) && !errors.Is(err, context.Canceled):
		advice = "check storage.s3.endpoint and the network"
	case errors.As(err, &response) && response.StatusCode >= http.StatusInternalServerError:
		advice = "the server is overloaded or fails: check its state, and try again"
	}
	if c := errorCode(err); c != "" {
		err = fmt.Errorf("%s: %w", c, err)
	}
	if advice == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, advice)
}
