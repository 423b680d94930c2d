package front

import (
	"fmt"
	"io"
	"net/http"
	"time"
)

// noDeadline lifts a deadline.
var noDeadline time.Time

// limitBody limits the size of a body, and the time to read it and to write the response.
// It ignores writers that do not support deadlines, as in tests.
func (f *Front) limitBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		now := time.Now()
		_ = control.SetWriteDeadline(now.Add(f.o.ReadTimeout + f.o.HandlerTimeout + f.o.WriteTimeout))
		x := exchangeOf(r)
		x.body, x.control = body{w, r.Body}, control
		if r.ContentLength != 0 {
			// The deadline covers bodies that no handler reads, too: net/http reads them
			// after the response.
			_ = control.SetReadDeadline(now.Add(f.o.ReadTimeout))
			r.Body = &timedBody{&valueCounter{ReadCloser: http.MaxBytesReader(w, r.Body, f.o.MaxBodyBytes)}, control}
		}
		next.ServeHTTP(w, r)
	})
}

// body is a request's body before limits are applied.
type body struct {
	w http.ResponseWriter
	io.ReadCloser
}

// admitUpload replaces the bounds of an unread body with those of its route.
func (f *Front) admitUpload(rt *Route, x *Exchange, r *http.Request) {
	now := time.Now()
	_ = x.control.SetReadDeadline(now.Add(rt.BodyTime))
	_ = x.control.SetWriteDeadline(now.Add(rt.BodyTime + f.o.HandlerTimeout + f.o.WriteTimeout))
	if x.body.ReadCloser != nil {
		r.Body = &timedBody{http.MaxBytesReader(x.body.w, x.body.ReadCloser, rt.MaxBodyBytes), x.control}
	}
}

// maxBodyValues bounds the values of a body in JSON. One of two bytes, {}, takes a hundred when it is
// decoded, before its operation is looked at.
const maxBodyValues = 100_000

var errManyValues = fmt.Errorf("it holds more than %d values", maxBodyValues)

// valueCounter ends a body in JSON that has more than maxBodyValues. In other bodies, the forms of
// pages, it counts characters that are too few to matter.
type valueCounter struct {
	io.ReadCloser
	values           int
	isText, isEscape bool
}

func (c *valueCounter) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	for _, b := range p[:n] {
		switch {
		case c.isEscape:
			c.isEscape = false
		case b == '"':
			c.isText = !c.isText
		case c.isText:
			c.isEscape = b == '\\'
		case b == ',' || b == '{' || b == '[':
			c.values++
		}
	}
	if c.values > maxBodyValues {
		return 0, errManyValues
	}
	return n, err
}

// timedBody lifts the read deadline once the body has been read; otherwise the deadline
// would end the request.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.control.SetReadDeadline(noDeadline)
	}
	return n, err
}
