package compactor

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Reasons of failures, as label values.
const (
	failureLog     = "log"     // the log did not answer
	failureStore   = "store"   // the segment store or the disk did not answer
	failureInput   = "input"   // an input cannot be read
	failureRefused = "refused" // the projections refused a merge
)

type metrics struct {
	merges                  *prometheus.CounterVec
	inputs, outputs         prometheus.Counter
	inputBytes, outputBytes prometheus.Counter
	segmentBytes            prometheus.Counter
	dropped                 prometheus.Counter
	segments                *prometheus.GaugeVec
	lost                    prometheus.Gauge
	seconds                 prometheus.Histogram
	failures                *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	auto := promauto.With(reg)
	counter := func(name, help string) prometheus.Counter {
		return auto.NewCounter(prometheus.CounterOpts{Name: "quarry_compactor_" + name, Help: help})
	}
	m := &metrics{
		merges: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_compactor_merges_total",
			Help: "Merges appended to the log, by reason: number of segments, dead text, quiet class, a purge of removed text, lost segments whose documents others hold, or division of a segment by who may read its text.",
		}, []string{"reason"}),
		inputs:       counter("input_segments_total", "Segments that were merged."),
		outputs:      counter("output_segments_total", "Segments that merges created."),
		inputBytes:   counter("input_bytes_total", "Text size of the segments that were merged."),
		outputBytes:  counter("output_bytes_total", "Text size of the segments that merges created. Divide it by the text indexed to get the write amplification."),
		segmentBytes: counter("output_segment_bytes_total", "Size of the segments that merges created."),
		dropped:      counter("dropped_documents_total", "Documents that merges dropped because they were dead or duplicated."),
		segments: auto.NewGaugeVec(prometheus.GaugeOpts{
			Name: "quarry_compactor_segments",
			Help: "Live segments of the partitions that this process owns, by tier. Segments of the highest tier are not merged again.",
		}, []string{"tier"}),
		lost: auto.NewGauge(prometheus.GaugeOpts{
			Name: "quarry_compactor_lost_segments",
			Help: "Live segments that are missing from the segment store and are excluded from merges.",
		}),
		seconds: auto.NewHistogram(prometheus.HistogramOpts{
			Name: "quarry_compactor_merge_seconds", Help: "Duration of a merge, from planning it to appending its event.",
			Buckets: prometheus.ExponentialBuckets(0.004, 2.5, 12),
		}),
		failures: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_compactor_failures_total",
			Help: "Failed merges, by reason: log, store, input (unreadable) or refused (rejected by the projections).",
		}, []string{"reason"}),
	}
	for _, reason := range []string{reasonNumber, reasonDead, reasonQuiet, reasonPurge, reasonLost, reasonDivide} {
		m.merges.WithLabelValues(reason)
	}
	for _, reason := range []string{failureLog, failureStore, failureInput, failureRefused} {
		m.failures.WithLabelValues(reason)
	}
	return m
}

// tierGauges tracks the contribution of one partition to the gauges.
type tierGauges struct {
	metrics *metrics
	tiers   []int
	lost    int
}

// updateGauges recounts the segments of the partition; it is called with none when the
// partition is released.
func (c *tierGauges) updateGauges(p Policy, segments []*entry) {
	tiers, lost := make([]int, p.Tiers()+1), 0
	for _, e := range segments {
		tiers[p.tierForSize(e.tierSize())]++
		if e.isUnreadable() {
			lost++
		}
	}
	for t, n := range tiers {
		before := 0
		if t < len(c.tiers) {
			before = c.tiers[t]
		}
		c.metrics.segments.WithLabelValues(strconv.Itoa(t)).Add(float64(n - before))
	}
	c.metrics.lost.Add(float64(lost - c.lost))
	c.tiers, c.lost = tiers, lost
}
