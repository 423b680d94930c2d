package client

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/quarrysearch/quarry/schemas/clock"
)

// firstWait is the wait if the server requests none.
const firstWait = time.Second

// awaitRetry reports whether to retry a failed request, after waiting as long as
// necessary.
func (c *Client) awaitRetry(ctx context.Context, r *request, err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	switch e.StatusCode {
	case http.StatusTooManyRequests:
	case http.StatusServiceUnavailable:
		if !r.reads {
			return false
		}
	default:
		return false
	}
	wait := e.RetryAfter
	if wait == 0 {
		wait = firstWait
	}
	if wait > c.o.MaxWait {
		return false
	}
	return clock.Sleep(ctx, wait) == nil
}
