package pins

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	changes       prometheus.Counter
	pins, leftOut prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	auto := promauto.With(reg)
	m := &metrics{
		changes: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_pins_changes_total", Help: "Changes of the pins of a repository. A pin is a commit to index because a submodule of another repository refers to it.",
		}),
		pins: auto.NewGauge(prometheus.GaugeOpts{
			Name: "quarry_pins", Help: "Pins of all repositories, as of the last round of this process.",
		}),
		leftOut: auto.NewGauge(prometheus.GaugeOpts{
			Name: "quarry_pins_left_out", Help: "Commits that submodules refer to and that are no pins because their repository has 100 already, as of the last round of this process.",
		}),
	}
	return m
}
