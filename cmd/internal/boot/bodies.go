package boot

import (
	"io"
	"net/http"
	"time"
)

// bodyTimeout bounds the time from the end of a request's header to the end of its body.
const bodyTimeout = 10 * time.Second

// limitBodyTime sets the deadline of every body before any handler runs. Without it, a
// request that announces a body and sends none would hold its connection forever if its
// handler reads no body: net/http waits for the body before it responds. A handler may
// set another deadline, for an upload or to report a slow body.
func limitBodyTime(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			control := http.NewResponseController(w)
			_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // connections of tests may have no deadlines
			timed := *r                                              // net/http reads the Body of r itself
			timed.Body = &timedBody{r.Body, control}
			r = &timed
		}
		next.ServeHTTP(w, r)
	})
}

// timedBody lifts the read deadline once the whole body has been read; otherwise the
// deadline would cancel the request.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
