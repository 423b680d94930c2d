package github

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hosttest"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// installationLog is a log and the repositories registered in it.
type installationLog struct {
	mu         sync.Mutex
	registered map[code.RepositoryID]code.Repository
	events     int
}

func (l *installationLog) Append(_ context.Context, _ event.Topic, _ int32, records ...event.Record) ([]event.Position, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, rec := range records {
		_, ev, err := event.Decode(rec)
		if err != nil {
			return nil, err
		}
		l.events++
		if e, ok := ev.(*event.RepositoryRegistered); ok {
			l.registered[e.Repository.ID] = e.Repository
		}
	}
	return make([]event.Position, len(records)), nil
}

func (l *installationLog) Join(ctx context.Context, _ string, _ event.Topic, handle func(context.Context, eventlog.Assignment) error) error {
	return handle(ctx, onlyPartition{})
}

type onlyPartition struct{ eventlog.Reader }

func (onlyPartition) Partition() int32                           { return 0 }
func (onlyPartition) Commit(context.Context, event.Offset) error { return nil }

func (l *installationLog) Current(context.Context) (discovery.Snapshot, error) { return l, nil }

func (l *installationLog) ByID(id code.RepositoryID) (code.Repository, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, ok := l.registered[id]
	return r, ok
}
func (l *installationLog) PrivateMark(code.RepositoryID) event.Offset { return 0 }

func (l *installationLog) ByCloneURL(string) (code.Repository, bool) { return code.Repository{}, false }
func (l *installationLog) All() iter.Seq[code.Repository]            { return maps.Values(l.registered) }

// TestTwentyThousandRepositories syncs a large organization twice: within bounded memory,
// and without events the second time.
func TestTwentyThousandRepositories(t *testing.T) {
	const count, maxGrowth = 20_000, 200 << 20
	percent := debug.SetGCPercent(100) // what servers run with
	t.Cleanup(func() { debug.SetGCPercent(percent) })
	repos := hosttest.Repos("acme", count)
	server := hosttest.NewServer(t, false, func(base string) http.Handler { return serve(base, repos) })
	l := &installationLog{registered: map[code.RepositoryID]code.Repository{}}
	s, err := discovery.New(discovery.Options{
		Kinds: map[code.HostKind]discovery.Open{code.GitHub: Open}, Log: l, Catalog: l,
		Admit: func(context.Context, code.Repository) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	used := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse
	}
	debug.FreeOSMemory()
	before, peak := used(), uint64(0)
	var mu sync.Mutex
	server.OnRequest(func() {
		mu.Lock()
		defer mu.Unlock()
		peak = max(peak, used())
	})
	s.SetConnections([]discovery.Connection{{Name: "a", Kind: code.GitHub, URL: server.URL, Token: "t", Targets: discovery.Targets{Orgs: []string{"acme"}}}}, []string{"a"})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	defer func() { cancel(); <-done }()

	waitForSync := func(after time.Time) discovery.State {
		t.Helper()
		var state discovery.State
		clocktest.WaitUntil(t, "the end of the sync", func() bool {
			state = s.States()[0]
			return !state.Running && state.FinishedAt.After(after)
		})
		return state
	}
	first := waitForSync(time.Time{})
	requests, _ := server.Requests()
	if first.Found != count || first.Registered != count || len(first.Issues) > 0 {
		t.Fatalf("found %d, registered %d, issues %v", first.Found, first.Registered, first.Issues)
	}
	s.RequestSync("a", false)
	second := waitForSync(first.FinishedAt)
	all, unchanged := server.Requests()
	if second.Found != count || l.events != count || unchanged != all-requests || unchanged != requests {
		t.Errorf("the second sync found %d; %d events, %d requests, %d of them answered by 304", second.Found, l.events, all-requests, unchanged)
	}
	t.Logf("%d requests; memory grew by %d MiB at most; %v and %v", requests, int64(peak-before)>>20, first.FinishedAt.Sub(first.StartedAt), second.FinishedAt.Sub(second.StartedAt))
	if int64(peak)-int64(before) > maxGrowth {
		t.Errorf("memory grew by %d bytes, at most %d", peak-before, maxGrowth)
	}
}
