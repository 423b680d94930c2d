package segmentstore

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// BucketMetrics are the metrics of a segment store in a bucket.
type BucketMetrics struct {
	requests *prometheus.HistogramVec // by operation
	errors   *prometheus.CounterVec   // by operation and reason
	bytes    *prometheus.CounterVec   // by direction
}

// NewBucketMetrics registers the metrics, which stay at zero without a bucket. A nil
// Registerer registers none.
func NewBucketMetrics(r prometheus.Registerer) *BucketMetrics {
	f := promauto.With(r)
	m := &BucketMetrics{
		requests: f.NewHistogramVec(prometheus.HistogramOpts{
			Name: "quarry_bucket_request_duration_seconds", Help: "Duration of the operations on a segment store in object storage, with retries, by operation.",
			Buckets: prometheus.ExponentialBuckets(0.005, 4, 8),
		}, []string{"operation"}),
		errors: f.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_bucket_errors_total", Help: "Failed operations on a segment store in object storage, by operation and reason: denied, missing bucket, clock, region, slow, damaged or unavailable.",
		}, []string{"operation", "reason"}),
		bytes: f.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_bucket_bytes_total", Help: "Bytes exchanged with object storage, by direction: upload or download.",
		}, []string{"direction"}),
	}
	for _, direction := range []string{"upload", "download"} {
		m.bytes.WithLabelValues(direction)
	}
	for _, operation := range []string{"put", "fetch", "get", "delete", "list", "check", "quarantine"} {
		m.requests.WithLabelValues(operation)
		m.errors.WithLabelValues(operation, reasonUnavailable)
	}
	return m
}

func (m *BucketMetrics) countError(operation string, err error) {
	if reason := errorReason(err); reason != "" {
		m.errors.WithLabelValues(operation, reason).Inc()
	}
}
