package worker

import (
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/quarrysearch/quarry/schemas/event"
)

const (
	resultHandled = "handled"
	resultDead    = "dead"
	resultSkipped = "skipped"
)

// unknownType is the label for records of types that this version does not know. The type
// in the record is not used as a label, since it could be any text.
const unknownType event.Type = "unknown"

// Reasons why no batch begins.
const (
	pausedUnavailable = "unavailable"
	pausedProjections = "projections"
)

type metrics struct {
	records *prometheus.CounterVec
	retries prometheus.Counter
	seconds *prometheus.HistogramVec
	running prometheus.Gauge
	paused  *prometheus.GaugeVec
	behind  *prometheus.GaugeVec
	age     *prometheus.GaugeVec
	window  *prometheus.GaugeVec
	bytes   *prometheus.GaugeVec
	oldest  *prometheus.GaugeVec
	full    *prometheus.GaugeVec
	// About calls of the handler:
	timeouts prometheus.Counter
	hanging  prometheus.Gauge
	longest  prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	auto := promauto.With(reg)
	ofPartition := func(name, help string) *prometheus.GaugeVec {
		return auto.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"partition"})
	}
	m := &metrics{
		records: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_worker_records_total", Help: "Records that workers processed, by event type and result: handled, dead (given up) or skipped (repository removed).",
		}, []string{"type", "result"}),
		retries: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_worker_retries_total", Help: "Retries of records.",
		}),
		seconds: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name: "quarry_worker_handling_seconds", Help: "Time to handle a record, including retries, by event type.",
			Buckets: prometheus.ExponentialBuckets(0.005, 2, 18),
		}, []string{"type"}),
		running: auto.NewGauge(prometheus.GaugeOpts{
			Name: "quarry_worker_running_lanes", Help: "Repositories whose records are being handled.",
		}),
		paused: auto.NewGaugeVec(prometheus.GaugeOpts{
			Name: "quarry_worker_paused", Help: "1 while workers start no new record, by reason: unavailable (log, disk or segment store) or projections (too far behind).",
		}, []string{"reason"}),
		behind: ofPartition("quarry_worker_lag_records", "Records of a partition that are not finished, or that follow one that is not."),
		age:    ofPartition("quarry_worker_lag_seconds", "Age of the last committed record of a partition at the time of its commit; 0 if no record is waiting."),
		window: ofPartition("quarry_worker_window_records", "Records of a partition that were read but are not finished."),
		bytes:  ofPartition("quarry_worker_window_bytes", "Size of the records of a partition that were read but are not finished."),
		oldest: ofPartition("quarry_worker_oldest_seconds", "Time since the oldest unfinished record of a partition was read."),
		full:   ofPartition("quarry_worker_window_full", "1 while reading of a partition is paused because too many records are waiting, or one record has waited while too many others passed it."),
	}
	m.timeouts = auto.NewCounter(prometheus.CounterOpts{
		Name: "quarry_worker_timeouts_total", Help: "Events given up because their handling made no progress for git.fetchTimeout plus 15 minutes, or took more than 24 hours.",
	})
	m.hanging = auto.NewGauge(prometheus.GaugeOpts{
		Name: "quarry_worker_hanging_lanes", Help: "Repositories whose handler hangs and cannot be canceled. Their events become dead letters until the server is restarted.",
	})
	m.longest = auto.NewGauge(prometheus.GaugeOpts{
		Name: "quarry_worker_longest_handling_seconds", Help: "Elapsed time of the longest-running handler; 0 if none is running.",
	})
	m.setPaused(false, false)
	for _, kind := range append(event.WorkTypes(), unknownType) {
		for _, result := range []string{resultHandled, resultDead, resultSkipped} {
			m.records.WithLabelValues(string(kind), result)
		}
		m.seconds.WithLabelValues(string(kind))
	}
	return m
}

func (m *metrics) observeRecord(rec event.Record, result string, took time.Duration) {
	kind := event.TypeOf(rec)
	if !slices.Contains(event.WorkTypes(), kind) {
		kind = unknownType
	}
	m.records.WithLabelValues(string(kind), result).Inc()
	m.seconds.WithLabelValues(string(kind)).Observe(took.Seconds())
}

// setPaused records why no batch begins.
func (m *metrics) setPaused(unavailable, projections bool) {
	m.paused.WithLabelValues(pausedUnavailable).Set(boolToFloat(unavailable))
	m.paused.WithLabelValues(pausedProjections).Set(boolToFloat(projections))
}

func boolToFloat(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (m *metrics) setLag(partition int32, behind event.Offset) {
	name := strconv.Itoa(int(partition))
	m.behind.WithLabelValues(name).Set(float64(behind))
	if behind == 0 {
		m.age.WithLabelValues(name).Set(0)
	}
}

func (m *metrics) setFill(partition int32, f windowFill) {
	name := strconv.Itoa(int(partition))
	m.window.WithLabelValues(name).Set(float64(f.records))
	m.bytes.WithLabelValues(name).Set(float64(f.bytes))
	m.full.WithLabelValues(name).Set(boolToFloat(f.full))
	age := 0.0
	if !f.oldest.IsZero() {
		age = time.Since(f.oldest).Seconds()
	}
	m.oldest.WithLabelValues(name).Set(age)
}

// deletePartition removes the gauges of a partition that another worker now holds.
func (m *metrics) deletePartition(partition int32) {
	name := strconv.Itoa(int(partition))
	for _, g := range []*prometheus.GaugeVec{m.behind, m.age, m.window, m.bytes, m.oldest, m.full} {
		g.DeleteLabelValues(name)
	}
}

// backlogMetrics are the metrics of a Backlog. The prefix of the name predates this
// package.
type backlogMetrics struct{ records prometheus.Gauge }

func newBacklogMetrics(reg prometheus.Registerer) backlogMetrics {
	return backlogMetrics{promauto.With(reg).NewGauge(prometheus.GaugeOpts{
		Name: "quarry_server_backlog_records",
		Help: "Records in the log that the workers have not handled. Above ingest.maxBacklog, webhooks are answered with 503.",
	})}
}
