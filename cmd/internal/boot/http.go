package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Bounds of a connection. A request's own time is bounded by its handler.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	// maxHeaderBytes is above every limit on a parameter, and above a megabyte for
	// a header that is mistaken for a credential, so that the code that knows the
	// right length can answer and record an oversized one. Headers are held for
	// readHeaderTimeout at most, like an unrequested body; all of them together are
	// bounded by maxHeads.
	maxHeaderBytes = 1<<20 + 64<<10
	// drainRequests is how long requests in flight may go on once the server
	// stops; it is below DefaultDrain, so that the rest has time as well.
	drainRequests = 10 * time.Second
)

// HTTP serves a handler on a listener.
type HTTP struct {
	listener net.Listener
	server   *http.Server
	heads    *headerBudget
}

// NewHTTP returns the actor that serves handler on listener and owns both from
// now on. Streams that last learn of the stop through the context of their
// request.
func NewHTTP(listener net.Listener, handler http.Handler, log *slog.Logger) *HTTP {
	h := &HTTP{heads: &headerBudget{maxBytes: maxHeads}, server: &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}
	h.listener = h.heads.wrapListener(listener)
	h.heads.instrumentServer(h.server)
	return h
}

// OnShutdown has stop called when the server begins to stop, for what keeps responses
// open and can end them at once. It is called before Run.
func (h *HTTP) OnShutdown(stop func()) { h.server.RegisterOnShutdown(stop) }

// Run serves until ctx ends, then takes no new connections, lets requests in
// flight finish within a bound and cuts off what is left.
func (h *HTTP) Run(ctx context.Context) error {
	requests, cutOff := context.WithCancel(context.WithoutCancel(ctx))
	defer cutOff()
	h.server.BaseContext = func(net.Listener) context.Context { return requests }
	served := make(chan error, 1)
	go func() { served <- h.server.Serve(h.listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", h.listener.Addr(), err)
	case <-ctx.Done():
	}
	// Streams (events tail) never end by themselves: they get a moment, then the
	// end of their context.
	defer time.AfterFunc(drainRequests/2, cutOff).Stop()
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainRequests)
	defer cancel()
	err := h.server.Shutdown(bounded)
	if err != nil {
		err = errors.Join(fmt.Errorf("drain %s: %w", h.listener.Addr(), err), h.server.Close())
	}
	<-served
	return err
}
