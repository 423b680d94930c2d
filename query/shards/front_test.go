package shards

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/rpc"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// reached are positions that the rows of the front have reached.
type reached struct{}

func (reached) WaitFor(context.Context, event.LogPosition, func(*code.Repository) bool) ([]event.Offset, error) {
	return nil, nil
}

// TestWaitForShards checks that requests wait until a shard has applied what the front has, all
// of them with the probes of one, and not for a shard that is lost.
func TestWaitForShards(t *testing.T) {
	secret := bytes.Repeat([]byte("s"), rpc.MinSecretBytes)
	var next, probes atomic.Int64
	next.Store(4)
	server, err := rpc.NewServer(rpc.ServerOptions{
		Secret: secret, Partitions: []int32{0}, OpenSession: func(context.Context, []byte) (search.Shard, error) { return nil, errors.New("not used") },
		State: func() (*rpc.State, error) {
			probes.Add(1)
			return &rpc.State{Next: []int64{next.Load(), 0}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	defer web.Close()
	peers, err := ParsePeers([]string{web.Listener.Addr().String(), "127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewFront(FrontOptions{
		Peers: peers, Secret: secret, Partitions: 2, Positions: reached{}, Settings: func() string { return "same" }, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
		Coverage: func() api.Coverage { return api.Coverage{Next: []event.Offset{5, 9}} },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running, waiting sync.WaitGroup
	running.Go(func() { _ = f.Run(ctx) }) // its error is always nil
	defer running.Wait()
	defer stop()
	clocktest.WaitUntil(t, "the shard is reached", func() bool { return f.CheckReady() == nil })
	before, waits := probes.Load(), 100
	for range waits {
		waiting.Go(func() {
			if _, err := f.WaitFor(ctx, event.LogPosition{}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	waiting.Go(func() {
		if err := f.AwaitApplied(ctx, event.Position{Partition: 0, Offset: 4}); err != nil {
			t.Error(err)
		}
	})
	clocktest.WaitUntil(t, "some probes", func() bool { return probes.Load() >= before+5 })
	early, cancelEarly := context.WithCancel(ctx)
	cancelEarly()
	if _, err := f.WaitFor(early, event.LogPosition{}, nil); err == nil {
		t.Error("the shard has not applied offset 4")
	}
	next.Store(5)
	waiting.Wait()
	if n := probes.Load() - before; n >= int64(waits) {
		t.Errorf("%d waits took %d probes", waits, n)
	}
	if err := f.AwaitApplied(ctx, event.Position{Partition: 1, Offset: 100}); err != nil {
		t.Errorf("a shard that is lost: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := f.AwaitApplied(ended, event.Position{Partition: 0, Offset: 100}); !errors.Is(err, context.Canceled) {
		t.Errorf("the caller leaves: %v, want Canceled", err)
	}
}
