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

// These are the bounds of a connection, with bodyTimeout. The handler bounds the time of
// a request.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	// maxHeaderBytes is above every limit on a parameter, and above a megabyte for a
	// header that someone mistakes for a credential, so that the code that knows the
	// right length can answer and record an oversized one. Headers are held for at most
	// readHeaderTimeout, like an unrequested body; maxHeads bounds all of them together.
	maxHeaderBytes = 1<<20 + 64<<10
	// drainRequests bounds how long requests in flight may continue once the server
	// stops. It is below DefaultDrain, so that the other actors have time as well.
	drainRequests = 10 * time.Second
	// cutOffMargin is the part of drainRequests in which requests can still answer after
	// their context has ended.
	cutOffMargin = time.Second
)

// HTTP serves a handler on a listener.
type HTTP struct {
	listener net.Listener
	server   *http.Server
	heads    *headerBudget
}

// NewHTTP returns an actor that serves handler on listener. It takes ownership of both.
// The contexts of requests end shortly before their connections are closed.
func NewHTTP(listener net.Listener, handler http.Handler, log *slog.Logger) *HTTP {
	h := &HTTP{heads: &headerBudget{maxBytes: maxHeads}, server: &http.Server{
		Handler:           limitBodyTime(handler),
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}
	h.listener = headListener{listener, h.heads}
	h.heads.instrumentServer(h.server)
	return h
}

// OnShutdown registers a function that is called when the server begins to stop. It is
// for parts that keep responses open and can end them. It must be called before Run.
func (h *HTTP) OnShutdown(stop func()) { h.server.RegisterOnShutdown(stop) }

// Run serves until ctx ends. It then accepts no new connections, lets requests in flight
// finish within a bound, and closes the remaining connections.
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
	// OnShutdown ends the streams. Whatever else does not end is canceled.
	defer time.AfterFunc(drainRequests-cutOffMargin, cutOff).Stop()
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainRequests)
	defer cancel()
	err := h.server.Shutdown(bounded)
	if err != nil {
		err = errors.Join(fmt.Errorf("drain %s: %w", h.listener.Addr(), err), h.server.Close())
	}
	<-served
	return err
}
