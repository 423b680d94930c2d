package shards

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/replay"
)

// fakeReplays are the replays of a process, which run until they are canceled.
type fakeReplays struct {
	mu    sync.Mutex
	known []replay.Replay // newest first
}

// Start implements api.Replays.
func (f *fakeReplays) Start(_ context.Context, in replay.Request) (replay.Replay, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.known) > 0 && f.known[0].State == replay.Building {
		return replay.Replay{}, fmt.Errorf("%w: replay %d is running", replay.ErrBusy, f.known[0].ID)
	}
	f.known = append([]replay.Replay{{ID: 1 + len(f.known), Projection: in.Projection, State: replay.Building}}, f.known...)
	return f.known[0], nil
}

// Rollback implements api.Replays.
func (f *fakeReplays) Rollback(context.Context) (replay.Replay, error) {
	return replay.Replay{}, replay.ErrBusy
}

// Cancel implements api.Replays.
func (f *fakeReplays) Cancel(_ context.Context, id int) (replay.Replay, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.known {
		if f.known[i].ID == id {
			f.known[i].State = replay.Canceled
			return f.known[i], nil
		}
	}
	return replay.Replay{}, code.ErrNotFound
}

// List implements api.Replays.
func (f *fakeReplays) List(context.Context) (replay.List, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return replay.List{Replays: append([]replay.Replay(nil), f.known...)}, nil
}

// TestReplaysOfShards has a front replay the log: all replicas do, those that do not are named, and
// only what the replay has begun is canceled with it.
func TestReplaysOfShards(t *testing.T) {
	f, a, b, c := startFrontOfReplicas(t)
	own := &fakeReplays{}
	r := f.NewReplays(own)
	describe := func(nodes []replay.Node) string {
		var lines []string
		for i, n := range nodes {
			if address := []*replica{a, b, c}[i].address; n.Address != address {
				t.Errorf("node %d is %s, want %s", i, n.Address, address)
			}
			line := n.Share + " none"
			if n.Replay != nil {
				line = fmt.Sprintf("%s %d %s%s", n.Share, n.Replay.ID, n.Replay.State, n.Replay.Projection)
			}
			lines = append(lines, strings.TrimSpace(line+" "+n.Problem))
		}
		return strings.Join(lines, "\n")
	}
	check := func(when string, nodes []replay.Node, want ...string) {
		t.Helper()
		if got := describe(nodes); got != strings.Join(want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", when, got, strings.Join(want, "\n"))
		}
	}
	list, err := r.List(t.Context())
	check(fmt.Sprint("at first ", err), list.Nodes, "0 none", "0 none", "1 none")
	if _, err := b.replays.Start(t.Context(), replay.Request{}); err != nil {
		t.Fatal(err)
	}
	begun, err := r.Start(t.Context(), replay.Request{Projection: "places"})
	const busy = `the shard refuses the operation: the session is refused: "no replay can begin: replay 1 is running"`
	check(fmt.Sprint("one is busy ", err), begun.Nodes, "0 1 buildingplaces", "0 none "+busy, "1 1 buildingplaces")
	if _, err := r.Start(t.Context(), replay.Request{}); err == nil || len(c.replays.known) != 1 {
		t.Errorf("a second replay begins: %v, %v", err, c.replays.known)
	}
	a.older.Store(true)
	list, err = r.List(t.Context())
	const older = "the shard refuses the operation: its release is older than that of the front"
	check(fmt.Sprint("one is of an older release ", err), list.Nodes,
		"0 none "+older, "0 1 building replay 1 of the front has not begun there: "+busy, "1 1 buildingplaces")
	a.older.Store(false)
	canceled, err := r.Cancel(t.Context(), begun.ID)
	check(fmt.Sprint("canceled ", err), canceled.Nodes, "0 1 canceledplaces", "0 none", "1 1 canceledplaces")
	list, err = r.List(t.Context())
	check(fmt.Sprint("afterwards ", err), list.Nodes, "0 1 canceledplaces", "0 1 building", "1 1 canceledplaces")
	if canceled, err = r.Cancel(t.Context(), 7); err == nil || canceled.Nodes != nil {
		t.Errorf("an unknown replay is canceled: %v", canceled)
	}
	c.lost.Store(true)
	clocktest.WaitUntil(t, "a replica is lost", func() bool { return len(f.shares[1].listReached()) == 0 })
	list, err = r.List(t.Context())
	check(fmt.Sprint("one is lost ", err), list.Nodes, "0 1 canceledplaces", "0 1 building", `1 none the session is refused: "not ready"`)
}
