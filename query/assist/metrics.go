package assist

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/query/reading"
)

type readingMetrics struct{ readings *prometheus.CounterVec }

func newReadingMetrics(reg prometheus.Registerer) *readingMetrics {
	m := &readingMetrics{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "quarry_search_readings_total", Help: "Queries recognized as pasted text, by kind and whether that reading had matches.",
	}, []string{"kind", "result"})}
	for _, kind := range reading.Kinds {
		for _, result := range []string{readingAnswered, readingNothing} {
			m.readings.WithLabelValues(string(kind), result)
		}
	}
	if reg != nil {
		reg.MustRegister(m.readings)
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
