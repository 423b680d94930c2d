package worker

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/schemas/event"
)

const (
	resultHandled = "handled"
	resultDead    = "dead"
)

type metrics struct {
	records *prometheus.CounterVec
	retries prometheus.Counter
	seconds *prometheus.HistogramVec
	behind  *prometheus.GaugeVec
	age     *prometheus.GaugeVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		records: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_worker_records_total", Help: "Records that workers dealt with, by type of event and result (handled, dead).",
		}, []string{"type", "result"}),
		retries: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "quarry_worker_retries_total", Help: "Further attempts at a record.",
		}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "quarry_worker_handling_seconds", Help: "Time a record took, further attempts included, by type of event.",
			Buckets: prometheus.ExponentialBuckets(0.005, 2, 18),
		}, []string{"type"}),
		behind: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "quarry_worker_lag_records", Help: "Records of a partition that the workers have not committed yet.",
		}, []string{"partition"}),
		age: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "quarry_worker_lag_seconds", Help: "Age of the record of a partition that was committed last, when it was; 0 when none waits.",
		}, []string{"partition"}),
	}
	if reg != nil {
		reg.MustRegister(m.records, m.retries, m.seconds, m.behind, m.age)
	}
	return m
}

func (m *metrics) done(rec event.Record, result string, took time.Duration) {
	kind := string(event.TypeOf(rec))
	if result == resultDead && kind == "" {
		kind = "unknown"
	}
	m.records.WithLabelValues(kind, result).Inc()
	m.seconds.WithLabelValues(kind).Observe(took.Seconds())
}

func (m *metrics) lag(partition int32, behind event.Offset, rec event.Record) {
	name := strconv.Itoa(int(partition))
	age := 0.0
	if behind > 0 && !rec.Time.IsZero() {
		age = max(time.Since(rec.Time).Seconds(), 0)
	}
	m.behind.WithLabelValues(name).Set(float64(behind))
	m.age.WithLabelValues(name).Set(age)
}
