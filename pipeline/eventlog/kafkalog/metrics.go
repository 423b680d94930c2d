package kafkalog

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Retried requests, as values of the label operation.
const (
	operationProduce = "produce"
	operationFetch   = "fetch"
	operationRequest = "request"
	operationGroup   = "group"
)

// Reasons for a new producer epoch, as values of the label reason.
const (
	restartGivenUp    = "given up"
	restartOutOfOrder = "out of order"
	restartForgotten  = "forgotten"
	restartUsedUp     = "sequences used up"
)

// Metrics are those of a Log.
type Metrics struct {
	appendedRecords prometheus.Counter
	appendedBytes   prometheus.Counter
	readRecords     prometheus.Counter
	retries         *prometheus.CounterVec
	produceSeconds  prometheus.Histogram
	generations     prometheus.Counter
	// producerRestarts counts new producer epochs by reason.
	producerRestarts *prometheus.CounterVec
}

// NewMetrics returns the metrics of a Log, registered with reg unless reg is nil.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f := promauto.With(reg)
	m := &Metrics{
		appendedRecords: f.NewCounter(prometheus.CounterOpts{
			Name: "quarry_kafkalog_appended_records_total",
			Help: "Records that the brokers acknowledged.",
		}),
		appendedBytes: f.NewCounter(prometheus.CounterOpts{
			Name: "quarry_kafkalog_appended_bytes_total",
			Help: "Bytes of keys, values and headers of the records that the brokers acknowledged.",
		}),
		readRecords: f.NewCounter(prometheus.CounterOpts{
			Name: "quarry_kafkalog_read_records_total",
			Help: "Records fetched, by all readers.",
		}),
		retries: f.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_kafkalog_retries_total",
			Help: "Failed requests that were retried, by operation: produce, fetch, request or group.",
		}, []string{"operation"}),
		producerRestarts: f.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_kafkalog_producer_restarts_total",
			Help: "New epochs or numbers of a partition's idempotent producer, by reason: given up, out of order, forgotten or sequences used up. A record whose append was given up may be in the log twice.",
		}, []string{"reason"}),
		produceSeconds: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "quarry_kafkalog_produce_seconds",
			Help:    "Time until the brokers acknowledged a produce request, including failed attempts.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 12),
		}),
		generations: f.NewCounter(prometheus.CounterOpts{
			Name: "quarry_kafkalog_generations_total",
			Help: "Generations of consumer groups that members of this process joined.",
		}),
	}
	for _, operation := range []string{operationProduce, operationFetch, operationRequest, operationGroup} {
		m.retries.WithLabelValues(operation)
	}
	for _, reason := range []string{restartGivenUp, restartOutOfOrder, restartForgotten, restartUsedUp} {
		m.producerRestarts.WithLabelValues(reason)
	}
	return m
}
