package reconcile

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	looks   *prometheus.CounterVec // by result
	drift   prometheus.Counter
	seconds prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer, r *Reconciler) *metrics {
	auto := promauto.With(reg)
	m := &metrics{
		looks: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_reconcile_looks_total",
			Help: "Checks of repositories for pushes without a webhook, by result: equal, waiting, reported, suspect, drift or failed.",
		}, []string{"result"}),
		drift: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_reconcile_drift_total",
			Help: "Refs that moved without a webhook, counted once per move. Any value means that deliveries are being lost.",
		}),
		seconds: auto.NewHistogram(prometheus.HistogramOpts{
			Name:    "quarry_reconcile_look_seconds",
			Help:    "Duration of a check of a repository.",
			Buckets: prometheus.ExponentialBuckets(0.004, 2.5, 11),
		}),
	}
	for _, result := range results {
		m.looks.WithLabelValues(result)
	}
	auto.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "quarry_reconcile_overdue_seconds",
		Help: "How long the check of the most overdue repository has been due.",
	}, func() float64 { return r.longestOverdue().Seconds() })
	auto.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "quarry_reconcile_repositories",
		Help: "Repositories that this process checks.",
	}, func() float64 { return float64(r.repositoryCount()) })
	return m
}
