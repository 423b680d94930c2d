package mirror

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

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
	m := &metrics{
		fetchSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "quarry_mirror_fetch_seconds",
			Help:    "Time of a fetch from a code host, by what was fetched: full or ref.",
			Buckets: prometheus.ExponentialBuckets(0.004, 2.5, 14),
		}, []string{"kind"}),
		fetchBytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "quarry_mirror_fetched_bytes_total",
			Help: "Bytes that fetches added to the object stores of the mirrors.",
		}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_mirror_fetch_failures_total",
			Help: "Fetches that failed, by reason.",
		}, []string{"reason"}),
		readBytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "quarry_mirror_read_bytes_total",
			Help: "Bytes of blobs read from the mirrors.",
		}),
		damagedBlobs: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "quarry_mirror_damaged_blobs_total",
			Help: "Blobs that were not indexed because their content does not match their name.",
		}),
		missing: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "quarry_mirror_missing_objects_total",
			Help: "Requests for files or history that failed because a mirror lacks an object or has a damaged one. The log names each object once.",
		}),
		readers: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "quarry_mirror_reader_processes",
			Help: "Processes that read objects, busy and idle.",
		}),
		resets: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "quarry_mirror_resets_total",
			Help: "Mirrors that were removed because files in them were missing or damaged; they are fetched again.",
		}),
		repackSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "quarry_mirror_repack_seconds",
			Help:    "Duration of a mirror repack. Fetches of that mirror wait for it.",
			Buckets: prometheus.ExponentialBuckets(0.016, 2.5, 12),
		}),
		repackFailures: prometheus.NewCounter(prometheus.CounterOpts{
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
	reg.MustRegister(m.fetchSeconds, m.fetchBytes, m.failures, m.readBytes, m.damagedBlobs, m.missing, m.readers, m.resets, m.repackSeconds, m.repackFailures)
	return m
}

func (m *metrics) observeFetch(kind string, start time.Time, err error) {
	if err != nil {
		m.failures.WithLabelValues(failureLabel(err)).Inc()
		return
	}
	m.fetchSeconds.WithLabelValues(kind).Observe(time.Since(start).Seconds())
}
