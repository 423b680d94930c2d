package server

import (
	"fmt"
	"net/http"
	"net/http/pprof"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/query/front"
)

// Metrics, profiles and the details of readiness are for operators only: counters of
// searches reveal whether a hidden repository contains a word, and profiles reveal memory
// and cost processor time. They are on a separate listener, by default on loopback.

// newOperatorsHandler returns the handler of the operators' listener.
func (s *Server) newOperatorsHandler() (http.Handler, error) {
	mux := http.NewServeMux()
	if err := s.mountMetrics(mux); err != nil {
		return nil, err
	}
	readiness := http.HandlerFunc(s.serveReady)
	if s.api != nil {
		readiness = s.api.ServeReadiness
	}
	guarded, err := s.guardOperators(readiness)
	if err != nil {
		return nil, err
	}
	mux.Handle("GET /readyz", s.drainer.countProbes(s.checkReady, guarded))
	return mux, nil
}

// mountMetrics serves the metrics and, with runtime.pprof, profiles.
func (s *Server) mountMetrics(mux *http.ServeMux) error {
	inner := http.NewServeMux()
	inner.Handle("GET /metrics", boot.MetricsHandler(s.o.Gatherer, s.traces != nil, s.o.Logger))
	if s.o.Config.Runtime.Pprof {
		inner.HandleFunc("/debug/pprof/", pprof.Index)
		inner.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		inner.HandleFunc("/debug/pprof/profile", pprof.Profile)
		inner.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		inner.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	guarded, err := s.guardOperators(inner)
	if err != nil {
		return err
	}
	mux.Handle("GET /metrics", guarded)
	if s.o.Config.Runtime.Pprof {
		mux.Handle("/debug/pprof/", guarded)
	}
	return nil
}

// guardOperators refuses requests for unknown hosts and, with metricsToken, those without
// the token.
func (s *Server) guardOperators(next http.Handler) (http.Handler, error) {
	c := s.o.Config
	if !c.MetricsToken.IsZero() {
		token, err := c.MetricsToken.Value()
		if err != nil {
			return nil, fmt.Errorf("metricsToken: %w", err)
		}
		next = front.TokenOnly(token, "send the token of metricsToken as Authorization: Bearer TOKEN", next)
	}
	return front.HostsOnly(c.MetricsHosts(), next), nil
}

// MetricsURL returns the address of GET /metrics, or an empty string if nothing serves it.
func (s *Server) MetricsURL() string {
	switch {
	case s.listeners.metrics != nil:
		return "http://" + s.listeners.metrics.Addr().String()
	case s.o.Config.MetricsListen == config.MetricsMain:
		return s.URL()
	}
	return ""
}
