package reconcile

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	looks   *prometheus.CounterVec // by result
	drift   prometheus.Counter
	seconds prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer, r *Reconciler) *metrics {
	m := &metrics{
		looks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_reconcile_looks_total",
			Help: "Looks at repositories for pushes that no web hook told of, by result: equal, waiting, told, suspect, drift or failed.",
		}, []string{"result"}),
		drift: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "quarry_reconcile_drift_total",
			Help: "Refs that had moved without a web hook, each counted once for each move: hooks are lost.",
		}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "quarry_reconcile_look_seconds",
			Help:    "Time of one look at a repository.",
			Buckets: prometheus.ExponentialBuckets(0.004, 2.5, 11),
		}),
	}
	if reg == nil {
		return m
	}
	for _, result := range results {
		m.looks.WithLabelValues(result)
	}
	reg.MustRegister(m.looks, m.drift, m.seconds,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "quarry_reconcile_overdue_seconds",
			Help: "How long the repository has waited for its look that should have been looked at first.",
		}, func() float64 { return r.longestOverdue().Seconds() }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "quarry_reconcile_repositories",
			Help: "Repositories that this process looks at.",
		}, func() float64 { return float64(r.repositoryCount()) }))
	return m
}

func (m *metrics) observeLook(result string, took time.Duration) {
	m.looks.WithLabelValues(result).Inc()
	m.seconds.Observe(took.Seconds())
}
