package shards

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/quarrysearch/quarry/query/rpc"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/event"
)

const (
	// probeEvery is the interval at which a front probes its peers.
	probeEvery = time.Second
	// pollEvery is the interval of short waits, and of the probes of a shard for which requests
	// wait.
	pollEvery = 20 * time.Millisecond
	// lagTolerance is the difference of the ages of two replicas that are as good as each other:
	// an age has the accuracy of the intervals at which shards read the end of the log and fronts
	// probe shards.
	lagTolerance = 2 * time.Second
	// behindWait bounds the wait of a session for a replica that is behind another one.
	behindWait = time.Second
	// silentWait is the time for which calls go on to the only replica of a share that has not
	// answered a probe in time.
	silentWait = time.Second
	// lossLogEvery is the interval at which lost calls of a peer are logged.
	lossLogEvery = time.Minute
)

// share is some partitions, with the replicas that hold them.
type share struct {
	name      string  // as in the settings
	owned     []int32 // ascending
	addresses []string

	mu       sync.Mutex
	replicas []*peer
	turn     int // of the replicas that are as good as each other
	// probed is closed, and replaced, after a probe of a replica.
	probed chan struct{}
}

// peer is a replica as the last probe found it. share.mu guards what changes.
type peer struct {
	rpc.Peer
	// awaited has a value while a request waits for a position of the replica.
	awaited chan struct{}
	// state is nil if the replica is lost, for the reason in failure, and at is the time just
	// before the probe. reached ends when the replica is lost.
	state   *rpc.State
	failure error
	at      time.Time
	reached context.Context
	lose    context.CancelFunc
	// lossLogged is when a lost call was logged.
	lossLogged time.Time
	calls      callCounters
}

var errNotProbed = errors.New("it has not been reached yet")

// countReachedLocked counts the replicas that are reached.
func (s *share) countReachedLocked() (n int) {
	for _, p := range s.replicas {
		if p.state != nil {
			n++
		}
	}
	return n
}

// lostError returns the loss of the share. It names no address: callers of the front see it.
func (s *share) lostError() error {
	return fmt.Errorf("%w: no replica of the share %s answers", search.ErrShardLost, s.name)
}

// keepState sets the state of a replica at a time, or the reason why it is lost, and returns the
// number of replicas that are reached.
func (s *share) keepState(p *peer, state *rpc.State, at time.Time, failure error, log *slog.Logger) (reached int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case failure == nil && p.state == nil:
		p.reached, p.lose = context.WithCancel(context.Background())
		log.Info("shard is reached", "peer", p.Address, "share", s.name, "partitions", p.Owned, "version", state.Program)
	case failure != nil && (p.failure == nil || p.failure.Error() != failure.Error()):
		log.Warn("shard is lost; trying again every second", "peer", p.Address, "share", s.name, "partitions", p.Owned, "error", failure)
	}
	lost := failure != nil && p.state != nil
	p.state, p.failure, p.at = state, failure, at
	if lost {
		p.lose()
	}
	close(s.probed)
	s.probed = make(chan struct{})
	return s.countReachedLocked()
}

// awaitProbe waits until the next probe of a replica, which is sooner if a request waits for it.
func (p *peer) awaitProbe(ctx context.Context) {
	timer := time.NewTimer(probeEvery)
	defer timer.Stop()
	select {
	case <-p.awaited:
		_ = clock.Sleep(ctx, pollEvery) // the caller looks at ctx
	case <-timer.C:
	case <-ctx.Done():
	}
}

// requestProbe makes the next probe of a replica sooner.
func (p *peer) requestProbe() {
	select {
	case p.awaited <- struct{}{}:
	default: // it is due already
	}
}

// ageLocked returns the age of what a replica sees.
func (p *peer) ageLocked() time.Duration {
	if age := p.state.Age + time.Since(p.at); age >= p.state.Age {
		return age
	}
	return math.MaxInt64 // the clock was set back
}

// hasReachedLocked reports whether a replica had applied the records below the offsets, by
// partition, at the last probe. Nil offsets are reached.
func (p *peer) hasReachedLocked(next []event.Offset) bool {
	for _, partition := range p.Owned {
		if int(partition) < len(next) && (int(partition) >= len(p.state.Next) || event.Offset(p.state.Next[partition]) < next[partition]) {
			return false
		}
	}
	return true
}

// bestLocked returns the replicas that lag least, of those that are reached, have applied the
// records below the offsets and are not excluded.
func (s *share) bestLocked(next []event.Offset, excluded []*peer) (best []*peer) {
	var youngest time.Duration
	for _, p := range s.replicas {
		if p.state != nil && p.hasReachedLocked(next) && !slices.Contains(excluded, p) {
			if age := p.ageLocked(); len(best) == 0 || age < youngest {
				youngest = age
			}
			best = append(best, p)
		}
	}
	return slices.DeleteFunc(best, func(p *peer) bool { return p.ageLocked()-youngest > lagTolerance })
}

// chooseReplica returns the replica that lags least and is not excluded, with what it covers of
// its partitions and its age. Replicas that are as good as each other take turns. It waits a short
// time if all have yet to reach the offsets.
func (s *share) chooseReplica(ctx context.Context, next []event.Offset, excluded []*peer) (*choice, error) {
	ctx, cancel := context.WithTimeout(ctx, behindWait)
	defer cancel()
	for {
		s.mu.Lock()
		probed := s.probed
		if c := s.pickLocked(next, excluded); c != nil {
			s.mu.Unlock()
			return c, nil
		}
		behind := s.bestLocked(nil, excluded)
		s.mu.Unlock()
		if len(behind) == 0 {
			return nil, s.lostError()
		}
		for _, p := range behind {
			p.requestProbe()
		}
		select {
		case <-probed:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: no replica of the share %s has reached the position of another one", search.ErrShardLost, s.name)
		}
	}
}

// pickReplica is chooseReplica without a wait. It returns nil if no replica has reached the offsets.
func (s *share) pickReplica(next []event.Offset, excluded []*peer) *choice {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pickLocked(next, excluded)
}

func (s *share) pickLocked(next []event.Offset, excluded []*peer) *choice {
	best := s.bestLocked(next, excluded)
	if len(best) == 0 {
		return nil
	}
	s.turn++
	p := best[s.turn%len(best)]
	c := &choice{peer: p, reached: p.reached, age: p.ageLocked(), next: make([]event.Offset, len(p.state.Next))}
	for _, partition := range p.Owned {
		if int(partition) < len(c.next) {
			c.next[partition] = event.Offset(p.state.Next[partition])
		}
	}
	return c
}

// choice is a replica with its state when it was chosen: what it covered of the log, by
// partition, and its age. reached ends when the replica is lost.
type choice struct {
	*peer
	reached context.Context
	next    []event.Offset
	age     time.Duration
}

// probeBehind requests probes of replicas that have yet to apply the records below the offsets, and
// returns a channel that is closed after a probe: of all that requests may choose, or unless one of
// them has. It returns nil if there is none, also if the share is lost: answers name its partitions.
func (s *share) probeBehind(next []event.Offset, all bool) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	reached := s.bestLocked(next, nil)
	behind := slices.DeleteFunc(s.bestLocked(nil, nil), func(p *peer) bool { return slices.Contains(reached, p) })
	if len(behind) == 0 || len(reached) > 0 && !all {
		return nil
	}
	for _, p := range behind {
		p.requestProbe()
	}
	return s.probed
}

// hasOther reports whether a replica other than p is reached.
func (s *share) hasOther(p *peer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.replicas, func(other *peer) bool { return other != p && other.state != nil })
}

// isSilent reports whether nothing answered the last probe: the replica is frozen, or its machine
// is away. One that is being stopped refuses connections or answers that it is not ready, and
// finishes its calls.
func (s *share) isSilent(p *peer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Is(p.failure, context.DeadlineExceeded) || errors.Is(p.failure, syscall.EHOSTUNREACH) || errors.Is(p.failure, syscall.ENETUNREACH)
}

// listReplicas returns the replicas.
func (s *share) listReplicas() []*peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replicas
}

// findFailure returns the reason why a replica is not reached, or nil.
func (s *share) findFailure(p *peer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return p.failure
}

// isReached reports whether a replica is reached.
func (s *share) isReached() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.countReachedLocked() > 0
}

// logLoss logs a lost call of a replica that still answers probes, at most once in lossLogEvery.
func (s *share) logLoss(p *peer, reason error, log *slog.Logger) {
	s.mu.Lock()
	now := time.Now()
	due := p.state != nil && now.Sub(p.lossLogged) >= lossLogEvery
	if due {
		p.lossLogged = now
	}
	s.mu.Unlock()
	if due {
		log.Warn("a call of a shard is lost", "peer", p.Address, "share", s.name, "error", reason)
	}
}
