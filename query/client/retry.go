package client

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// firstWait is the wait where the server names none.
const firstWait = time.Second

// awaitRetry reports whether a request that failed is to be sent again, and waits until
// it may be.
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
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
