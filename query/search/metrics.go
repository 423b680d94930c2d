package search

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	seconds    prometheus.Histogram
	wait       prometheus.Histogram
	incomplete *prometheus.CounterVec
	content    prometheus.Counter
	index      prometheus.Counter
	files      prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "quarry_search_duration_seconds", Help: "Time of a search, from its arrival to its answer.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16),
		}),
		wait: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "quarry_search_wait_seconds", Help: "Time a search waited for a free place.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10),
		}),
		incomplete: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_search_incomplete_total", Help: "Searches that did not look at everything, by reason.",
		}, []string{"reason"}),
		content: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "quarry_search_content_bytes_total", Help: "Text decompressed for searches.",
		}),
		index: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "quarry_search_index_bytes_total", Help: "Posting lists read for searches.",
		}),
		files: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "quarry_search_files_loaded_total", Help: "Documents whose text searches looked at.",
		}),
	}
	if reg != nil {
		reg.MustRegister(m.seconds, m.wait, m.incomplete, m.content, m.index, m.files)
	}
	return m
}

func (m *metrics) observe(r *Result) {
	m.seconds.Observe(r.Stats.Duration.Seconds())
	m.wait.Observe(r.Stats.Wait.Seconds())
	if r.Stopped != StopNone {
		m.incomplete.WithLabelValues(string(r.Stopped)).Inc()
	}
	m.content.Add(float64(r.Stats.ContentBytes))
	m.index.Add(float64(r.Stats.IndexBytes))
	m.files.Add(float64(r.Stats.FilesLoaded))
}
