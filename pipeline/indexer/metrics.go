package indexer

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Outcomes of a push.
const (
	pushMoved      = "moved"
	pushCoalesced  = "coalesced" // with a later one of its ref
	pushDeleted    = "deleted"
	pushRefresh    = "refresh"
	pushDone       = "already_indexed"
	pushUnselected = "not_selected"
	pushUnknown    = "unknown_repository"
)

type metrics struct {
	pushes          *prometheus.CounterVec
	revisions       prometheus.Counter
	changes         prometheus.Counter
	seconds         prometheus.Histogram
	read            prometheus.Counter
	known           prometheus.Counter
	documents       prometheus.Counter
	text            prometheus.Counter
	segments        prometheus.Counter
	segmentBytes    prometheus.Counter
	skipped         *prometheus.CounterVec
	symbolFailures  *prometheus.CounterVec
	caughtUp        prometheus.Counter
	leftOut         prometheus.Counter
	unreachablePins prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	auto := promauto.With(reg)
	m := &metrics{
		pushes: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_indexer_pushes_total", Help: "Pushes handled, by outcome; coalesced: replaced by a later push of the same ref.",
		}, []string{"result"}),
		revisions: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_indexer_revisions_total", Help: "Revisions indexed.",
		}),
		changes: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_indexer_changes_total", Help: "Changed paths of the revisions indexed.",
		}),
		seconds: auto.NewHistogram(prometheus.HistogramOpts{
			Name: "quarry_indexer_revision_seconds", Help: "Time from fetching a commit to appending its event.",
			Buckets: prometheus.ExponentialBuckets(0.005, 2, 18),
		}),
		leftOut: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_indexer_left_out_refs_total", Help: "Selected refs that were not indexed because pipeline.maxRefs other refs have newer commits. Counted on each scan of all refs of a repository.",
		}),
		unreachablePins: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_indexer_unreachable_pins_total", Help: "Pins that were not indexed because no indexed branch or tag leads to them. Counted each time the pins of a repository are resolved: at each of its pushes, changes of pins and checks of all refs.",
		}),
		read: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_indexer_read_blobs_total", Help: "Blobs read for analysis.",
		}),
		known: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_indexer_known_blobs_total", Help: "Blobs of new revisions that were not read because a live segment already holds them.",
		}),
		documents: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_indexer_documents_total", Help: "Documents added to segments.",
		}),
		text: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_indexer_text_bytes_total", Help: "Text added to segments.",
		}),
		segments: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_indexer_segments_total", Help: "Segments sealed.",
		}),
		segmentBytes: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_indexer_segment_bytes_total", Help: "Size of the segments sealed.",
		}),
		skipped: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_indexer_skipped_files_total", Help: "Files not indexed, by reason.",
		}, []string{"reason"}),
		symbolFailures: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_indexer_symbol_failures_total", Help: "Documents indexed without all of their symbols, by reason.",
		}, []string{"reason"}),
		caughtUp: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_indexer_caught_up_refs_total", Help: "Refs whose mirror state lagged the log after a crash or a rebalance.",
		}),
	}
	for _, result := range []string{pushMoved, pushCoalesced, pushDeleted, pushRefresh, pushDone, pushUnselected, pushUnknown} {
		m.pushes.WithLabelValues(result)
	}
	for _, reason := range code.SkipReasons {
		m.skipped.WithLabelValues(string(reason))
	}
	for _, reason := range code.PartialReasons {
		m.symbolFailures.WithLabelValues(string(reason))
	}
	return m
}

func (m *metrics) observeRevision(changes int, took time.Duration) {
	m.revisions.Inc()
	m.changes.Add(float64(changes))
	m.seconds.Observe(took.Seconds())
}

func (m *metrics) countSkipped(reason code.SkipReason, files int) {
	m.skipped.WithLabelValues(string(reason)).Add(float64(files))
}
