package discovery

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
)

type metrics struct {
	requests *prometheus.CounterVec // by kind and result
	syncs    *prometheus.CounterVec // by kind and result
	events   *prometheus.CounterVec // by event
	seconds  prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer, s *Syncer) *metrics {
	auto := promauto.With(reg)
	m := &metrics{
		requests: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_discovery_requests_total",
			Help: "Requests to the APIs of code hosts, by kind of host and result: ok, not_modified, or the reason of the failure.",
		}, []string{"kind", "result"}),
		syncs: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_discovery_syncs_total",
			Help: "Listings of the repositories of a connection, by kind of host and result: complete or incomplete. An incomplete one removes nothing.",
		}, []string{"kind", "result"}),
		events: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_discovery_events_total",
			Help: "Events that syncs appended: registered, changed or removed.",
		}, []string{"event"}),
		seconds: auto.NewHistogram(prometheus.HistogramOpts{
			Name:    "quarry_discovery_sync_seconds",
			Help:    "Duration of a sync, including waits for rate limits.",
			Buckets: prometheus.ExponentialBuckets(0.1, 4, 9),
		}),
	}
	if reg == nil {
		return m
	}
	for kind := range s.o.Kinds {
		for _, code := range hostapi.Codes() {
			m.requests.WithLabelValues(string(kind), string(code))
		}
		for _, result := range []string{"ok", "not_modified"} {
			m.requests.WithLabelValues(string(kind), result)
		}
		for _, result := range []string{"complete", "incomplete"} {
			m.syncs.WithLabelValues(string(kind), result)
		}
	}
	for _, e := range []string{"registered", "changed", "removed"} {
		m.events.WithLabelValues(e)
	}
	reg.MustRegister(&stateCollector{s})
	return m
}

func (m *metrics) countEvents(r *syncRun) {
	m.events.WithLabelValues("registered").Add(float64(r.registered))
	m.events.WithLabelValues("changed").Add(float64(r.changed))
	m.events.WithLabelValues("removed").Add(float64(r.removed))
}

// stateCollector exports the state of each connection. The settings bound their number.
type stateCollector struct{ s *Syncer }

var (
	foundDesc = prometheus.NewDesc("quarry_discovery_repositories",
		"Repositories that the last sync of a connection found.", []string{"connection"}, nil)
	issuesDesc = prometheus.NewDesc("quarry_discovery_issues",
		"Issues of the last sync of a connection.", []string{"connection"}, nil)
	completeDesc = prometheus.NewDesc("quarry_discovery_complete_timestamp_seconds",
		"Unix time of the last complete sync of a connection; 0 if there is none in this process.", []string{"connection"}, nil)
)

// Describe implements prometheus.Collector.
func (c *stateCollector) Describe(out chan<- *prometheus.Desc) {
	out <- foundDesc
	out <- issuesDesc
	out <- completeDesc
}

// Collect implements prometheus.Collector. A process that does not sync exports nothing.
func (c *stateCollector) Collect(out chan<- prometheus.Metric) {
	for _, st := range c.s.States() {
		if st.Elsewhere {
			continue
		}
		gauge := func(d *prometheus.Desc, v float64) {
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, st.Name)
		}
		gauge(foundDesc, float64(st.Found))
		gauge(issuesDesc, float64(len(st.Issues)+st.MoreIssues))
		complete := 0.0
		if !st.CompleteAt.IsZero() {
			complete = float64(st.CompleteAt.Unix())
		}
		gauge(completeDesc, complete)
	}
}

// Results of hints, for quarry_discovery_hints_total.
const (
	hintConfirmed   = "confirmed"
	hintAbsent      = "absent"
	hintUnconfirmed = "unconfirmed"
	hintFailed      = "failed"
	hintGivenUp     = "given_up"
	hintDropped     = "dropped"
)

type hintMetrics struct {
	results *prometheus.CounterVec // by result
	events  *prometheus.CounterVec // by event
}

func newHintMetrics(reg prometheus.Registerer, r *HintReader) *hintMetrics {
	auto := promauto.With(reg)
	m := &hintMetrics{
		results: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_discovery_hints_total",
			Help: "Readings of single repositories from their hosts after webhooks, by result: confirmed, absent (the host answered 404), unconfirmed (it could not be asked), failed (it is read again); and hints given_up or dropped, for which the next sync makes up.",
		}, []string{"result"}),
		events: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_discovery_hint_events_total",
			Help: "Events that readings after webhooks appended: changed or removed.",
		}, []string{"event"}),
	}
	for _, result := range []string{hintConfirmed, hintAbsent, hintUnconfirmed, hintFailed, hintGivenUp, hintDropped} {
		m.results.WithLabelValues(result)
	}
	for _, e := range []string{"changed", "removed"} {
		m.events.WithLabelValues(e)
	}
	auto.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "quarry_discovery_waiting_hints",
		Help: "Repositories that a webhook named and that wait to be read from their host.",
	}, func() float64 { return float64(r.Pending()) })
	return m
}

// countReading counts the result of one reading.
func (m *hintMetrics) countReading(err error) {
	result := hintFailed
	switch {
	case err == nil:
		result = hintConfirmed
	case errors.Is(err, ErrHostLacks):
		result = hintAbsent
	case errors.Is(err, ErrUnconfirmed):
		result = hintUnconfirmed
	}
	m.results.WithLabelValues(result).Inc()
}
