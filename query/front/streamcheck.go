package front

import (
	"context"
	"net/http"
)

// watchedWriter stops a stream once its request would no longer be authorized: an owner's
// stream may last for days, but must end as soon as its key is deleted. It checks at each
// write, which costs about a microsecond, as the admission of a request does. An idle
// stream needs no check.
type watchedWriter struct {
	http.ResponseWriter
	admitted func() error
	end      context.CancelFunc
	refused  error // sticky
}

// watchStream returns w and r for use by a stream. The caller must call stop when the
// stream ends.
func (f *Front) watchStream(rt *Route, w http.ResponseWriter, r *http.Request) (_ *watchedWriter, _ *http.Request, stop func()) {
	ctx, cancel := context.WithCancel(r.Context())
	watched := &watchedWriter{ResponseWriter: w, end: cancel, admitted: func() error {
		p, err := f.o.Authenticator.Authenticate(r)
		if err == nil {
			err = rt.checkAccess(p)
		}
		return err
	}}
	return watched, r.WithContext(ctx), cancel
}

// Write implements io.Writer.
func (w *watchedWriter) Write(b []byte) (int, error) {
	if w.refused == nil {
		w.refused = w.admitted()
	}
	if w.refused != nil {
		w.end()
		return 0, w.refused
	}
	return w.ResponseWriter.Write(b)
}

// cutOff aborts the connection if data was withheld: the response is incomplete, and
// would look complete otherwise.
func (w *watchedWriter) cutOff() {
	if w.refused != nil {
		panic(http.ErrAbortHandler)
	}
}

// Unwrap returns the underlying writer for http.ResponseController.
func (w *watchedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
