package views

import (
	"bytes"
	"context"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/projections/store/storetest"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/query/rpc"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/seedtest"
	"github.com/quarrysearch/quarry/schemas/sharding"
)

// openShare applies the log to projections that hold the places of a share of the
// partitions, and returns a session with a server that serves their view once.
func (x *worldIndex) openShare(text string) search.Shard {
	x.t.Helper()
	share, err := sharding.ParseShare(text, "")
	if err != nil {
		x.t.Fatal(err)
	}
	rows, err := store.Open("store", store.Options{FileSystem: storetest.NewMemory().FileSystem(), CacheBytes: store.MinCacheBytes})
	if err != nil {
		x.t.Fatal(err)
	}
	d := projections.NewDecoder(x.objects)
	all, closeAll := openRegistered(x.t, rows, x.objects, d)
	x.t.Cleanup(func() {
		closeAll()
		if err := rows.Close(); err != nil {
			x.t.Error(err)
		}
	})
	known, held := versions.FindProjections(all)
	err = followLog(rows, x.newLog(), d, all, func(p projections.Projection, partition int32) bool {
		return p != projections.Projection(held) || share.Has(partition)
	})
	if err != nil {
		x.t.Fatal(err)
	}
	partitions, err := share.Partitions(historyPartitions)
	if err != nil {
		x.t.Fatal(err)
	}
	view := openView(x.t, known, held)
	for _, seg := range view.Segments() {
		if !share.Has(seg.Partition) {
			x.t.Errorf("share %s has a segment of partition %d", text, seg.Partition)
		}
	}
	session := search.New(search.Options{MaxDuration: 10 * time.Hour}).NewShardSession(view, partitions, nil)
	secret := bytes.Repeat([]byte("s"), rpc.MinSecretBytes)
	server, err := rpc.NewServer(rpc.ServerOptions{
		Secret: secret, Partitions: partitions, OpenSession: func(context.Context, []byte) (search.Shard, error) { return session, nil },
	})
	if err != nil {
		x.t.Fatal(err)
	}
	listener := httptest.NewServer(server)
	x.t.Cleanup(func() {
		_ = server.Close() // never fails
		listener.Close()
	})
	return (&rpc.Peer{Address: listener.Listener.Addr().String(), Secret: secret, Owned: partitions}).NewSession(nil)
}

// TestSharesAnswerAsTheWhole compares the answers of projections that hold shares of the
// partitions with those of projections that hold everything, over random histories.
func TestSharesAnswerAsTheWhole(t *testing.T) {
	seed := seedtest.ChooseSeed(t)
	found := 0
	for round := range uint64(3) {
		x := effectHistory(t, seed+round, 60)
		for _, shares := range []string{"0/1", "0/2 1/2", "1 0"} {
			var sessions []search.Shard
			for text := range strings.FieldsSeq(shares) {
				sessions = append(sessions, x.openShare(text))
			}
			front, err := search.NewShards(t.Context(), sessions)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(front.Release)
			for _, text := range historyQueries {
				q, err := syntax.Parse(text, syntax.Options{})
				if err != nil {
					t.Fatal(err)
				}
				got, want := listResults(t, front, q), x.runQuery(q)
				if !slices.Equal(got, want) {
					t.Fatalf("%s at shares %s:\n%s\nwant\n%s", text, shares, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				found += len(got) - 1
			}
		}
	}
	if found == 0 { // one history may end with every repository erased, three hardly
		t.Error("no query finds anything in three histories")
	}
}
