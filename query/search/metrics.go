package search

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/quarrysearch/quarry/query/internal/memory"
	"github.com/quarrysearch/quarry/query/search/internal/admission"
	"github.com/quarrysearch/quarry/schemas/tracing"
)

type metrics struct {
	seconds    prometheus.Histogram
	wait       prometheus.Histogram
	incomplete *prometheus.CounterVec
	content    prometheus.Counter
	scanned    prometheus.Counter
	index      prometheus.Counter
	files      prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, c *admission.Controller, pool *memory.Pool) *metrics {
	auto := promauto.With(reg)
	m := &metrics{
		seconds: auto.NewHistogram(prometheus.HistogramOpts{
			Name:    "quarry_search_duration_seconds",
			Help:    "Time of a search, from its arrival to its answer. A request may take several: for readings of its query, and for advice.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16),
		}),
		wait: auto.NewHistogram(prometheus.HistogramOpts{
			Name: "quarry_search_wait_seconds", Help: "Time that searches waited for a free slot.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10),
		}),
		incomplete: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_search_incomplete_total", Help: "Searches that did not read all candidates, by reason.",
		}, []string{"reason"}),
		content: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_search_content_bytes_total", Help: "Bytes of text decompressed for searches.",
		}),
		scanned: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_search_scanned_bytes_total", Help: "Bytes of text that searches read, decompressed or from the cache.",
		}),
		index: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_search_index_bytes_total", Help: "Bytes of posting lists read for searches.",
		}),
		files: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_search_files_loaded_total", Help: "Documents whose text searches read.",
		}),
	}
	for _, reason := range StopReasons {
		m.incomplete.WithLabelValues(string(reason))
	}
	auto.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "quarry_search_memory_bytes", Help: "Bytes of matches and files held by running searches, beyond the first MiB of each.",
	}, func() float64 { return float64(pool.UsedBytes()) })
	registerAdmission(auto, c)
	return m
}

// registerAdmission registers the metrics that the controller counts.
func registerAdmission(auto promauto.Factory, c *admission.Controller) {
	gauge := func(name, class, help string, value func(admission.Counts) int) {
		o := prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: prometheus.Labels{"class": class}}
		auto.NewGaugeFunc(o, func() float64 { return float64(value(c.Counts())) })
	}
	counter := func(name, help string, value func(admission.Counts) float64) {
		auto.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return value(c.Counts()) })
	}
	const (
		running, runningHelp = "quarry_search_running", "Running searches, by class: interactive, or heavy (which take turns)."
		waiting, waitingHelp = "quarry_search_waiting", "Searches that are waiting for a slot or, in the heavy class, for their turn."
	)
	gauge(running, "interactive", runningHelp, func(n admission.Counts) int { return n.Interactive })
	gauge(running, "heavy", runningHelp, func(n admission.Counts) int { return n.Heavy })
	gauge(waiting, "interactive", waitingHelp, func(n admission.Counts) int { return n.Waiting })
	gauge(waiting, "heavy", waitingHelp, func(n admission.Counts) int { return n.HeavyWaiting })
	counter("quarry_search_demotions_total", "Searches that were moved to the heavy class.", func(n admission.Counts) float64 { return float64(n.Demotions) })
	counter("quarry_search_refusals_total", "Searches refused because the queue was full.", func(n admission.Counts) float64 { return float64(n.Refusals) })
	counter("quarry_search_yielded_seconds_total", "Time that workers of heavy searches waited for a processor.", func(n admission.Counts) float64 { return n.Yielded.Seconds() })
}

// observeResult counts a search, whose trace is an example of its time unless the ID is empty.
func (m *metrics) observeResult(r *Result, traceID string) {
	tracing.Observe(m.seconds, r.Stats.Duration.Seconds(), traceID)
	m.wait.Observe(r.Stats.Wait.Seconds())
	if r.Stopped != StopNone {
		m.incomplete.WithLabelValues(string(r.Stopped)).Inc()
	}
	m.content.Add(float64(r.Stats.ContentBytes))
	m.scanned.Add(float64(r.Stats.ScannedBytes))
	m.index.Add(float64(r.Stats.IndexBytes))
	m.files.Add(float64(r.Stats.FilesLoaded))
}
