package live

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	notices, positions *prometheus.CounterVec
	lag                prometheus.Gauge
}

// Values of the label result: whether a reader could resume from its position.
const (
	positionKept = "kept"
	positionLost = "lost"
)

func newMetrics(reg prometheus.Registerer) *metrics {
	auto := promauto.With(reg)
	m := &metrics{
		notices: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_live_notices_total",
			Help: "Notices received by the event stream, by kind, regardless of who may read them.",
		}, []string{"kind"}),
		positions: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_live_positions_total",
			Help: "Positions from which readers of the event stream resumed, by result: kept, or lost because the position was too old.",
		}, []string{"result"}),
		lag: auto.NewGauge(prometheus.GaugeOpts{
			Name: "quarry_live_lag_records",
			Help: "Records of the log that the event stream has not read yet.",
		}),
	}
	for _, kind := range []Kind{KindSearchable, KindRepository, KindWork, KindDelivery} {
		m.notices.WithLabelValues(string(kind))
	}
	for _, result := range []string{positionKept, positionLost} {
		m.positions.WithLabelValues(result)
	}
	return m
}
