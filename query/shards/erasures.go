package shards

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/erasure"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
)

const (
	// maxBegunErasures bounds the erasures that a front remembers.
	maxBegunErasures = 1000
	// storeCheckEvery is the time for which a check of the segment store serves: it lists all objects.
	storeCheckEvery = 5 * time.Second
)

// Erasures follows the erasures of all shards. It implements api.Erasures.
type Erasures struct {
	own   api.Erasures // appends the request
	front *Front
	list  func(ctx context.Context) iter.Seq2[segmentstore.Info, error] // of the segment store
	now   func() time.Time

	mu struct {
		sync.Mutex
		// begun are those that this process has requested, oldest first: it shows them also while no
		// replica does.
		begun []erasure.Erasure
	}
	// checking is held during a check of the store.
	checking sync.Mutex
	checked  storeCheck
}

// storeCheck is what the segment store had at a time.
type storeCheck struct {
	at      time.Time
	err     error
	objects int
	bytes   int64
	unnamed []time.Time // of objects that no shard names, ascending
}

// NewErasures returns the erasures of a front. own appends requests, and list yields the objects of the
// segment store.
func (f *Front) NewErasures(own api.Erasures, list func(ctx context.Context) iter.Seq2[segmentstore.Info, error]) *Erasures {
	return &Erasures{own: own, front: f, list: list, now: time.Now}
}

// CountShared asks a replica of the repository's share.
func (f *Front) CountShared(ctx context.Context, id code.RepositoryID) (int, error) {
	partition := f.o.PartitionOf(id)
	var failures []error
	for _, s := range f.shares {
		if !slices.Contains(s.owned, partition) {
			continue
		}
		for _, p := range s.listReached() {
			n, err := p.Erasures().CountShared(ctx, id)
			if err == nil || ctx.Err() != nil {
				return n, err
			}
			failures = append(failures, fmt.Errorf("share %s: %w", s.name, err))
		}
		failures = append(failures, s.lostError())
	}
	return 0, fmt.Errorf("%w: nothing is erased: %w", failure.ErrUnavailable, errors.Join(failures...))
}

// Erase implements api.Erasures.
func (e *Erasures) Erase(ctx context.Context, r erasure.Request) (erasure.Erasure, error) {
	begun, err := e.own.Erase(ctx, r)
	if err != nil {
		return begun, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mu.begun = append(e.mu.begun, begun)
	e.mu.begun = e.mu.begun[max(0, len(e.mu.begun)-maxBegunErasures):]
	return begun, nil
}

// List implements api.Erasures. An erasure is done once all replicas of its partition have finished it
// and the segment store has no object from before it that no shard names. Failed replicas, and those
// that do not answer, are named.
func (e *Erasures) List(ctx context.Context) ([]erasure.Erasure, error) {
	e.mu.Lock()
	known := map[event.Position]erasure.Erasure{}
	for _, b := range e.mu.begun {
		known[b.At] = b
	}
	e.mu.Unlock()
	nodes := e.listNodes(ctx)
	for _, n := range nodes {
		for at, seen := range n.erasures {
			if _, ok := known[at]; !ok {
				known[at] = seen
			}
		}
	}
	var list []erasure.Erasure
	for at, x := range known {
		x.State, x.WaitsFor, x.Error, x.EndedAt, x.Proof, x.Nodes = erasure.Done, "", "", time.Time{}, nil, nil
		for _, n := range nodes {
			if slices.Contains(n.owned, at.Partition) {
				n.addTo(&x)
			}
		}
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b erasure.Erasure) int {
		return cmp.Or(b.RequestedAt.Compare(a.RequestedAt), cmp.Compare(b.At.Partition, a.At.Partition), cmp.Compare(b.At.Offset, a.At.Offset))
	})
	for i := range list {
		if x := &list[i]; x.State == erasure.Done {
			if err := e.proveErased(ctx, x); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// erasureNode is a replica with its erasures.
type erasureNode struct {
	erasure.Node // Share, Address and Problem
	owned        []int32
	erasures     map[event.Position]erasure.Erasure
}

// addTo adds the state of an erasure at the replica to that at the front.
func (n *erasureNode) addTo(x *erasure.Erasure) {
	node := n.Node
	switch own, ok := n.erasures[x.At]; {
	case node.Problem != "":
		x.WaitsFor = cmp.Or(x.WaitsFor, erasure.WaitForShards)
	case !ok: // it has not applied the event
		node.State, node.WaitsFor = erasure.Working, erasure.WaitForWorkers
	default:
		node.State, node.WaitsFor, node.Error, node.EndedAt = own.State, own.WaitsFor, own.Error, own.EndedAt
	}
	x.Nodes = append(x.Nodes, node)
	switch {
	case x.State == erasure.Failed:
	case node.State == erasure.Failed:
		x.State, x.Error, x.EndedAt, x.WaitsFor = erasure.Failed, fmt.Sprintf("share %s: %s", node.Share, node.Error), node.EndedAt, ""
	case node.State != erasure.Done:
		x.State, x.WaitsFor, x.EndedAt = erasure.Working, cmp.Or(x.WaitsFor, node.WaitsFor), time.Time{}
	case x.State == erasure.Done && node.EndedAt.After(x.EndedAt):
		x.EndedAt = node.EndedAt
	}
}

// listNodes asks all replicas for their erasures.
func (e *Erasures) listNodes(ctx context.Context) (nodes []erasureNode) {
	var calls []func()
	for _, s := range e.front.shares {
		replicas := s.listReplicas()
		if len(replicas) == 0 {
			nodes = append(nodes, erasureNode{erasure.Node{Share: s.name, Address: strings.Join(s.addresses, " "), Problem: errNotProbed.Error()}, s.owned, nil})
		}
		for _, p := range replicas {
			i := len(nodes)
			nodes = append(nodes, erasureNode{erasure.Node{Share: s.name, Address: p.Address}, s.owned, map[event.Position]erasure.Erasure{}})
			if failure := s.findFailure(p); failure != nil {
				nodes[i].Problem = failure.Error()
				continue
			}
			calls = append(calls, func() {
				list, err := p.Erasures().List(ctx)
				if err != nil {
					nodes[i].Problem = err.Error()
				}
				for _, x := range list {
					nodes[i].erasures[x.At] = x
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

// proveErased sets the proof of an erasure that all replicas have finished, or what it waits for.
func (e *Erasures) proveErased(ctx context.Context, x *erasure.Erasure) error {
	e.checking.Lock()
	defer e.checking.Unlock()
	if age := e.now().Sub(e.checked.at); e.checked.at.Before(x.EndedAt) || age < 0 || age >= storeCheckEvery {
		at := e.now()
		e.checked = e.checkStore(ctx)
		e.checked.at = at
	}
	c := &e.checked
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if c.err != nil {
		x.State, x.WaitsFor, x.EndedAt = erasure.Working, erasure.WaitForShards, time.Time{}
		x.Nodes = append(x.Nodes, erasure.Node{Problem: c.err.Error()})
		return nil
	}
	before, _ := slices.BinarySearchFunc(c.unnamed, x.RequestedAt, time.Time.Compare)
	x.Proof = &erasure.Proof{Segments: c.objects, SegmentBytes: c.bytes, Unnamed: before}
	if before > 0 { // the process that holds everything deletes them
		x.State, x.WaitsFor, x.EndedAt = erasure.Working, erasure.WaitForSegments, time.Time{}
	}
	return nil
}

// checkStore lists the objects of the segment store and compares them with what the shards name.
func (e *Erasures) checkStore(ctx context.Context) (c storeCheck) {
	objects := map[segment.ID]time.Time{}
	for info, err := range e.list(ctx) {
		if err != nil {
			c.err = fmt.Errorf("list the segment store: %w", err)
			return c
		}
		if id, ok := segmentstore.ParseSegmentName(info.Name); ok {
			objects[id] = info.ModTime
			c.objects++
			c.bytes += info.SizeBytes
		}
	}
	for _, s := range pickLayout(e.front.layouts, nil) {
		answered := false
		for _, p := range s.listReached() {
			names, err := p.Erasures().ListNamed(ctx)
			if err != nil {
				continue // the next one may answer
			}
			answered = true
			for _, id := range names {
				delete(objects, id)
			}
			break
		}
		if !answered {
			c.err = s.lostError()
			return c
		}
	}
	for _, at := range objects {
		c.unnamed = append(c.unnamed, at)
	}
	slices.SortFunc(c.unnamed, time.Time.Compare)
	return c
}
