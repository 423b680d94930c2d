package rpc

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// The reasons why a session ends or is refused.
const (
	endClosed = "closed"
	endIdle   = "idle"

	refusedHandshake   = "handshake"
	refusedLimit       = "limit"
	refusedUnavailable = "unavailable"
)

// metrics describe the sessions of a Server.
type metrics struct {
	open           prometheus.Gauge
	ended, refused *prometheus.CounterVec
}

// NewMetrics registers the metrics of a Server.
func NewMetrics(r prometheus.Registerer) *metrics {
	f := promauto.With(r)
	m := &metrics{
		open: f.NewGauge(prometheus.GaugeOpts{Name: "quarry_rpc_sessions", Help: "Open sessions of fronts at this shard, each of which holds a view."}),
		ended: f.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_rpc_sessions_ended_total", Help: "Sessions of fronts that have ended, by reason: closed, or idle if the front hung and the shard gave the session up.",
		}, []string{"reason"}),
		refused: f.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_rpc_sessions_refused_total", Help: "Requests of fronts that were refused, by reason: handshake (secret, version or clock), limit of open sessions, or unavailable.",
		}, []string{"reason"}),
	}
	for _, reason := range []string{endClosed, endIdle} {
		m.ended.WithLabelValues(reason)
	}
	for _, reason := range []string{refusedHandshake, refusedLimit, refusedUnavailable} {
		m.refused.WithLabelValues(reason)
	}
	return m
}
