package assist

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/quarrysearch/quarry/query/reading"
)

type readingMetrics struct{ readings *prometheus.CounterVec }

func newReadingMetrics(reg prometheus.Registerer) *readingMetrics {
	auto := promauto.With(reg)
	m := &readingMetrics{auto.NewCounterVec(prometheus.CounterOpts{
		Name: "quarry_search_readings_total", Help: "Queries recognized as pasted text, by kind and whether that reading had matches.",
	}, []string{"kind", "result"})}
	for _, kind := range reading.Kinds {
		for _, result := range []string{readingAnswered, readingNothing} {
			m.readings.WithLabelValues(string(kind), result)
		}
	}
	return m
}

// Results of readings.
const (
	readingAnswered = "answered"
	readingNothing  = "nothing"
)

// countReading counts a query that was recognized as pasted text.
func (m *readingMetrics) countReading(kind reading.Kind, answered bool) {
	result := readingNothing
	if answered {
		result = readingAnswered
	}
	m.readings.WithLabelValues(string(kind), result).Inc()
}
