package snapshotter

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// The results of the creation of a snapshot.
const (
	resultDone   = "done"
	resultFailed = "failed"
)

// metrics describe the snapshots in the segment store, as of the last look of this process,
// and those that it creates.
type metrics struct {
	created                                                       *prometheus.CounterVec
	seconds, bytes, newest, kept, unusable, interval, failedLooks prometheus.Gauge
}

func newMetrics(r prometheus.Registerer, interval float64) *metrics {
	f := promauto.With(r)
	gauge := func(name, help string) prometheus.Gauge {
		return f.NewGauge(prometheus.GaugeOpts{Name: "quarry_snapshots_" + name, Help: help})
	}
	m := &metrics{
		created: f.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_snapshots_created_total", Help: "Snapshots of the index that this process created, by result: done or failed.",
		}, []string{"result"}),
		seconds:     gauge("creation_seconds", "Time that it took to create the newest snapshot that this process can use; 0 if there is none."),
		bytes:       gauge("bytes", "Size of the tables of the newest snapshot that this process can use; 0 if there is none."),
		newest:      gauge("newest_timestamp_seconds", "Unix time of the newest snapshot that this process can use; 0 if there is none. A shard can use those of its partitions, and the oldest of the newest ones counts."),
		kept:        gauge("kept", "Snapshots in the segment store that can be used."),
		unusable:    gauge("unusable", "Snapshots in the segment store that are damaged or incomplete, or that this version cannot read."),
		interval:    gauge("interval_seconds", "Interval at which snapshots are created: snapshots.interval; 0 if they are created only on request."),
		failedLooks: gauge("list_failed", "1 if the snapshots in the segment store could not be listed the last time."),
	}
	m.interval.Set(interval)
	for _, result := range []string{resultDone, resultFailed} {
		m.created.WithLabelValues(result)
	}
	return m
}
