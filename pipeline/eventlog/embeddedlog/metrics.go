package embeddedlog

import (
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	appendedRecords prometheus.Counter
	appendedBytes   prometheus.Counter
	readRecords     prometheus.Counter
	trimmedRecords  prometheus.Counter
	refused         *prometheus.CounterVec
	syncSeconds     prometheus.Histogram
}

// Reasons to refuse an append.
const (
	refusedDiskFull  = "disk_full"
	refusedQueueFull = "queue_full"
	refusedTooLarge  = "too_large"
)

// registerDiskBytes registers a gauge of the size of the log's files; 0 after the log is
// closed.
func registerDiskBytes(reg prometheus.Registerer, l *Log) {
	promauto.With(reg).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "quarry_embeddedlog_disk_bytes",
		Help: "Disk space used by the files of the log, as reported by du.",
	}, func() float64 {
		release, err := l.acquireDB()
		if err != nil {
			return 0
		}
		defer release()
		return float64(diskBytes(l.dir))
	})
}

// diskBytes returns the disk space that the files of a directory use. Pebble's own figure
// omits the space that it preallocates.
func diskBytes(dir string) (total int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0 // an in-memory log of a test
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() { // otherwise removed in the meantime
			total += allocatedBytes(info)
		}
	}
	return total
}

// newMetrics registers the package's metrics with reg, unless reg is nil.
func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	m := &metrics{
		appendedRecords: f.NewCounter(prometheus.CounterOpts{
			Name: "quarry_embeddedlog_appended_records_total",
			Help: "Records written and synced to disk.",
		}),
		appendedBytes: f.NewCounter(prometheus.CounterOpts{
			Name: "quarry_embeddedlog_appended_bytes_total",
			Help: "Bytes of keys, values and headers of the records written and synced to disk.",
		}),
		readRecords: f.NewCounter(prometheus.CounterOpts{
			Name: "quarry_embeddedlog_read_records_total",
			Help: "Records read, by all readers.",
		}),
		trimmedRecords: f.NewCounter(prometheus.CounterOpts{
			Name: "quarry_embeddedlog_trimmed_records_total",
			Help: "Records deleted from the start of topics with limited retention.",
		}),
		refused: f.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_embeddedlog_refused_appends_total",
			Help: "Appends that were refused, by reason: disk_full, queue_full or too_large.",
		}, []string{"reason"}),
		syncSeconds: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "quarry_embeddedlog_sync_seconds",
			Help:    "Time to write a batch of records and sync it to disk.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 12),
		}),
	}
	for _, reason := range []string{refusedDiskFull, refusedQueueFull, refusedTooLarge} {
		m.refused.WithLabelValues(reason)
	}
	return m
}
