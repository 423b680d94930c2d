package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// admissionWait is how long a delivery waits for memory before it is rejected.
const admissionWait = 2 * time.Second

// readBody reads the whole body within MaxBodyBytes and ReadTimeout. The caller must
// release the reservation.
func (r *Receiver) readBody(w http.ResponseWriter, req *http.Request) (body []byte, p *reservation, err error) {
	size, err := r.admittedBytes(req)
	if err != nil {
		return nil, nil, err
	}
	wait, cancel := context.WithTimeout(req.Context(), admissionWait)
	defer cancel()
	if p, err = r.budgetFor(size).reserveBytes(wait, addressOf(req.RemoteAddr), size); err != nil {
		return nil, nil, err
	}
	r.metrics.inFlightBytes.Add(float64(size))
	body, err = r.readAll(w, req, size)
	if err != nil {
		r.releaseBody(p)
		return nil, nil, err
	}
	return body, p, nil
}

func (r *Receiver) budgetFor(size int64) *bodyBudget {
	if size <= smallBodyBytes {
		return r.small
	}
	return r.large
}

func (r *Receiver) releaseBody(p *reservation) {
	r.metrics.inFlightBytes.Sub(float64(p.bytes))
	p.releaseBytes()
}

// admittedBytes returns the largest possible size of the body: the announced length, or
// the bound.
func (r *Receiver) admittedBytes(req *http.Request) (int64, error) {
	switch n := req.ContentLength; {
	case n > r.o.MaxBodyBytes:
		return 0, fmt.Errorf("%w: %d bytes, at most %d", errTooLarge, n, r.o.MaxBodyBytes)
	case n >= 0:
		return n, nil
	}
	return r.o.MaxBodyBytes, nil
}

func (r *Receiver) readAll(w http.ResponseWriter, req *http.Request, size int64) ([]byte, error) {
	// Ignore writers without deadlines (tests).
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(r.o.ReadTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, size))
	if err == nil {
		// The deadline applies to the connection. Remove it before the wait for the log,
		// or it would end the request. After an error it remains: net/http reads the rest
		// of the body before it responds, and would wait for it forever.
		_ = control.SetReadDeadline(time.Time{})
		return body, nil
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, fmt.Errorf("%w: at most %d bytes", errTooLarge, r.o.MaxBodyBytes)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("%w: the body did not arrive within %s", errSlow, r.o.ReadTimeout)
	}
	return nil, fmt.Errorf("%w: %w", errBody, err)
}
