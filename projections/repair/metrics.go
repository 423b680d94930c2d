package repair

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// These label values name the source from which an unreadable segment of the projections
// was restored.
const (
	restoredFromObject = "segment_store"
	restoredFromGit    = "git"
)

// Metrics count what was damaged or lost:
//
//	quarry_scrub_read_bytes_total                       read to find damage
//	quarry_scrub_last_pass_timestamp_seconds            end of the last pass over everything
//	quarry_scrub_damaged_files{store}                   found by the last pass, or so far by this one
//	quarry_segmentstore_damaged_objects_total{kind}     moved to the quarantine
//	quarry_places_restored_segments_total{from}         unreadable segments of the projections
//	quarry_server_rebuilt_stores_total{store}           stores that were damaged at the start
//	quarry_server_missing_mirrors_total                 mirrors that a reader found missing or old
type Metrics struct {
	scrubbed prometheus.Counter
	lastPass prometheus.Gauge
	damaged  *prometheus.GaugeVec
	objects  *prometheus.CounterVec
	restored *prometheus.CounterVec
	rebuilt  *prometheus.CounterVec
	mirrors  prometheus.Counter
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f := promauto.With(reg)
	m := &Metrics{
		scrubbed: f.NewCounter(prometheus.CounterOpts{
			Name: "quarry_scrub_read_bytes_total",
			Help: "Bytes that the scrub read from the data directory.",
		}),
		lastPass: f.NewGauge(prometheus.GaugeOpts{
			Name: "quarry_scrub_last_pass_timestamp_seconds",
			Help: "Unix time at which the last full scrub ended; 0 before the first.",
		}),
		damaged: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "quarry_scrub_damaged_files",
			Help: "Damaged files found by the last or current scrub, by store: log, accounts, projections or segments. Damaged segments are moved to the quarantine.",
		}, []string{"store"}),
		objects: f.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_segmentstore_damaged_objects_total",
			Help: "Objects of the segment store that were damaged and moved to the quarantine, by kind: segment or manifest.",
		}, []string{"kind"}),
		restored: f.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_places_restored_segments_total",
			Help: "Unreadable segments of the projections that were restored, by source: segment_store, or git if the segment store has no intact copy.",
		}, []string{"from"}),
		rebuilt: f.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_server_rebuilt_stores_total",
			Help: "Stores that were damaged when the process started and are rebuilt from the log: projections or accounts.",
		}, []string{"store"}),
		mirrors: f.NewCounter(prometheus.CounterOpts{
			Name: "quarry_server_missing_mirrors_total",
			Help: "Mirrors that a request for files or history found missing, or older than the index; they are fetched again.",
		}),
	}
	for _, name := range []string{ScrubbedProjections, ScrubbedAccounts} {
		m.rebuilt.WithLabelValues(name)
	}
	for _, name := range []string{scrubbedLog, ScrubbedAccounts, scrubbedSegments, ScrubbedProjections} {
		m.damaged.WithLabelValues(name)
	}
	for _, kind := range []string{"segment", "manifest"} {
		m.objects.WithLabelValues(kind)
	}
	for _, from := range []string{restoredFromObject, restoredFromGit} {
		m.restored.WithLabelValues(from)
	}
	return m
}

// CountObject counts an object that was moved to the quarantine.
func (m *Metrics) CountObject(name string) {
	kind, _, _ := strings.Cut(name, "-")
	m.objects.WithLabelValues(kind).Inc()
}

// CountRebuilt counts a store that was damaged at the start of the process.
func (m *Metrics) CountRebuilt(store string) { m.rebuilt.WithLabelValues(store).Inc() }
