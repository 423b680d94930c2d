package precise

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Values of the label result of uploads.
const (
	resultAccepted = "accepted"
	resultRefused  = "refused"
	resultFailed   = "failed"
)

type metrics struct {
	uploads  *prometheus.CounterVec // by result
	lookups  *prometheus.CounterVec // by result
	failures prometheus.Counter
}

// Values of the label result of lookups.
const (
	lookupExact   = "exact"
	lookupCarried = "carried"
	lookupNone    = "none"
)

func newMetrics(reg prometheus.Registerer, s *Store) *metrics {
	auto := promauto.With(reg)
	m := &metrics{
		uploads: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_precise_uploads_total", Help: "Uploads of precise indexes, by result: accepted, refused (invalid content), or failed (no space left, or the store was not available).",
		}, []string{"result"}),
		lookups: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_precise_lookups_total", Help: "Files looked up in precise indexes, by result: exact for the file of the upload, carried for a later version of it, none.",
		}, []string{"result"}),
		failures: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_precise_read_failures_total", Help: "Precise indexes that could not be read: missing or damaged. Upload them again.",
		}),
	}
	for _, result := range []string{resultAccepted, resultRefused, resultFailed} {
		m.uploads.WithLabelValues(result)
	}
	for _, result := range []string{lookupExact, lookupCarried, lookupNone} {
		m.lookups.WithLabelValues(result)
	}
	auto.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "quarry_precise_bytes", Help: "Bytes of the precise indexes of all repositories, in the segment store.",
	}, func() float64 { return float64(s.totalBytes()) })
	return m
}
