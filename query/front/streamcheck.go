package front

import (
	"context"
	"net/http"
)

// watchedWriter lets nothing more out of a stream once its request would not be let
// in any more: a stream of an owner may last for days, and a key that is deleted
// ends at once. The check is made for each write, which costs what the admission of
// a request does, about a microsecond: a stream that says nothing has no need of it.
type watchedWriter struct {
	http.ResponseWriter
	admitted func() error
	end      context.CancelFunc
	refused  error // stays
}

// watchStream returns w and r as a stream has to use them. The caller calls stop at its
// end.
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

// cutOff breaks the connection off if something was kept back: what was sent is no
// whole answer, and looks like one otherwise.
func (w *watchedWriter) cutOff() {
	if w.refused != nil {
		panic(http.ErrAbortHandler)
	}
}

// Unwrap serves http.ResponseController.
func (w *watchedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
