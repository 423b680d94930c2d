package corpus

import "github.com/prometheus/client_golang/prometheus"

type screenMetrics struct{ misses prometheus.Counter }

func newScreenMetrics(reg prometheus.Registerer, s *Screen) *screenMetrics {
	m := &screenMetrics{prometheus.NewCounter(prometheus.CounterOpts{
		Name: "quarry_search_screen_misses_total", Help: "Times the visible part of the index had to be computed for a caller.",
	})}
	if reg != nil {
		reg.MustRegister(m.misses, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "quarry_search_screen_bytes", Help: "Bytes of cached visibility of the index.",
		}, func() float64 { return float64(s.cachedBytes()) }))
	}
	return m
}
