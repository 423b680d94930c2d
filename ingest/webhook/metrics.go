package webhook

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// unknownLabel is the label for paths that name no connection.
const unknownLabel = "unknown"

// metrics are the metrics of the receiver. Connections are configured, at most
// MaxConnections, so their names are a bounded label.
type metrics struct {
	deliveries    *prometheus.CounterVec
	seconds       *prometheus.HistogramVec
	appendSeconds prometheus.Histogram
	events        prometheus.Counter
	dropped       *prometheus.CounterVec
	inFlightBytes prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	auto := promauto.With(reg)
	m := &metrics{
		deliveries: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_webhook_deliveries_total",
			Help: "Webhook deliveries by kind of host, connection and result.",
		}, []string{"kind", "connection", "result"}),
		seconds: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "quarry_webhook_delivery_duration_seconds",
			Help:    "Time from the first byte of a delivery to its response, by kind of host.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}, []string{"kind"}),
		appendSeconds: auto.NewHistogram(prometheus.HistogramOpts{
			Name:    "quarry_webhook_append_duration_seconds",
			Help:    "Time the log took to acknowledge the events of a delivery.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 15),
		}),
		events: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_webhook_events_total",
			Help: "Events appended to the log for webhook deliveries.",
		}),
		dropped: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_webhook_dropped_events_total",
			Help: "Deliveries without a push whose event was not appended to the log, by reason: too many refusals (rate), a full queue (queue), or a failed append (append).",
		}, []string{"reason"}),
		inFlightBytes: auto.NewGauge(prometheus.GaugeOpts{
			Name: "quarry_webhook_inflight_bytes",
			Help: "Bytes reserved for the bodies of deliveries in progress.",
		}),
	}
	for _, reason := range []string{droppedRate, droppedQueue, droppedAppend} {
		m.dropped.WithLabelValues(reason)
	}
	return m
}

// createSeries creates the series of connections before their first delivery, because
// increase() misses the first value of a new series.
func (m *metrics) createSeries(connections map[string]*connection) {
	for _, c := range connections {
		for _, result := range connectionResults() {
			m.deliveries.WithLabelValues(string(c.Kind), c.Name, result)
		}
		m.seconds.WithLabelValues(string(c.Kind))
	}
	m.deliveries.WithLabelValues(unknownLabel, unknownLabel, failureOf(errUnknownConnection).result)
	m.seconds.WithLabelValues(unknownLabel)
}

// dropSeries drops the series of removed connections.
func (m *metrics) dropSeries(former, next map[string]*connection) {
	for name, c := range former {
		if n := next[name]; n == nil || n.Kind != c.Kind {
			m.deliveries.DeletePartialMatch(prometheus.Labels{"kind": string(c.Kind), "connection": name})
		}
	}
}

func (m *metrics) observeDelivery(c *connection, result string, took time.Duration) {
	kind, name := unknownLabel, unknownLabel
	if c != nil {
		kind, name = string(c.Kind), c.Name
	}
	m.deliveries.WithLabelValues(kind, name, result).Inc()
	m.seconds.WithLabelValues(kind).Observe(took.Seconds())
}
