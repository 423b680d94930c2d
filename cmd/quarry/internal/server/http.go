package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/projections/diskspace"
	"github.com/quarrysearch/quarry/query/publicurl"
)

// listeners are bound before anything slow is opened, so that a port in use is reported
// immediately.
type listeners struct {
	main net.Listener
	// metrics is the operators' listener, or nil if there is none.
	metrics net.Listener
	// connections counts the connections of main.
	connections *boot.Connections
}

// maxOperatorConnections bounds the open connections to the operators' listener.
const maxOperatorConnections = 256

// limitConnections applies the limits of the settings to the listeners.
func (l *listeners) limitConnections(c *config.Config, reg prometheus.Registerer) {
	l.connections = boot.NewConnections(boot.ConnectionLimits{All: c.Limits.Connections, EachAddress: c.Limits.ConnectionsPerAddress,
		Exempt: c.Proxies()}, reg)
	l.main = l.connections.WrapListener(l.main)
	if l.metrics != nil {
		uncounted := prometheus.NewRegistry() // the metrics are those of main
		l.metrics = boot.NewConnections(boot.ConnectionLimits{All: maxOperatorConnections}, uncounted).WrapListener(l.metrics)
	}
}

// bindListeners binds the addresses of the settings. An address of the operators'
// listener that the operator has not chosen may be in use, for example by a second server
// on the machine: then the server works without that listener.
func bindListeners(c *config.Config, logger *slog.Logger) (*listeners, error) {
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("%w; choose another address with --listen", err)
	}
	out := &listeners{main: l}
	address, derived := c.MetricsAddress(l.Addr().(*net.TCPAddr).Port)
	if address == "" {
		return out, nil
	}
	out.metrics, err = net.Listen("tcp", address)
	switch {
	case err == nil:
	case derived:
		out.metrics = nil // not a typed nil
		logger.Warn("metrics are not served: their address cannot be used; choose another one with metricsListen, or set it to none",
			"address", address, "error", err)
	default:
		_ = l.Close() // it has served nothing
		return nil, fmt.Errorf("%w; choose another address with metricsListen (--metrics-listen)", err)
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

// newHandlers returns the handlers of the main listener and of the operators' listener.
// operators is nil if there is no such listener.
func (s *Server) newHandlers() (main, operators http.Handler, err error) {
	events, err := s.newEventsHandler()
	if err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	if s.o.Config.MetricsListen == config.MetricsMain {
		if err := s.mountMetrics(mux); err != nil {
			return nil, nil, err
		}
	}
	if s.listeners.metrics != nil {
		if operators, err = s.newOperatorsHandler(); err != nil {
			return nil, nil, err
		}
	}
	mux.Handle("GET /admin/events", events)
	if s.receiver != nil {
		mux.Handle("/webhooks/", s.receiver)
	}
	switch {
	case s.o.Config.Shard.Share != "":
		mux.Handle("/", s.api) // pages are those of a front
	case s.api != nil:
		s.mountPages(mux)
	default:
		mux.HandleFunc("GET /healthz", serveAlive)
		mux.HandleFunc("GET /readyz", s.serveReady)
	}
	public, err := publicurl.Parse(s.publicURL())
	if err != nil {
		return nil, nil, err
	}
	return public.Handler(s.drainer.closeConnections(s.drainer.countProbes(s.checkReady, s.withClientAddresses(mux)))), operators, nil
}

// serveAlive answers health checks in a process without the query role. Such a process is
// ready once everything is open.
func serveAlive(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"status":"ok"}` + "\n")) // a client that has disconnected needs no response
}

// serveReady answers readiness checks in a process without the query role.
func (s *Server) serveReady(w http.ResponseWriter, r *http.Request) {
	err := s.checkReady(r.Context())
	if err == nil {
		serveAlive(w, r)
		return
	}
	reason := "the directory of the segment store is empty or another store"
	if errors.Is(err, errStopping) {
		reason = errStopping.Error()
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write([]byte(`{"status":"not_ready","reason":"` + reason + `"}` + "\n")) // as in serveAlive
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
