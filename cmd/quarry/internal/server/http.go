package server

import (
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/diskspace"
)

// listeners are bound before anything slow is opened, so that a port in use is reported
// immediately.
type listeners struct {
	main    net.Listener
	metrics net.Listener // nil if metrics are served on main
}

func bindListeners(main, metrics string) (*listeners, error) {
	l, err := net.Listen("tcp", main)
	if err != nil {
		return nil, fmt.Errorf("%w; choose another address with --listen", err)
	}
	out := &listeners{main: l}
	if metrics == "" {
		return out, nil
	}
	if out.metrics, err = net.Listen("tcp", metrics); err != nil {
		_ = l.Close() // it has served nothing
		return nil, fmt.Errorf("%w; choose another address with --metrics-listen", err)
	}
	return out, nil
}

// Close closes the listeners that Run does not own yet. It is safe to call Close twice.
func (l *listeners) Close() error {
	if l.metrics != nil {
		_ = l.metrics.Close()
	}
	_ = l.main.Close()
	return nil
}

// newHandlers returns the handlers of the main listener and of the metrics listener.
// metrics is nil if there is no such listener.
func (s *Server) newHandlers() (main, metrics http.Handler, err error) {
	events, err := s.newEventsHandler()
	if err != nil {
		return nil, nil, err
	}
	mux, own := http.NewServeMux(), (*http.ServeMux)(nil)
	inspection := mux
	if s.listeners.metrics != nil {
		own = http.NewServeMux()
		inspection = own
		metrics = own
	}
	inspection.Handle("GET /metrics", boot.MetricsHandler(s.o.Gatherer, s.o.Logger))
	if s.o.Config.Runtime.Pprof {
		inspection.HandleFunc("/debug/pprof/", pprof.Index)
		inspection.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		inspection.HandleFunc("/debug/pprof/profile", pprof.Profile)
		inspection.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		inspection.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	mux.Handle("GET /admin/events", events)
	if s.receiver != nil {
		mux.Handle("/webhooks/", s.receiver)
	}
	if s.api != nil {
		s.mountPages(mux)
	} else {
		mux.HandleFunc("GET /healthz", serveAlive)
		mux.HandleFunc("GET /readyz", serveAlive)
	}
	return s.withClientAddresses(mux), metrics, nil
}

// serveAlive answers health checks in a process without the query role. Such a process is
// ready once everything is open.
func serveAlive(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"status":"ok"}` + "\n")) // a client that has disconnected needs no response
}

// checkWritable implements api.Options.Writable.
func (s *Server) checkWritable() error {
	return s.disks.CheckSpace(diskspace.DirectoryData, diskspace.DirectoryLog)
}

// checkRemovable implements api.Options.Removable. Removals free space, so they are
// accepted until half of storage.minFreeBytes is left, the same bound as in the log.
func (s *Server) checkRemovable() error {
	return s.disks.CheckHalfSpace(diskspace.DirectoryData, diskspace.DirectoryLog)
}
