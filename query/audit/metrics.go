package audit

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/schemas/audit"
)

// metrics are:
//
//	quarry_audit_records_total{action}  records accepted, by action
//	quarry_audit_queue_records          records waiting to be written
//	quarry_audit_queue_bytes            the same in bytes, of audit.queueBytes
//	quarry_audit_queue_oldest_seconds   how long the oldest has waited
//	quarry_audit_append_seconds         time of one append
//	quarry_audit_group_records          records of one append
//	quarry_audit_append_failures_total  failed attempts
//	quarry_audit_refused_total          records refused because the queue was full
//	quarry_audit_lost_total             records that will never be written
//	quarry_audit_invalid_total          records written without their text
type metrics struct {
	records                          *prometheus.CounterVec
	queueRecords, queueBytes, oldest prometheus.GaugeFunc
	append, groups                   prometheus.Histogram
	failures, refused, lost, invalid prometheus.Counter
}

// otherAction counts actions that schemas/audit does not define.
const otherAction = "other"

func newMetrics(reg prometheus.Registerer, r *Recorder) (*metrics, error) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	gauge := func(name, help string, f func() float64) prometheus.GaugeFunc {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f)
	}
	m := &metrics{
		records: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_audit_records_total",
			Help: "Records that this process appended to the audit log, by action. Account changes are not included: their events are the entries.",
		}, []string{"action"}),
		queueRecords: gauge("quarry_audit_queue_records", "Records queued for the audit log.", func() float64 { n, _, _ := r.queueState(); return float64(n) }),
		queueBytes:   gauge("quarry_audit_queue_bytes", "Bytes queued for the audit log. Requests are refused at audit.queueBytes.", func() float64 { _, n, _ := r.queueState(); return float64(n) }),
		oldest:       gauge("quarry_audit_queue_oldest_seconds", "Age of the oldest record queued for the audit log; 0 if the queue is empty.", r.oldestSeconds),
		append: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "quarry_audit_append_seconds", Help: "Duration of successful appends to the audit log.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}),
		groups: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "quarry_audit_group_records", Help: "Records per append to the audit log.", Buckets: prometheus.ExponentialBuckets(1, 2, 9),
		}),
		failures: counter("quarry_audit_append_failures_total", "Failed appends to the audit log, which are retried."),
		refused:  counter("quarry_audit_refused_total", "Records that did not fit into the queue within audit.maxWait. Their requests were refused unless audit.required is off."),
		lost:     counter("quarry_audit_lost_total", "Records that were lost because the queue was full and audit.required is off, or because the process exited while the log was not responding."),
		invalid:  counter("quarry_audit_invalid_total", "Audit records that violated their format and were written without their text."),
	}
	for _, action := range append([]audit.Action{otherAction}, audit.Actions...) {
		m.records.WithLabelValues(string(action))
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.records, m.queueRecords, m.queueBytes, m.oldest, m.append, m.groups, m.failures, m.refused, m.lost, m.invalid} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("audit: register metrics: %w", err)
		}
	}
	return m, nil
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
