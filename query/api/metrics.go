package api

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/quarrysearch/quarry/query/search"
)

// metrics of the API, in addition to those of its front.
type metrics struct {
	limited *prometheus.CounterVec
	// followed counts streams of events that ended, by reason.
	followed *prometheus.CounterVec
	// positionWaits counts requests that waited for a position, by result.
	positionWaits *prometheus.CounterVec
}

// The results of a wait for a position.
const (
	waitReached       = "reached"
	waitNotReached    = "not_reached"
	waitRefused       = "refused"
	waitCallerRefused = "caller_refused"
	waitCanceled      = "canceled"
)

func newMetrics(reg prometheus.Registerer) *metrics {
	auto := promauto.With(reg)
	m := &metrics{limited: auto.NewCounterVec(prometheus.CounterOpts{
		Name: "quarry_api_incomplete_searches_total",
		Help: "Searches answered incompletely, by reason.",
	}, []string{"reason"}), followed: auto.NewCounterVec(prometheus.CounterOpts{
		Name: "quarry_api_event_streams_total",
		Help: "Event streams that ended, by reason: end (all events sent, or the maximum duration reached), stopped (by the caller or the server), slow_reader, failed.",
	}, []string{"reason"}), positionWaits: auto.NewCounterVec(prometheus.CounterOpts{
		Name: "quarry_api_position_waits_total",
		Help: "Searches with minPosition, by result: reached, not_reached (within query.positionWait), refused (too many wait), caller_refused (too many of the caller wait), canceled (by the caller).",
	}, []string{"result"})}
	for _, result := range []string{waitReached, waitNotReached, waitRefused, waitCallerRefused, waitCanceled} {
		m.positionWaits.WithLabelValues(result)
	}
	for _, reason := range []string{followedToEnd, followStopped, followLost, followFailed} {
		m.followed.WithLabelValues(reason)
	}
	for _, reason := range search.StopReasons {
		m.limited.WithLabelValues(string(reason))
	}
	for _, reason := range []string{incompleteDisplay, incompleteServer, incompleteMissing, incompleteBehind, incompleteOther} {
		m.limited.WithLabelValues(reason)
	}
	return m
}

// hookHealth exports the health of each connection's webhooks at each scrape, as GET
// /api/connections reports it.
type hookHealth struct{ s *Server }

var (
	lastDeliveryDesc = prometheus.NewDesc("quarry_connection_last_delivery_timestamp_seconds",
		"Unix time of the last accepted delivery of a connection; 0 if there is none.", []string{"connection"}, nil)
	deliveryGapDesc = prometheus.NewDesc("quarry_connection_usual_delivery_gap_seconds",
		"Median time between recent deliveries of a connection; 0 if there are fewer than five.", []string{"connection"}, nil)
)

// hookHealthTimeout bounds the reads of one scrape: at most healthDeliveries rows for
// each connection.
const hookHealthTimeout = 5 * time.Second

// Describe implements prometheus.Collector.
func (hookHealth) Describe(descs chan<- *prometheus.Desc) {
	descs <- lastDeliveryDesc
	descs <- deliveryGapDesc
}

// Collect implements prometheus.Collector. It omits a connection whose deliveries cannot
// be read.
func (h hookHealth) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), hookHealthTimeout)
	defer cancel()
	for name, st := range h.s.connectionStates() {
		if !st.Hooked {
			continue
		}
		hooks, err := h.s.connectionHooks(ctx, name)
		if err != nil {
			continue
		}
		last := 0.0
		if !hooks.LastAt.IsZero() {
			last = float64(hooks.LastAt.Unix())
		}
		out <- prometheus.MustNewConstMetric(lastDeliveryDesc, prometheus.GaugeValue, last, name)
		out <- prometheus.MustNewConstMetric(deliveryGapDesc, prometheus.GaugeValue, float64(hooks.UsualGapSeconds), name)
	}
}
