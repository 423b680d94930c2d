package shards

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/quarrysearch/quarry/query/search"
)

// The results of a call.
const (
	resultAnswered = "answered"
	resultLost     = "lost"
	resultRefused  = "refused"
)

// metrics describe the peers of a front.
type metrics struct {
	up    *prometheus.GaugeVec
	calls *prometheus.CounterVec
	time  *prometheus.HistogramVec
}

// NewMetrics registers the metrics of a front with some peers.
func NewMetrics(r prometheus.Registerer, peers []PeerAddress) *metrics {
	f := promauto.With(r)
	m := &metrics{
		up: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "quarry_shards_peer_up", Help: "1 if the shard at the address of a peer answered the last probe and owns its partitions.",
		}, []string{"peer"}),
		calls: f.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_shards_calls_total", Help: "Calls of shards, by peer and result: answered, lost, or refused by the shard.",
		}, []string{"peer", "result"}),
		time: f.NewHistogramVec(prometheus.HistogramOpts{
			Name: "quarry_shards_call_seconds", Help: "Time of calls of shards, by step: see search.ShardCall; repository is a call about one repository.",
			Buckets: []float64{.0005, .001, .002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 20},
		}, []string{"step"}),
	}
	for _, p := range peers {
		m.up.WithLabelValues(p.Address)
		for _, result := range []string{resultAnswered, resultLost, resultRefused} {
			m.calls.WithLabelValues(p.Address, result)
		}
	}
	return m
}

// observeCall counts a call that began at a time.
func (m *metrics) observeCall(address, step string, began time.Time, err error) {
	result := resultAnswered
	switch {
	case errors.Is(err, search.ErrShardLost):
		result = resultLost
	case err != nil:
		result = resultRefused
	}
	m.calls.WithLabelValues(address, result).Inc()
	m.time.WithLabelValues(step).Observe(time.Since(began).Seconds())
}

// measuredShard counts the calls of a session.
type measuredShard struct {
	search.Shard
	metrics *metrics
	address string
}

// Call implements search.Shard.
func (s *measuredShard) Call(ctx context.Context, c *search.ShardCall) (*search.ShardReply, error) {
	began := time.Now()
	r, err := s.Shard.Call(ctx, c)
	s.metrics.observeCall(s.address, c.Step(), began, err)
	return r, err
}
