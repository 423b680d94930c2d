package mcp

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are the metrics of the tools. A tool is a row of tools.go, so labels are
// bounded.
type metrics struct {
	seconds *prometheus.HistogramVec
	bytes   *prometheus.HistogramVec
	panics  prometheus.Counter
}

// Outcomes of calls, used as label values.
const (
	outcomeAnswered = "answered"
	outcomeFailed   = "failed"
)

func newMetrics(reg prometheus.Registerer) *metrics {
	auto := promauto.With(reg)
	m := &metrics{
		seconds: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "quarry_mcp_call_duration_seconds",
			Help:    "Duration of tool calls by AI agents, by tool and outcome.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"tool", "outcome"}),
		bytes: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "quarry_mcp_answer_bytes",
			Help:    "Size of tool results for AI agents, by tool. A token is about three bytes.",
			Buckets: []float64{256, 1024, 4096, 8192, 16384, 32768, 49152},
		}, []string{"tool"}),
		panics: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_mcp_panics_total",
			Help: "Tool calls that ended in a panic, which is a defect in Quarry.",
		}),
	}
	for _, t := range allTools() {
		for _, outcome := range []string{outcomeAnswered, outcomeFailed} {
			m.seconds.WithLabelValues(t.name, outcome)
		}
		m.bytes.WithLabelValues(t.name)
	}
	return m
}
