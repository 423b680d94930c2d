package source

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Git calls: values of the label operation.
const (
	operationBranches    = "branches"
	operationResolve     = "resolve"
	operationFile        = "file"
	operationFiles       = "files"
	operationDirectories = "directories"
	operationLog         = "log"
	operationCommit      = "commit"
	operationDiff        = "diff"
	operationMergeBase   = "merge_base"
	operationContent     = "content"
	// Operations with cached results:
	operationCount   = "count"
	operationAuthors = "authors"
	operationBlame   = "blame"
	operationChanges = "last_changes"
)

var operations = []string{
	operationBranches, operationResolve, operationFile, operationFiles, operationDirectories, operationLog,
	operationCommit, operationDiff, operationMergeBase, operationContent, operationCount, operationAuthors, operationBlame, operationChanges,
}

type metrics struct {
	seconds   *prometheus.HistogramVec // by operation
	running   *prometheus.GaugeVec     // by pool
	waiting   *prometheus.GaugeVec
	refusals  *prometheus.CounterVec
	indexed   prometheus.Counter
	cacheHits *prometheus.CounterVec // by operation
	cacheSize prometheus.GaugeFunc
}

func newMetrics(reg prometheus.Registerer, cacheBytes func() float64) *metrics {
	auto := promauto.With(reg)
	m := &metrics{
		seconds: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "quarry_source_git_seconds",
			Help:    "Duration of a git call, by operation, not including the wait for a slot.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 3, 12),
		}, []string{"operation"}),
		running: auto.NewGaugeVec(prometheus.GaugeOpts{
			Name: "quarry_source_running_calls",
			Help: "Running git calls, by pool: object reads, history walks.",
		}, []string{"pool"}),
		waiting: auto.NewGaugeVec(prometheus.GaugeOpts{
			Name: "quarry_source_waiting_calls",
			Help: "Git calls waiting for a slot, by pool.",
		}, []string{"pool"}),
		refusals: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_source_refused_calls_total",
			Help: "Git calls refused because too many were running and waiting, by pool.",
		}, []string{"pool"}),
		indexed: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_source_indexed_answers_total",
			Help: "Files and directories answered from the index, without git.",
		}),
		cacheHits: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_source_cache_requests_total",
			Help: "Lookups in the source cache, by operation and whether they hit.",
		}, []string{"operation", "hit"}),
		cacheSize: auto.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "quarry_source_cache_bytes",
			Help: "Bytes of cached blames, last changes, commit counts and author lists.",
		}, cacheBytes),
	}
	for _, operation := range operations {
		m.seconds.WithLabelValues(operation)
	}
	for _, operation := range []string{operationCount, operationAuthors, operationBlame, operationChanges} {
		m.cacheHits.WithLabelValues(operation, "yes")
		m.cacheHits.WithLabelValues(operation, "no")
	}
	return m
}

// poolMetrics are the metrics of one pool.
type poolMetrics struct {
	running, queued prometheus.Gauge
	refused         prometheus.Counter
}

func (m *metrics) newPoolMetrics(name string) poolMetrics {
	return poolMetrics{m.running.WithLabelValues(name), m.waiting.WithLabelValues(name), m.refusals.WithLabelValues(name)}
}

func (m *metrics) observeCall(operation string, start time.Time) {
	m.seconds.WithLabelValues(operation).Observe(time.Since(start).Seconds())
}

func (m *metrics) observeLookup(operation string, hit bool) {
	word := "no"
	if hit {
		word = "yes"
	}
	m.cacheHits.WithLabelValues(operation, word).Inc()
}
