package search

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/schemas/code"
)

// A ReplicatedShard is a session whose shard has several replicas. A call that one of them
// does not answer is repeated at another one: calls only read.
//
// A view at another replica is another view, so a search that has begun begins again, at all
// shards, as errShardMoved. Other calls do not depend on earlier ones. What callers compare by
// pointer stays: the repositories are those of the view, unless Request.NewView allows others.
type ReplicatedShard interface {
	Shard
	// MoveSession ends a session that is lost for a reason, and makes the next call open one at
	// another replica, whose view is not older. It uses each replica once, and returns
	// ErrShardLost if none is left.
	MoveSession(ctx context.Context, reason error) error
}

// errShardMoved means that a search must begin again, because a shard continues at another
// replica. It occurs at most once for each replica.
var errShardMoved = errors.New("a shard has moved to another replica")

// openShard is a session of a view.
type openShard struct {
	session Shard
	lost    error       // why it cannot be reached any more
	state   *ShardState // nil before Open
	begun   bool        // the replica has the search that the view runs
	// mayChange means that nothing was read from the view but its repositories: see
	// Request.NewView.
	mayChange bool
}

// sendCall sends a call to the shard. If it continues at another replica, opened is the state
// there.
func (s *openShard) sendCall(ctx context.Context, c *ShardCall) (r *ShardReply, opened *ShardState, err error) {
	for {
		if c.continuesSearch() && !s.begun {
			return nil, opened, errShardMoved
		}
		r, err = s.callReplica(ctx, c)
		if err == nil {
			s.begun = c.Begin != nil || s.begun && !c.End
			return r, opened, nil
		}
		replicated, ok := s.session.(ReplicatedShard)
		if !ok || !errors.Is(err, ErrShardLost) || ctx.Err() != nil {
			return nil, opened, err
		}
		if c.End { // the search has ended with the session, and the next call moves
			s.begun = false
			return &ShardReply{}, opened, nil
		}
		if opened, err = s.moveTo(ctx, replicated, err); err != nil {
			return nil, nil, err
		}
		s.begun = false
	}
}

// callReplica sends a call to the replica of the session.
func (s *openShard) callReplica(ctx context.Context, c *ShardCall) (*ShardReply, error) {
	r, err := s.session.Call(ctx, c)
	if err == nil && !r.answers(c) {
		return nil, fmt.Errorf("%w: its reply does not answer the call", ErrShardLost)
	}
	return r, err
}

// moveTo continues at another replica, and returns the state there; nil if it is that of the
// view. The replica must show what the view shows, because the caller may have read from it.
func (s *openShard) moveTo(ctx context.Context, shard ReplicatedShard, reason error) (*ShardState, error) {
	for {
		if err := shard.MoveSession(ctx, reason); err != nil {
			return nil, err
		}
		if s.state == nil {
			return nil, nil // the call is Open
		}
		r, err := s.callReplica(ctx, &ShardCall{Open: true})
		switch {
		case err == nil && s.state.isReplacedBy(r.Open) && reflect.DeepEqual(s.state.Repositories, r.Open.Repositories):
			return nil, nil
		case err == nil && s.state.isReplacedBy(r.Open) && s.mayChange:
			return r.Open, nil
		case err == nil:
			reason = fmt.Errorf("%w: another replica shows another state", ErrShardLost)
		case errors.Is(err, ErrShardLost) && ctx.Err() == nil:
			reason = err
		default:
			return nil, err
		}
	}
}

// isReplacedBy reports whether a view may continue with the state of another replica: the
// caller sees the same repositories there, and no document more is missing.
func (s *ShardState) isReplacedBy(other *ShardState) bool {
	if s.Restricted != other.Restricted || s.AsOf != other.AsOf || s.Missing < other.Missing || len(s.Repositories) != len(other.Repositories) {
		return false
	}
	known := make(map[code.RepositoryID]bool, len(s.Repositories))
	for _, r := range s.Repositories {
		known[r.ID] = true
	}
	return !slices.ContainsFunc(other.Repositories, func(r *corpus.Repository) bool { return !known[r.ID] })
}

// allowChange sets whether shards may move to another state. Once a search has ended, they may not.
func (v *shardedView) allowChange(may bool) {
	v.read = v.read || !may
	for _, s := range v.shards {
		s.mayChange = !v.read
	}
}

// replaceState replaces the state of a shard that has moved. Slices that callers have are kept.
func (v *shardedView) replaceState(s *openShard, opened *ShardState) {
	v.state.Missing += opened.Missing - s.state.Missing
	v.repos = slices.Clone(v.repos)
	for _, r := range opened.Repositories {
		v.repos[v.number[r.ID]] = r
	}
	s.state = opened
}

// continuesSearch reports whether the call needs what earlier calls of a search have left.
func (c *ShardCall) continuesSearch() bool {
	return c.Begin == nil && !c.Open && (c.Survey != nil || c.Rank != nil || c.Visit != nil || c.Score != nil || c.Render != nil)
}
