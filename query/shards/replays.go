package shards

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/rpc"
	"github.com/quarrysearch/quarry/schemas/replay"
)

// Replays replays the log in a front and in all replicas of its shards, because each process keeps
// its rows itself. It implements api.Replays.
type Replays struct {
	api.Replays // of the front
	front       *Front

	mu struct {
		sync.Mutex
		id int // of the latest replay of the front
		at time.Time
		// begun are the replays that replicas have begun with it, and refused the reasons of those
		// that have not, by address.
		begun   map[string]int
		refused map[string]string
	}
}

// NewReplays returns the replays of a front, whose own ones are those of its rows.
func (f *Front) NewReplays(own api.Replays) *Replays { return &Replays{Replays: own, front: f} }

// Start implements api.Replays. It begins nowhere if the front refuses it. Replicas that do not begin
// are named, and the others go on.
func (r *Replays) Start(ctx context.Context, in replay.Request) (replay.Replay, error) {
	begun, err := r.Replays.Start(ctx, in)
	if err != nil {
		return begun, err
	}
	begun.Nodes = r.front.callNodes(func(p *peer) (*replay.Replay, error) {
		out, err := p.Replays().Start(ctx, in)
		return &out, err
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.id, r.mu.at, r.mu.begun, r.mu.refused = begun.ID, begun.BegunAt, map[string]int{}, map[string]string{}
	for _, n := range begun.Nodes {
		if n.Replay != nil {
			r.mu.begun[n.Address] = n.Replay.ID
		} else {
			r.mu.refused[n.Address] = n.Problem
		}
	}
	return begun, nil
}

// Cancel implements api.Replays. It also cancels what replicas have begun with the replay, unless the
// front has begun another one since.
func (r *Replays) Cancel(ctx context.Context, id int) (replay.Replay, error) {
	canceled, err := r.Replays.Cancel(ctx, id)
	if err != nil {
		return canceled, err
	}
	var begun map[string]int
	r.mu.Lock()
	if r.mu.id == id {
		begun, r.mu.refused = r.mu.begun, nil
	}
	r.mu.Unlock()
	canceled.Nodes = r.front.callNodes(func(p *peer) (*replay.Replay, error) {
		id, known := begun[p.Address]
		if !known {
			return nil, nil
		}
		out, err := p.Replays().Cancel(ctx, id)
		return &out, err
	})
	return canceled, nil
}

// List implements api.Replays. It names the replicas that have not begun the latest replay of the
// front, because the page that begins one shows only lists.
func (r *Replays) List(ctx context.Context) (replay.List, error) {
	list, err := r.Replays.List(ctx)
	if err != nil {
		return list, err
	}
	list.Nodes = r.front.callNodes(func(p *peer) (*replay.Replay, error) {
		out, err := p.Replays().List(ctx)
		if err != nil || len(out.Replays) == 0 {
			return nil, err
		}
		return &out.Replays[0], nil
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range list.Nodes {
		n := &list.Nodes[i]
		reason, isRefused := r.mu.refused[n.Address]
		if isRefused && n.Problem == "" && (n.Replay == nil || !n.Replay.BegunAt.After(r.mu.at)) { // none since
			n.Problem = fmt.Sprintf("replay %d of the front has not begun there: %s", r.mu.id, reason)
		}
	}
	return list, nil
}

// callNodes calls all replicas at the same time, and returns one node for each, in the order of the
// settings. Those that are lost have the reason as their problem.
func (f *Front) callNodes(call func(p *peer) (*replay.Replay, error)) (nodes []replay.Node) {
	var calls []func()
	for _, s := range f.shares {
		replicas := s.listReplicas()
		if len(replicas) == 0 {
			nodes = append(nodes, replay.Node{Share: s.name, Address: strings.Join(s.addresses, " "), Problem: errNotProbed.Error()})
		}
		for _, p := range replicas {
			i := len(nodes)
			nodes = append(nodes, replay.Node{Share: s.name, Address: p.Address})
			if failure := s.findFailure(p); failure != nil {
				nodes[i].Problem = failure.Error()
				continue
			}
			calls = append(calls, func() {
				out, err := call(p)
				switch {
				case err == nil:
					nodes[i].Replay = out
				case errors.Is(err, rpc.ErrOperation):
					nodes[i].Problem = err.Error()
				default:
					nodes[i].Problem = "the replica does not answer: " + err.Error()
				}
			})
		}
	}
	var g sync.WaitGroup
	for _, f := range calls {
		g.Go(f)
	}
	g.Wait()
	return nodes
}
