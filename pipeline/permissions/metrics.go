package permissions

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
)

type metrics struct {
	reads *prometheus.CounterVec // by kind and result
}

func newMetrics(reg prometheus.Registerer, r *Reader) *metrics {
	auto := promauto.With(reg)
	m := &metrics{reads: auto.NewCounterVec(prometheus.CounterOpts{
		Name: "quarry_permissions_reads_total",
		Help: "Reads of the permissions of a repository from its code host, by kind of host and result: ok, or the reason of the failure.",
	}, []string{"kind", "result"})}
	for kind := range r.o.Kinds {
		m.reads.WithLabelValues(string(kind), "ok")
		for _, code := range hostapi.Codes() {
			m.reads.WithLabelValues(string(kind), string(code))
		}
	}
	if reg != nil {
		reg.MustRegister(&stateCollector{r})
	}
	return m
}

// stateCollector exports the state of each connection.
type stateCollector struct{ r *Reader }

var (
	repositoriesDesc = prometheus.NewDesc("quarry_permissions_repositories",
		"Private repositories of a connection whose permissions are read.", []string{"connection"}, nil)
	failingDesc = prometheus.NewDesc("quarry_permissions_failing_repositories",
		"Private repositories of a connection whose permissions could not be read the last time. The previous permissions apply until they are too old.", []string{"connection"}, nil)
	intervalDesc = prometheus.NewDesc("quarry_permissions_interval_seconds",
		"Interval at which the permissions of each repository of a connection are read.", []string{"connection"}, nil)
	oldestDesc = prometheus.NewDesc("quarry_permissions_oldest_read_timestamp_seconds",
		"Unix time at which permissions were last read for the most outdated repository of a connection; 0 if they were never read for one.", []string{"connection"}, nil)
)

// Describe implements prometheus.Collector.
func (c *stateCollector) Describe(out chan<- *prometheus.Desc) {
	out <- repositoriesDesc
	out <- failingDesc
	out <- oldestDesc
	out <- intervalDesc
}

// Collect implements prometheus.Collector. A process that does not read exports nothing.
func (c *stateCollector) Collect(out chan<- prometheus.Metric) {
	for _, s := range c.r.States() {
		gauge := func(d *prometheus.Desc, v float64) {
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, s.Name)
		}
		gauge(repositoriesDesc, float64(s.Repositories))
		gauge(failingDesc, float64(s.Failing))
		gauge(intervalDesc, s.Interval.Seconds())
		oldest := 0.0
		if !s.OldestReadAt.IsZero() {
			oldest = float64(s.OldestReadAt.Unix())
		}
		gauge(oldestDesc, oldest)
	}
}
