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

// The results of an opening of a session that was sent to a second replica as well.
const (
	hedgeWon  = "won"
	hedgeLost = "lost"
)

// metrics describe the peers of a front.
type metrics struct {
	up, replicasUp *prometheus.GaugeVec
	calls, moves   *prometheus.CounterVec
	hedges         *prometheus.CounterVec
	time           *prometheus.HistogramVec
}

// NewMetrics registers the metrics of a front with some shares, of which countLost counts the
// partitions that answers lack.
func NewMetrics(r prometheus.Registerer, shares []*share, countLost func() float64) *metrics {
	f := promauto.With(r)
	m := &metrics{
		up: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "quarry_shards_peer_up",
			Help: "1 if the replica of a share at the address of a peer answered the last probe and owns its partitions.",
		}, []string{"share", "peer"}),
		replicasUp: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "quarry_shards_replicas_up",
			Help: "Replicas of a share that answered the last probe. At 0, answers lack the partitions of the share, unless others hold them while partitions move.",
		}, []string{"share"}),
		calls: f.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_shards_calls_total", Help: "Calls of shards, by share, peer and result: answered, lost, or refused by the shard.",
		}, []string{"share", "peer", "result"}),
		moves: f.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_shards_moves_total", Help: "Sessions that lost a replica of a share and continued at another one.",
		}, []string{"share"}),
		hedges: f.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_shards_hedges_total",
			Help: "Sessions whose opening was late and was sent to a second replica of the share as well, by result: won if that one answered first, or lost.",
		}, []string{"result"}),
		time: f.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "quarry_shards_call_seconds",
			Help:    "Time of calls of shards, by step: see search.ShardCall; repository is a call about one repository.",
			Buckets: []float64{.0005, .001, .002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 20},
		}, []string{"step"}),
	}
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "quarry_shards_partitions_lost",
		Help: "Partitions that answers lack, since no replica of a share that has them is reached.",
	}, countLost)
	for _, result := range []string{hedgeWon, hedgeLost} {
		m.hedges.WithLabelValues(result)
	}
	for _, s := range shares {
		m.moves.WithLabelValues(s.name)
		m.replicasUp.WithLabelValues(s.name)
	}
	return m
}

// callCounters count the calls of a peer by their result. Calls that end after removePeer do not
// create the series again.
type callCounters map[string]prometheus.Counter

// addPeer creates the series of a peer.
func (m *metrics) addPeer(share, address string) callCounters {
	m.up.WithLabelValues(share, address)
	calls := callCounters{}
	for _, result := range []string{resultAnswered, resultLost, resultRefused} {
		calls[result] = m.calls.WithLabelValues(share, address, result)
	}
	return calls
}

// removePeer deletes the series of a peer.
func (m *metrics) removePeer(share, address string) {
	labels := prometheus.Labels{"share": share, "peer": address}
	m.up.Delete(labels)
	m.calls.DeletePartialMatch(labels)
}

// observeCall counts a call of a peer that began at a time.
func (m *metrics) observeCall(calls callCounters, step string, began time.Time, err error) {
	result := resultAnswered
	switch {
	case errors.Is(err, search.ErrShardLost):
		result = resultLost
	case err != nil:
		result = resultRefused
	}
	if !errors.Is(err, context.Canceled) { // another replica was first, or the client has left
		calls[result].Inc()
	}
	m.time.WithLabelValues(step).Observe(time.Since(began).Seconds())
}

// gitCounter counts git reads by their result.
type gitCounter = *prometheus.CounterVec

// NewGitMetrics registers the counter of git reads that other processes are asked for.
func NewGitMetrics(r prometheus.Registerer) gitCounter {
	calls := promauto.With(r).NewCounterVec(prometheus.CounterOpts{
		Name: "quarry_shards_git_calls_total",
		Help: "Git reads that processes with mirrors were asked for, by result: answered, lost, or refused, as by a process without the mirror.",
	}, []string{"result"})
	for _, result := range []string{resultAnswered, resultLost, resultRefused} {
		calls.WithLabelValues(result)
	}
	return calls
}
