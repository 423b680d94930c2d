package shards

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/erasure"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// List implements rpc.Erasures.
func (r *replica) List(context.Context) ([]erasure.Erasure, error) {
	list, _ := r.erasures.Load().([]erasure.Erasure)
	return list, nil
}

// CountShared implements rpc.Erasures.
func (r *replica) CountShared(context.Context, code.RepositoryID) (int, error) {
	if r.refused.Load() {
		return 0, errors.New("the rows cannot be read")
	}
	return 3, nil
}

// ListNamed implements rpc.Erasures.
func (r *replica) ListNamed(context.Context) ([]segment.ID, error) { return []segment.ID{r.named}, nil }

// begunErasure is the request for an erasure at a position.
type begunErasure struct{ erasure.Erasure }

func (b begunErasure) Erase(context.Context, erasure.Request) (erasure.Erasure, error) {
	return b.Erasure, nil
}
func (b begunErasure) List(context.Context) ([]erasure.Erasure, error) { return nil, nil }

// TestErasuresOfShards follows an erasure in the partition of two replicas: it is done only if both have
// finished it and the segment store has no object from before that no shard names. Replicas that fail, or
// that do not answer, are named.
func TestErasuresOfShards(t *testing.T) {
	f, a, b, c := startFrontOfReplicas(t)
	f.o.PartitionOf = func(code.RepositoryID) int32 { return 0 }
	requested := time.Unix(1000, 0).UTC()
	at := event.Position{Topic: event.TopicEvents, Partition: 0, Offset: 7}
	begun := erasure.Erasure{At: at, Repository: 5, State: erasure.Working, WaitsFor: erasure.WaitForWorkers, RequestedAt: requested, SharedFiles: 3}
	a.named, b.named, c.named = segment.ID{1}, segment.ID{1}, segment.ID{2}
	objects := map[segment.ID]time.Time{{1}: requested.Add(-time.Hour), {2}: requested.Add(-time.Hour), {3}: requested.Add(-time.Minute), {4}: requested.Add(time.Second)}
	var unreadable error
	e := f.NewErasures(begunErasure{begun}, func(context.Context) iter.Seq2[segmentstore.Info, error] {
		return func(yield func(segmentstore.Info, error) bool) {
			for id, at := range objects {
				if !yield(segmentstore.Info{Name: segmentstore.SegmentName(id), SizeBytes: 10, ModTime: at}, unreadable) {
					return
				}
			}
		}
	})
	now := time.Unix(5000, 0)
	e.now = func() time.Time { now = now.Add(storeCheckEvery); return now }
	check := func(when, want string) {
		t.Helper()
		list, err := e.List(t.Context())
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %v, %v", when, list, err)
		}
		x := list[0]
		text := fmt.Sprintf("%s %s %s", x.State, x.WaitsFor, x.Error)
		if x.Proof != nil {
			text += fmt.Sprintf(" %d/%d", x.Proof.Unnamed, x.Proof.Segments)
		}
		for _, n := range x.Nodes {
			text += fmt.Sprintf("; %s %s %s%s", n.Address, n.State, n.WaitsFor, n.Problem)
		}
		if text = strings.NewReplacer(a.address, "A", b.address, "B", c.address, "C").Replace(text); text != want {
			t.Errorf("%s: %s\nwant %s", when, text, want)
		}
		if (x.State == erasure.Done) == x.EndedAt.IsZero() {
			t.Errorf("%s: it ended at %v", when, x.EndedAt)
		}
	}
	set := func(r *replica, state erasure.State, wait erasure.Wait, reason string) {
		x := begun
		x.State, x.WaitsFor, x.Error = state, wait, reason
		if state != erasure.Working {
			x.EndedAt = requested.Add(time.Minute)
		}
		r.erasures.Store([]erasure.Erasure{x})
	}
	if n, err := f.CountShared(t.Context(), 5); n != 3 || err != nil {
		t.Errorf("shared files: %d, %v", n, err)
	}
	if _, err := e.Erase(t.Context(), erasure.Request{Repository: 5}); err != nil {
		t.Fatal(err)
	}
	check("no replica has applied it", "erasing workers ; A erasing workers; B erasing workers")
	set(a, erasure.Done, "", "")
	set(b, erasure.Working, erasure.WaitForSegments, "")
	check("one is done", "erasing segments ; A done ; B erasing segments")
	set(b, erasure.Done, "", "")
	check("an old object is left", "erasing segments  1/4; A done ; B done ")
	unreadable = errors.New("denied")
	check("the store cannot be read", "erasing shards ; A done ; B done ;   list the segment store: denied")
	unreadable = nil
	delete(objects, segment.ID{3})
	check("it is deleted", "done   0/3; A done ; B done ")

	const lost = `the session is refused: "not ready"`
	b.lost.Store(true)
	c.lost.Store(true)
	for _, s := range f.shares {
		clocktest.WaitUntil(t, "they are lost", func() bool { return len(s.listReached()) == 1-int(s.owned[0]) })
	}
	check("a replica of the share is lost", "erasing shards ; A done ; B  "+lost)
	b.lost.Store(false)
	clocktest.WaitUntil(t, "it is back", func() bool { return len(f.shares[0].listReached()) == 2 })
	check("the other share is lost", "erasing shards ; A done ; B done ;   shard is lost: no replica of the share 1 answers")
	b.older.Store(true)
	check("one is of an older release", "erasing shards ; A done ; B  the shard refuses the operation: its release is older than that of the front")
	b.older.Store(false)
	set(b, erasure.Failed, "", "a branch leads to it")
	list, err := e.List(t.Context())
	if err != nil || list[0].State != erasure.Failed || list[0].Error != "share 0: a branch leads to it" {
		t.Errorf("one has failed: %+v, %v", list, err)
	}

	a.refused.Store(true)
	b.older.Store(true)
	if _, err := f.CountShared(t.Context(), 5); !errors.Is(err, failure.ErrUnavailable) || !strings.Contains(err.Error(), "nothing is erased") || !strings.Contains(err.Error(), "the rows cannot be read") {
		t.Errorf("no replica plans it: %v", err)
	}
}
