package mirror

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/quarrysearch/quarry/schemas/failure"
)

// Values of the label kind: what is fetched.
const (
	fetchFull = "full"
	fetchRef  = "ref"
)

type metrics struct {
	fetchSeconds *prometheus.HistogramVec // by kind: full, ref
	fetchBytes   prometheus.Counter
	failures     *prometheus.CounterVec // by reason
	readBytes    prometheus.Counter
	damagedBlobs prometheus.Counter
	missing      prometheus.Counter
	readers      prometheus.Gauge
	resets       prometheus.Counter

	repackSeconds  prometheus.Histogram
	repackFailures prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	auto := promauto.With(reg)
	m := &metrics{
		fetchSeconds: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "quarry_mirror_fetch_seconds",
			Help:    "Time of a fetch from a code host, by what was fetched: full or ref.",
			Buckets: prometheus.ExponentialBuckets(0.004, 2.5, 14),
		}, []string{"kind"}),
		fetchBytes: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_mirror_fetched_bytes_total",
			Help: "Bytes that fetches added to the object stores of the mirrors.",
		}),
		failures: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_mirror_fetch_failures_total",
			Help: "Fetches that failed, by reason.",
		}, []string{"reason"}),
		readBytes: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_mirror_read_bytes_total",
			Help: "Bytes of blobs read from the mirrors.",
		}),
		damagedBlobs: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_mirror_damaged_blobs_total",
			Help: "Blobs that were not indexed because their content does not match their name.",
		}),
		missing: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_mirror_missing_objects_total",
			Help: "Requests for files or history that failed because a mirror lacks an object or has a damaged one. The log names each object once.",
		}),
		readers: auto.NewGauge(prometheus.GaugeOpts{
			Name: "quarry_mirror_reader_processes",
			Help: "Processes that read objects, busy and idle.",
		}),
		resets: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_mirror_resets_total",
			Help: "Mirrors that were removed because files in them were missing or damaged; they are fetched again.",
		}),
		repackSeconds: auto.NewHistogram(prometheus.HistogramOpts{
			Name:    "quarry_mirror_repack_seconds",
			Help:    "Duration of a mirror repack. Fetches of that mirror wait for it.",
			Buckets: prometheus.ExponentialBuckets(0.016, 2.5, 12),
		}),
		repackFailures: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_mirror_repack_failures_total",
			Help: "Failed repacks of mirrors; the next fetch schedules another.",
		}),
	}
	for _, kind := range []string{fetchFull, fetchRef} {
		m.fetchSeconds.WithLabelValues(kind)
	}
	for _, d := range failure.Codes() {
		m.failures.WithLabelValues(string(d.Code))
	}
	return m
}

func (m *metrics) observeFetch(kind string, start time.Time, err error) {
	if err != nil {
		m.failures.WithLabelValues(failureLabel(err)).Inc()
		return
	}
	m.fetchSeconds.WithLabelValues(kind).Observe(time.Since(start).Seconds())
}
