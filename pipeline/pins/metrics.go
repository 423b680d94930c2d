package pins

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	changes       prometheus.Counter
	pins, leftOut prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		changes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "quarry_pins_changes_total", Help: "Repositories whose pins were changed: the commits to index because submodules refer to them.",
		}),
		pins: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "quarry_pins", Help: "Commits to index because submodules refer to them, as of the last round of this process.",
		}),
		leftOut: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "quarry_pins_left_out", Help: "Commits that submodules refer to and that are not indexed because their repository has too many, as of the last round of this process.",
		}),
	}
	if reg != nil {
		reg.MustRegister(m.changes, m.pins, m.leftOut)
	}
	return m
}
