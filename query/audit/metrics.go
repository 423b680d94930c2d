package audit

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/quarrysearch/quarry/schemas/audit"
)

// metrics are:
//
//	quarry_audit_records_total{action}  records accepted, by action
//	quarry_audit_queue_records          records waiting to be written
//	quarry_audit_queue_bytes            the same in bytes, of audit.queueBytes
//	quarry_audit_queue_oldest_seconds   how long the oldest has waited
//	quarry_audit_append_seconds         time of one append
//	quarry_audit_append_failures_total  failed attempts
//	quarry_audit_refused_total          records refused because the queue was full
//	quarry_audit_lost_total             records that will never be written
//	quarry_audit_invalid_total          records written without their text
type metrics struct {
	records                          *prometheus.CounterVec
	append                           prometheus.Histogram
	failures, refused, lost, invalid prometheus.Counter
}

// otherAction counts actions that schemas/audit does not define.
const otherAction = "other"

func newMetrics(reg prometheus.Registerer, r *Recorder) *metrics {
	auto := promauto.With(reg)
	counter := func(name, help string) prometheus.Counter {
		return auto.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	gauge := func(name, help string, f func() float64) {
		auto.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f)
	}
	m := &metrics{
		records: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_audit_records_total",
			Help: "Records that this process appended to the audit log, by action. Account changes are not included: their events are the entries.",
		}, []string{"action"}),
		append: auto.NewHistogram(prometheus.HistogramOpts{
			Name: "quarry_audit_append_seconds", Help: "Duration of successful appends to the audit log.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}),
		failures: counter("quarry_audit_append_failures_total", "Failed appends to the audit log, which are retried."),
		refused:  counter("quarry_audit_refused_total", "Records that did not fit into the queue within audit.maxWait. Their requests were refused unless audit.required is off."),
		lost:     counter("quarry_audit_lost_total", "Records that were lost because the queue was full and audit.required is off, or because the process exited while the log was not responding."),
		invalid:  counter("quarry_audit_invalid_total", "Audit records that violated their format and were written without their text."),
	}
	gauge("quarry_audit_queue_records", "Records queued for the audit log.", func() float64 { n, _, _ := r.queueState(); return float64(n) })
	gauge("quarry_audit_queue_bytes", "Bytes queued for the audit log. Requests are refused at audit.queueBytes.", func() float64 { _, n, _ := r.queueState(); return float64(n) })
	gauge("quarry_audit_queue_oldest_seconds", "Age of the oldest record queued for the audit log; 0 if the queue is empty.", r.oldestSeconds)
	for _, action := range append([]audit.Action{otherAction}, audit.Actions...) {
		m.records.WithLabelValues(string(action))
	}
	return m
}

// countRecord counts a record under its action; the number of actions is bounded.
func (m *metrics) countRecord(action audit.Action) {
	if !action.Known() {
		action = otherAction
	}
	m.records.WithLabelValues(string(action)).Inc()
}

func (r *Recorder) oldestSeconds() float64 {
	_, _, since := r.queueState()
	if since.IsZero() {
		return 0
	}
	return max(0, r.o.Now().Sub(since).Round(time.Millisecond).Seconds())
}
