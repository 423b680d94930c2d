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

	// The kinds of git reads, as those of query/source.
	poolReads = "reads"
	poolWalks = "walks"
)

// metrics describe the sessions of a Server.
type metrics struct {
	open           prometheus.Gauge
	ended, refused *prometheus.CounterVec
	gitRunning     *prometheus.GaugeVec
	gitBusy        *prometheus.CounterVec
}

// NewMetrics registers the metrics of a Server.
func NewMetrics(r prometheus.Registerer) *metrics {
	f := promauto.With(r)
	m := &metrics{
		open: f.NewGauge(prometheus.GaugeOpts{Name: "quarry_rpc_sessions", Help: "Open sessions of peers: those of fronts at this shard, each of which holds a view, or git reads of query nodes at this process."}),
		ended: f.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_rpc_sessions_ended_total", Help: "Sessions of peers that have ended, by reason: closed, or idle if the peer hung and this process gave the session up.",
		}, []string{"reason"}),
		refused: f.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_rpc_sessions_refused_total", Help: "Requests of peers that were refused, by reason: handshake (secret, version or clock), limit of open sessions, or unavailable.",
		}, []string{"reason"}),
		gitRunning: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "quarry_rpc_git_running_calls", Help: "Git reads for other processes that run, by pool: object reads, history walks.",
		}, []string{"pool"}),
		gitBusy: f.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_rpc_git_refused_calls_total", Help: "Git reads for other processes that were refused because too many were running, by pool.",
		}, []string{"pool"}),
	}
	for _, reason := range []string{endClosed, endIdle} {
		m.ended.WithLabelValues(reason)
	}
	for _, reason := range []string{refusedHandshake, refusedLimit, refusedUnavailable} {
		m.refused.WithLabelValues(reason)
	}
	for _, pool := range []string{poolReads, poolWalks} {
		m.gitRunning.WithLabelValues(pool)
		m.gitBusy.WithLabelValues(pool)
	}
	return m
}
