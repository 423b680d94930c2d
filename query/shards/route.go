package shards

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/event"
)

// route is the way of a session to a replica of a share. Each replica is used once.
type route struct {
	f     *Front
	share *share
	at    *choice
	// tried are the replicas that have lost the session, and next is what another one must have
	// reached: what the first one had.
	tried []*peer
	next  []event.Offset
}

// newRoute returns a route to a replica that has reached the offsets.
func (f *Front) newRoute(ctx context.Context, s *share, next []event.Offset) (*route, error) {
	at, err := s.chooseReplica(ctx, next, nil)
	if err != nil {
		return nil, err
	}
	return &route{f: f, share: s, at: at, next: at.next}, nil
}

// chooseNext continues at another replica, which has reached what the first one had. The error is
// search.ErrShardLost if none is left.
func (r *route) chooseNext(ctx context.Context) error {
	r.tried = append(r.tried, r.at.peer)
	at, err := r.share.chooseReplica(ctx, r.next, r.tried)
	if err != nil {
		return err
	}
	r.at = at
	r.f.metrics.moves.WithLabelValues(r.share.name).Inc()
	return nil
}

// measureCall measures a call. If the replica is lost to the probes meanwhile, the call is lost: a
// frozen process answers neither, and keeps its connections. Without another replica, the call has
// silentWait for an answer. The error of a loss names the share rather than the address.
func (r *route) measureCall(ctx context.Context, at *choice, step string, call func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := at.peer
	stop := context.AfterFunc(at.reached, func() {
		if r.share.hasOther(p) || clock.Sleep(ctx, silentWait) == nil && r.share.isSilent(p) {
			cancel(search.ErrShardLost)
		}
	})
	defer stop()
	began := time.Now()
	err := call(ctx)
	r.f.metrics.observeCall(p.calls, step, began, err)
	if !errors.Is(err, search.ErrShardLost) {
		return err
	}
	p.requestProbe()
	r.share.logLoss(p, err, r.f.o.Logger)
	return fmt.Errorf("%w: share %s", search.ErrShardLost, r.share.name)
}

// searchSession is a session of searches at one replica after another.
type searchSession struct {
	*route
	who     []byte
	session search.Shard
}

var _ search.ReplicatedShard = (*searchSession)(nil)

// Partitions implements search.Shard.
func (s *searchSession) Partitions() []int32 { return s.share.owned }

// Close implements search.Shard.
func (s *searchSession) Close() { s.session.Close() }

// Call implements search.Shard.
func (s *searchSession) Call(ctx context.Context, c *search.ShardCall) (out *search.ShardReply, err error) {
	if c.Open {
		s.session, out, err = openHedged(ctx, s.route, c.Step(), c.Step(), s.session,
			func(at *choice) search.Shard { return at.NewSession(s.who) },
			func(ctx context.Context, session search.Shard) (*search.ShardReply, error) {
				return session.Call(ctx, c)
			})
		return out, err
	}
	err = s.measureCall(ctx, s.at, c.Step(), func(ctx context.Context) error {
		out, err = s.session.Call(ctx, c)
		return err
	})
	return out, err
}

// MoveSession implements search.ReplicatedShard.
func (s *searchSession) MoveSession(ctx context.Context, _ error) error {
	s.session.Close()
	if err := s.chooseNext(ctx); err != nil {
		return err
	}
	s.session = s.at.NewSession(s.who)
	return nil
}

// lostShare is a session with a share of which no replica is reached.
type lostShare struct {
	s      *share
	reason error
}

// Call implements search.Shard.
func (s lostShare) Call(context.Context, *search.ShardCall) (*search.ShardReply, error) {
	return nil, s.reason
}

// Partitions implements search.Shard.
func (s lostShare) Partitions() []int32 { return s.s.owned }

// Close implements search.Shard.
func (s lostShare) Close() {}
