package shards

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/query/rpc"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// startFrontOfReplicas starts a front with two replicas of one share and one of another, and waits
// until it reaches all.
func startFrontOfReplicas(t *testing.T) (f *Front, a, b, c *replica) {
	t.Helper()
	corpus := newCorpus(t)
	a, b, c = startReplica(t, corpus, 0), startReplica(t, corpus, 0), startReplica(t, corpus, 1)
	peers, err := ParsePeers([]string{"0@" + a.address, "0@" + b.address, "1@" + c.address})
	if err != nil {
		t.Fatal(err)
	}
	f = newFront(t, peers, prometheus.NewRegistry())
	f.runUntilEnd(t)
	for _, s := range f.shares {
		clocktest.WaitUntil(t, "all are reached", func() bool { return len(s.listReached()) == len(s.listReplicas()) })
	}
	return f, a, b, c
}

// TestSnapshotsOfShards has shards create snapshots: one replica of each share does, and shares that
// create none are named.
func TestSnapshotsOfShards(t *testing.T) {
	f, a, b, c := startFrontOfReplicas(t)
	lose := func(r *replica) {
		r.lost.Store(true)
		for _, s := range f.shares {
			clocktest.WaitUntil(t, "it is lost", func() bool {
				return !slices.ContainsFunc(s.listReached(), func(p *peer) bool { return p.Address == r.address })
			})
		}
	}
	if creating, failed := f.ReadSnapshotState(t.Context()); creating || failed != "" {
		t.Errorf("at first: creating %v, %q", creating, failed)
	}
	check := func(when string, want error, named string, created ...int64) {
		t.Helper()
		err := f.CreateSnapshots(t.Context())
		if !errors.Is(err, want) || err != nil && (!strings.Contains(err.Error(), named) || strings.Contains(err.Error(), "127.0.0.1")) {
			t.Errorf("%s: %v, want %v that names %q and no address", when, err, want, named)
		}
		for i, r := range []*replica{a, b, c} {
			if n := r.created.Swap(0); n != created[i] {
				t.Errorf("%s: replica %d creates %d snapshots, want %d", when, i, n, created[i])
			}
		}
	}
	check("all answer", nil, "", 1, 0, 1)
	b.created.Store(1)
	if creating, failed := f.ReadSnapshotState(t.Context()); !creating || failed != "" {
		t.Errorf("while a second replica creates one: creating %v, %q", creating, failed)
	}
	check("a second replica creates one", failure.ErrConflict, "a shard is creating a snapshot", 0, 1, 0)
	a.older.Store(true)
	check("one is not updated yet", nil, "", 0, 1, 1)
	b.older.Store(true)
	check("a share is not updated yet", failure.ErrConflict, "share 0: the shard refuses the operation: its release is older", 0, 0, 1)
	a.older.Store(false)
	b.older.Store(false)
	a.refused.Store(true)
	check("one refuses", failure.ErrConflict, "share 0: the shard refuses the operation", 0, 0, 1)
	a.failed.Store("the disk is full")
	b.failed.Store("an old failure of a replica that creates none")
	want := fmt.Sprintf("share 0 at %s: the disk is full", a.address)
	if creating, failed := f.ReadSnapshotState(t.Context()); creating || failed != want {
		t.Errorf("after failures: creating %v, %q, want %q", creating, failed, want)
	}
	lose(a)
	check("a replica is lost", nil, "", 0, 1, 1)
	lose(c)
	check("a share is lost", failure.ErrUnavailable, "no replica of the share 1 answers", 0, 1, 0)
	if creating, failed := f.ReadSnapshotState(t.Context()); creating || !strings.Contains(failed, "no replica of the share 1 answers") {
		t.Errorf("with a lost share: creating %v, %q", creating, failed)
	}
}

// TestSnapshotOfOlderShard has a shard of a release without snapshots on request create one.
func TestSnapshotOfOlderShard(t *testing.T) {
	older := httptest.NewServer(http.NotFoundHandler())
	defer older.Close()
	p := rpc.Peer{Address: older.Listener.Addr().String(), Secret: testSecret}
	if err := p.CreateSnapshot(t.Context()); !errors.Is(err, rpc.ErrOperation) || !strings.Contains(err.Error(), "its release is older") {
		t.Errorf("%v, want ErrOperation and the reason", err)
	}
}
