package pictures

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct{ loads *prometheus.CounterVec } // by result

func newMetrics(reg prometheus.Registerer) *metrics {
	auto := promauto.With(reg)
	m := &metrics{loads: auto.NewCounterVec(prometheus.CounterOpts{
		Name: "quarry_pictures_loads_total",
		Help: "Repository images requested from code hosts, by result: ok or failed.",
	}, []string{"result"})}
	for _, result := range []string{"ok", "failed"} {
		m.loads.WithLabelValues(result)
	}
	return m
}
