package shards

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/query/search"
)

const (
	// hedgeSamples is the number of calls whose times decide when a call is late, and
	// minHedgeSamples that from which they do.
	hedgeSamples    = 256
	minHedgeSamples = 32
	// hedgeQuantile is the share of the calls that are not late.
	hedgeQuantile = 0.95
	// minHedgeDelay is the least time after which a call is late: a second call costs more than
	// it can win below.
	minHedgeDelay = 5 * time.Millisecond
	// hedgeShare bounds the share of the calls that are sent to a second replica, and
	// maxHedgeCredit those that may follow each other.
	hedgeShare     = 0.05
	maxHedgeCredit = 10
)

// hedger decides when a call that opens a session is sent to a second replica as well.
type hedger struct {
	mu sync.Mutex
	// times are those of the last calls of each kind, in a ring of which calls were added.
	times map[string][]time.Duration
	calls map[string]int
	// credit is what is left of hedgeShare.
	credit float64
}

// observeCall adds the time of a call of a kind.
func (h *hedger) observeCall(kind string, took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.times == nil {
		h.times, h.calls = map[string][]time.Duration{}, map[string]int{}
	}
	n := h.calls[kind]
	if n < hedgeSamples {
		h.times[kind] = append(h.times[kind], took)
	} else {
		h.times[kind][n%hedgeSamples] = took
	}
	h.calls[kind]++
	h.credit = min(h.credit+hedgeShare, maxHedgeCredit)
}

// delay returns the time after which a call of a kind is late, and false while that is unknown.
func (h *hedger) delay(kind string) (time.Duration, bool) {
	h.mu.Lock()
	times := slices.Clone(h.times[kind])
	h.mu.Unlock()
	if len(times) < minHedgeSamples {
		return 0, false
	}
	slices.Sort(times)
	return max(times[int(hedgeQuantile*float64(len(times)))], minHedgeDelay), true
}

// spend reports whether a call may be sent to a second replica, and counts it.
func (h *hedger) spend() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.credit < 1 {
		return false
	}
	h.credit--
	return true
}

// opening is the first call of a session at a replica, which fixes its state.
type opening[S session, R any] struct {
	at      *choice
	session S
	reply   R
	err     error
}

// session is a session of searches or about a repository.
type session interface{ Close() }

// openHedged carries out the first call of a session, which follows the route. If it is late,
// another replica that has reached the same offsets gets it as well. The first answer decides
// where the session and its route continue, and the other call is canceled.
func openHedged[S session, R any](
	ctx context.Context, r *route, kind, step string, first S,
	open func(*choice) S, call func(context.Context, S) (R, error),
) (S, R, error) {
	h := &r.f.hedger
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began := time.Now()
	results := make(chan opening[S, R], 2)
	start := func(at *choice, s S) {
		o := opening[S, R]{at: at, session: s}
		o.err = r.measureCall(ctx, at, step, func(ctx context.Context) (err error) {
			o.reply, err = call(ctx, s)
			return err
		})
		results <- o
	}
	go start(r.at, first)
	var late <-chan time.Time
	if delay, known := h.delay(kind); known {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		late = timer.C
	}
	running, second := 1, (*choice)(nil)
	var won opening[S, R]
	for won.at == nil {
		select {
		case <-late:
			late = nil
			if second = r.share.pickReplica(r.next, append(slices.Clone(r.tried), r.at.peer)); second != nil && h.spend() {
				running++
				go start(second, open(second))
			} else {
				second = nil
			}
		case o := <-results:
			if running--; running == 0 || !errors.Is(o.err, search.ErrShardLost) {
				won = o
				break
			}
			o.session.Close() // the other call goes on
			r.tried = append(slices.Clone(r.tried), o.at.peer)
		}
	}
	h.observeCall(kind, time.Since(began))
	cancel()
	for ; running > 0; running-- {
		o := <-results
		o.session.Close()
	}
	if second != nil {
		result := hedgeLost
		if won.at == second {
			result = hedgeWon
		}
		r.f.metrics.hedges.WithLabelValues(result).Inc()
	}
	r.at = won.at
	return won.session, won.reply, won.err
}
