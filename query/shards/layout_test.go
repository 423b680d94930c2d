package shards

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/sharding"
)

func TestLayouts(t *testing.T) {
	t.Parallel()
	many := func(n int) string { // two shares of each pair of partitions
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%d-%d@x%d:1 %d@y%d:1 %d@z%d:1 ", 2*i, 2*i+1, i, 2*i, i, 2*i+1, i)
		}
		return b.String()
	}
	for _, c := range []struct {
		partitions  int32
		peers, want string // the layouts, or the words of an error
	}{
		{4, "0/2@a:1 1/2@b:1", "0/2+1/2"},
		{4, "0/2@a:1 1/2@b:1 1/2@c:1 0/3@d:1 1/3@e:1 2/3@f:1", "0/3+1/3+2/3 0/2+1/2"},
		{4, "0/2@a:1 1/2@b:1 1@c:1 3@d:1", "0/2+1+3 0/2+1/2"},
		{4, "1@c:1 3@d:1 0/2@a:1 1/2@b:1", "0/2+1/2 0/2+1+3"},
		{4, "0/2@a:1 1/2@b:1 3@c:1", "c:1: no other shares complete the share 3: not a share of the partitions: partition 3 has 2 owners"},
		{4, "0/2@a:1 3@b:1", "partition 1 has no owner"},
		{4, "0/2@a:1 1,9@b:1", "b:1: not a share of the partitions: there is no partition 9"},
		{4, "0/2@a:1 0/2@a:1 1/2@b:1", "a:1 twice"},
		{8, many(4), "0+1+2+3+4+5+6+7"},
		{10, many(5), "0+1+2+3+4+5+6+7+8+9"},
		{800, many(400), "0+1+2+3+4+5+6+7"},
		{43, many(20) + "40-41@u:1 41-42@v:1", "in too many ways"},
		{41, many(20), "partition 40 has no owner"},
	} {
		peers, err := ParsePeers(strings.Fields(c.peers))
		if err != nil {
			t.Fatal(err)
		}
		_, layouts, err := groupPeers(peers, c.partitions)
		var names []string
		for _, l := range layouts {
			var shares []string
			for _, s := range l {
				shares = append(shares, s.name)
			}
			names = append(names, strings.Join(shares, "+"))
		}
		if got := strings.Join(names, " ") + fmt.Sprint(err); !strings.Contains(got, c.want) || err == nil && !strings.HasPrefix(got, c.want) {
			t.Errorf("%.200s: %s, want %s", c.peers, got, c.want)
		}
		if err != nil || c.partitions < 8 {
			continue
		}
		all, before := map[string]bool{}, names[len(names)-1]
		for _, name := range names {
			all[name] = true
		}
		if len(all) != maxLayouts || strings.Count(before, "+") != int(c.partitions)/2-1 {
			t.Errorf("%d layouts, want %d; the last one is %.80s, want that of the owners before", len(all), maxLayouts, before)
		}
	}
}

// TestMovingPartitions checks which owners answer while the peers have those of before and the next
// ones: the next ones if they are as current and reached, and those before otherwise, with the
// answer of one process. What is lost at both is named.
func TestMovingPartitions(t *testing.T) {
	t.Parallel()
	files := newCorpus(t)
	other, err := searchtest.New(func(_ string, text []byte) (segment.Document, code.Flags) { return segment.Document{Text: text}, 0 }, searchtest.Repository{
		Repository: &corpus.Repository{Repository: code.Repository{ID: 2, Name: "host/two", DefaultBranch: "main"}}, Files: map[string]string{"a.txt": "a pan"},
	})
	if err != nil {
		t.Fatal(err)
	}
	before, next0, next1 := startReplica(t, files, 0, 1), startReplica(t, files, 0), startReplica(t, other, 1)
	peers, err := ParsePeers([]string{"0-1@" + before.address, "0@" + next0.address, "1@" + next1.address})
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	f := newFront(t, peers, registry)
	f.runUntilEnd(t)
	wantLost := func(n int) {
		t.Helper()
		const name = "quarry_shards_partitions_lost"
		text := fmt.Sprintf("# HELP %s Partitions that answers lack, since no replica of a share that has them is reached.\n# TYPE %s gauge\n%s %d\n", name, name, name, n)
		if err := testutil.GatherAndCompare(registry, strings.NewReader(text), name); err != nil {
			t.Error(err)
		}
	}
	for i, r := range []*replica{before, next0, next1} {
		f.awaitReplica(t, i, r, func(p *peer) bool { return p.state != nil })
	}
	want := printAnswer(t, files) + "[5 5]"
	check := func(what string, ctx context.Context, want string, owners ...*replica) {
		t.Helper()
		sessions := func() (n []int64) {
			for _, r := range []*replica{before, next0, next1} {
				n = append(n, r.sessions.Load())
			}
			return n
		}
		was := sessions()
		if got := searchFront(ctx, t, f); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
		}
		for i, r := range []*replica{before, next0, next1} {
			if answered := sessions()[i] > was[i]; answered != slices.Contains(owners, r) {
				t.Errorf("%s: replica %d has answered: %v", what, i, answered)
			}
		}
	}
	ctx := t.Context()
	current := searchFront(ctx, t, f) // with other scores: the index has another file
	if !strings.HasSuffix(current, want[strings.LastIndexByte(want, '\n'):]) {
		t.Fatalf("the answer of the next owners is\n%s\nwant\n%s", current, want)
	}
	check("all are current", ctx, current, next0, next1)

	next1.age.Store(int64(time.Minute))
	f.awaitReplica(t, 2, next1, func(p *peer) bool { return p.state.Age == time.Minute })
	check("a next owner lags", ctx, want, before)
	if c := f.Coverage(); c.Age > lagTolerance {
		t.Errorf("the coverage is %+v, want that of the owner before", c)
	}
	next1.age.Store(0)
	next1.next.Store(4)
	f.awaitReplica(t, 2, next1, func(p *peer) bool { return p.state.Age == 0 && p.state.Next[1] == 4 })
	check("a next owner has not reached the position", api.WithWantedPosition(ctx, []event.Offset{5, 5}), want, before)
	if _, err := f.WaitFor(ctx, event.LogPosition{}, nil); err != nil {
		t.Errorf("the owner before has reached the position: %v", err)
	}
	next1.next.Store(5)
	f.awaitReplica(t, 2, next1, func(p *peer) bool { return p.state.Next[1] == 5 })

	next0.limit.Store(0)
	check("a next owner breaks off", ctx, want, before, next0, next1)
	if snapshot, err := f.Snapshot(ctx, 1); err != nil {
		t.Errorf("the owner before has the repository while a next one breaks off: %v", err)
	} else {
		snapshot.Release()
	}
	next0.limit.Store(-1)
	next0.lost.Store(true)
	f.awaitReplica(t, 1, next0, func(p *peer) bool { return p.state == nil })
	check("a next owner is lost", ctx, want, before)
	wantLost(0)
	if snapshot, err := f.Snapshot(ctx, 1); err != nil {
		t.Errorf("the owner before has the repository: %v", err)
	} else {
		snapshot.Release()
	}
	before.lost.Store(true)
	f.awaitReplica(t, 0, before, func(p *peer) bool { return p.state == nil })
	if got := searchFront(ctx, t, f); !strings.Contains(got, "exhaustive false, lost [0]") {
		t.Errorf("partition 0 is lost at both: %s", got)
	}
	wantLost(1)
}

// TestMovingPositions waits for positions that some owners have yet to reach: requests do not wait
// for next owners that are behind for long, nor prefer ones of which a part is lost. An event is
// announced once the owners have applied it that a request would choose.
func TestMovingPositions(t *testing.T) {
	t.Parallel()
	files := newCorpus(t)
	before, next0, next1 := startReplica(t, files, 0, 1), startReplica(t, files, 0), startReplica(t, files, 1)
	f := newFront(t, []PeerAddress{
		{before.address, sharding.Share{List: []int32{0, 1}}},
		{next0.address, sharding.Share{List: []int32{0}}}, {next1.address, sharding.Share{List: []int32{1}}},
	}, prometheus.NewRegistry())
	f.runUntilEnd(t)
	set := func(share int, r *replica, next int64, age time.Duration) {
		t.Helper()
		r.next.Store(next)
		r.age.Store(int64(age))
		f.awaitReplica(t, share, r, func(p *peer) bool { return p.state != nil && p.state.Next[0] == next && p.state.Age == age })
	}
	set(0, before, 4, 0)
	set(1, next0, 5, 0)
	set(2, next1, 4, 10*time.Minute)
	waited := make(chan error, 1)
	go func() { _, err := f.WaitFor(clocktest.NewContext(t), event.LogPosition{}, nil); waited <- err }()
	before.next.Store(5)
	if err := <-waited; err != nil {
		t.Errorf("the owner before has reached the position: %v", err)
	}

	set(0, before, 5, 0)
	set(2, next1, 4, 0)
	ctx, cancel := context.WithTimeout(t.Context(), 5*pollEvery)
	defer cancel()
	at := event.Position{Topic: event.TopicEvents, Partition: 1, Offset: 4}
	if err := f.AwaitApplied(ctx, at); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an event is announced, and a search asks an owner that has not applied it: %v", err)
	}
	go func() { waited <- f.AwaitApplied(clocktest.NewContext(t), at) }()
	next1.age.Store(int64(time.Minute)) // so that searches ask the owner before
	if err := <-waited; err != nil {
		t.Error(err)
	}
}

// awaitReplica waits until a probe has found a state of the only replica of a share.
func (f *Front) awaitReplica(t *testing.T, share int, r *replica, found func(*peer) bool) {
	t.Helper()
	s := f.shares[share]
	clocktest.WaitUntil(t, "the state of "+r.address, func() bool {
		p := s.listReplicas()[0]
		p.requestProbe()
		s.mu.Lock()
		defer s.mu.Unlock()
		return found(p)
	})
}
