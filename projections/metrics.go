package projections

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/quarrysearch/quarry/projections/internal/registration"
)

// The results of applying a record.
const (
	resultApplied   = "applied"
	resultDuplicate = "duplicate"
	resultPoison    = "poison"
	resultPassed    = "passed"
)

type metrics struct {
	group                      *registration.Group // unregistered when Run returns, so that another Runner can register its own
	searchable, apply, publish prometheus.Histogram
	lagRecords, lagSeconds     *prometheus.GaugeVec
	records                    *prometheus.CounterVec
	retries                    prometheus.Counter
	blocked, caughtUp          prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	group := registration.NewGroup(reg)
	auto := promauto.With(group)
	histogram := func(name, help string) prometheus.Histogram {
		return auto.NewHistogram(prometheus.HistogramOpts{
			Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(0.0001, 4, 9),
		})
	}
	gauges := func(name, help string) *prometheus.GaugeVec {
		return auto.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"partition"})
	}
	m := &metrics{
		group: group,
		searchable: auto.NewHistogram(prometheus.HistogramOpts{
			Name:    "quarry_push_to_searchable_seconds",
			Help:    "Time from receiving a push to its content being searchable. Excludes replays.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800},
		}),
		apply:      histogram("quarry_projections_apply_seconds", "Time to apply and commit one record."),
		publish:    histogram("quarry_projections_publish_seconds", "Time to publish a group of records."),
		lagRecords: gauges("quarry_projections_lag_records", "Records not yet published."),
		lagSeconds: gauges("quarry_projections_lag_seconds", "Age of the oldest record being applied, or how long records have waited while the log delivers none."),
		records: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_projections_records_total",
			Help: "Records read, by result: applied, duplicate (seen before), poison (skipped, written to the dead letters), passed (of a type or content that this version cannot read; the workers write it to the dead letters).",
		}, []string{"result"}),
		retries: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_projections_retries_total",
			Help: "Failed attempts to apply a record or to write it to the dead letters.",
		}),
		blocked: auto.NewGauge(prometheus.GaugeOpts{
			Name: "quarry_projections_blocked",
			Help: "Partitions that are waiting for the segment store.",
		}),
		caughtUp: auto.NewGauge(prometheus.GaugeOpts{
			Name: "quarry_projections_caught_up",
			Help: "1 once all records that existed at startup are published.",
		}),
	}
	for _, result := range []string{resultApplied, resultDuplicate, resultPoison, resultPassed} {
		m.records.WithLabelValues(result)
	}
	return m
}

func (m *metrics) setLag(lags []Lag) {
	for _, l := range lags {
		partition := strconv.Itoa(int(l.Partition))
		m.lagRecords.WithLabelValues(partition).Set(float64(l.Records))
		m.lagSeconds.WithLabelValues(partition).Set(l.Seconds)
	}
}

// noteMetrics are the metrics of a PositionNoter. Their name has a historical prefix.
type noteMetrics struct{ failures prometheus.Counter }

func newNoteMetrics(reg prometheus.Registerer) noteMetrics {
	return noteMetrics{promauto.With(reg).NewCounter(prometheus.CounterOpts{
		Name: "quarry_server_position_failures_total",
		Help: "Failed attempts to record the position of the projections in the log. Other processes then see an outdated position.",
	})}
}
