package corpus

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type screenMetrics struct{ misses prometheus.Counter }

func newScreenMetrics(reg prometheus.Registerer, s *Screen) *screenMetrics {
	auto := promauto.With(reg)
	m := &screenMetrics{auto.NewCounter(prometheus.CounterOpts{
		Name: "quarry_search_screen_misses_total", Help: "Times the visible part of the index had to be computed for a caller.",
	})}
	auto.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "quarry_search_screen_bytes", Help: "Bytes of cached visibility of the index.",
	}, func() float64 { return float64(s.cachedBytes()) })
	return m
}
