package traces

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// The reasons why spans are dropped.
const (
	droppedQueueFull = "queue_full"
	droppedFailed    = "failed"
	droppedRejected  = "rejected"
)

// Metrics are the metrics of an Exporter.
type Metrics struct {
	exported, failures prometheus.Counter
	dropped            *prometheus.CounterVec
}

// NewMetrics registers the metrics, also for a process that traces nothing.
func NewMetrics(r prometheus.Registerer) *Metrics {
	f := promauto.With(r)
	m := &Metrics{
		exported: f.NewCounter(prometheus.CounterOpts{
			Name: "quarry_traces_exported_spans_total", Help: "Spans that the collector has accepted.",
		}),
		failures: f.NewCounter(prometheus.CounterOpts{
			Name: "quarry_traces_export_failures_total", Help: "Failed requests to the collector, each of which may be repeated.",
		}),
		dropped: f.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_traces_dropped_spans_total",
			Help: "Spans that were not exported, by reason: queue_full, failed (the collector did not accept them in time), rejected (the collector refused them).",
		}, []string{"reason"}),
	}
	for _, reason := range []string{droppedQueueFull, droppedFailed, droppedRejected} {
		m.dropped.WithLabelValues(reason)
	}
	return m
}
