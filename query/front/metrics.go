package front

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics covers all requests. Routes are rows of tables in code, so labels are bounded.
type metrics struct {
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge
	panics   prometheus.Counter
	// refusals counts requests that exceeded a limit, by limit.
	refusals   *prometheus.CounterVec
	unrecorded prometheus.Counter
}

// Values of the label of refusals.
const (
	refusalRate    = "rate"
	refusalStreams = "streams"
)

func newMetrics(reg prometheus.Registerer, f *Front) *metrics {
	auto := promauto.With(reg)
	m := &metrics{
		seconds: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "quarry_api_request_duration_seconds",
			Help:    "Time from the first byte of a request to the last byte of its response, by route and status.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"route", "status"}),
		inFlight: auto.NewGauge(prometheus.GaugeOpts{
			Name: "quarry_api_inflight_requests",
			Help: "Requests in progress.",
		}),
		panics: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_api_panics_total",
			Help: "Requests that ended in a panic, which is a defect in Quarry.",
		}),
		refusals: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_api_limited_requests_total",
			Help: "Requests answered 429, by limit.",
		}, []string{"limit"}),
		unrecorded: auto.NewCounter(prometheus.CounterOpts{
			Name: "quarry_api_unrecorded_changes_total",
			Help: "Changes that took effect but could not be written to the audit log.",
		}),
	}
	for _, limit := range []string{refusalRate, refusalStreams} {
		m.refusals.WithLabelValues(limit)
	}
	auto.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "quarry_api_limited_callers",
		Help: "API keys, users and addresses with a tracked request rate; the least recently used are evicted.",
	}, func() float64 { return float64(f.pace.Len()) })
	auto.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "quarry_api_open_streams",
		Help: "Open response streams.",
	}, func() float64 { return float64(f.streams.Open()) })
	auto.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "quarry_api_open_event_streams",
		Help: "Open event streams, one per page or program that follows events.",
	}, func() float64 { return float64(f.followers.Open()) })
	return m
}
