package repair_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections/repair"
	"github.com/quarrysearch/quarry/projections/versions/versionstest"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// repository is the repository of these tests.
var repository = code.Repository{ID: code.NewRepositoryID("test", "anvil"), Kind: code.GenericGitHost, Name: "anvil", CloneURL: "https://code.example/anvil.git", DefaultBranch: "main"}

// appendEvent appends an event of the repository.
func appendEvent(t *testing.T, log eventlog.Log, ev event.Event) event.Position {
	t.Helper()
	rec, err := event.Encode(event.Envelope{ID: fmt.Sprintf("%T", ev), Source: "/test", Time: time.Unix(1, 0)}, ev)
	if err != nil {
		t.Fatal(err)
	}
	at, err := log.Append(t.Context(), event.TopicEvents, eventlog.AnyPartition, rec)
	if err != nil {
		t.Fatal(err)
	}
	return at[0]
}

// requestedRefs returns the refs that repairs requested, in order.
func requestedRefs(t *testing.T, log eventlog.Log) (refs []string) {
	t.Helper()
	high, err := log.HighWater(t.Context(), event.TopicEvents)
	if err != nil {
		t.Fatal(err)
	}
	for rec, err := range event.ReadRange(t.Context(), log, event.TopicEvents, 0, 0, high[0]) {
		if err != nil {
			t.Fatal(err)
		}
		if event.SourceOf(rec) != event.RepairSource {
			continue
		}
		_, ev, err := event.Decode(rec)
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ev.(*event.Push).Ref.Short())
	}
	return refs
}

// TestReindexerRequestsRefs indexes two refs whose segment the segment store has lost. Each
// ref is requested once, in the second check, and again after a while if the request was
// handled but did not help. A third ref with no lost text is not requested.
func TestReindexerRequestsRefs(t *testing.T) {
	log, v := versionstest.Open(t, 1, "")
	appendEvent(t, log, &event.RepositoryRegistered{Repository: repository, At: time.Unix(1, 0)})
	lost := []event.SegmentRef{{ID: strings.Repeat("0123", 8), SizeBytes: 1, TextBytes: 12, Documents: 2}}
	changes := []event.Change{
		{Path: "a.txt", Blob: code.BlobID{1}, Language: "Text", SizeBytes: 6},
		{Path: "b.txt", Blob: code.BlobID{2}, Language: "Text", SizeBytes: 5},
	}
	for ref, indexed := range map[code.Ref]event.RevisionIndexed{
		"refs/heads/release/1": {Segments: lost, Changes: changes}, "refs/heads/main": {Segments: lost, Changes: changes},
		"refs/heads/images": {Changes: []event.Change{{Path: "c.png", Skipped: code.SkipBinary, SizeBytes: 7}}},
	} {
		indexed.Repository, indexed.Ref, indexed.Commit, indexed.DefaultBranch = repository.ID, ref, code.CommitID(strings.Repeat("a", 40)), "main"
		indexed.Cause = appendEvent(t, log, &event.Push{Repository: repository.ID, Ref: ref, Action: event.ActionUpdated, ReceivedAt: time.Unix(2, 0)})
		appendEvent(t, log, &indexed)
	}
	live := v.Live()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1) // bounded: receives one value
	go func() { ended <- live.Runner.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	if err := v.WaitForLog(t.Context(), live); err != nil {
		t.Fatal(err)
	}

	clock, applied, said, current := time.Unix(3, 0), event.Offset(math.MaxInt64), new(bytes.Buffer), false
	r := repair.New(repair.Options{
		Log: log, Acquire: live.Places.Acquire, Store: live.StoreChecker, Logger: slog.New(slog.NewTextHandler(said, nil)),
		Now:     func() time.Time { return clock },
		Current: func() bool { return current },
		Applied: func(context.Context, int32) (event.Offset, error) { return applied, nil },
	})
	const minRepairWait = 5 * time.Minute
	for _, step := range []struct {
		name      string
		do        func()
		requested int // total number of requests
	}{
		{"a check of a process that is behind the log", func() {}, 0},
		{"another one", func() {}, 0},
		{"the first check at the end of the log, which a merge may explain", func() { current = true }, 0},
		{"the second check", func() {}, 2},
		{"a check some minutes later, before the requests have taken effect", func() { applied, clock = 0, clock.Add(minRepairWait) }, 2},
		{"a check after that", func() { applied = math.MaxInt64 }, 4},
		{"another check at that time", func() {}, 4},
		{"a check as many minutes later", func() { clock = clock.Add(minRepairWait) }, 4},
		{"a check twice as many minutes later", func() { clock = clock.Add(minRepairWait) }, 6},
	} {
		step.do()
		r.CheckOnce(t.Context())
		if got := requestedRefs(t, log); len(got) != step.requested || step.requested > 0 && !slices.Equal(got[:2], []string{"main", "release/1"}) {
			t.Errorf("after %s, the requests are %v, want %d, main before release/1", step.name, got, step.requested)
		}
	}
	if !strings.Contains(said.String(), "missing_documents=2") || !strings.Contains(said.String(), "repositories=1 refs=2") {
		t.Errorf("the log says %s", said)
	}
}

// TestMirrorRequesterRequestsOnce requests a mirror for many readers, and again before and
// after the time that must pass between two requests, which doubles.
func TestMirrorRequesterRequestsOnce(t *testing.T) {
	log, _ := versionstest.Open(t, 1, "")
	clock := time.Unix(3, 0)
	r := repair.NewMirrorRequester(log, func() time.Time { return clock }, slog.New(slog.DiscardHandler), repair.NewMetrics(prometheus.NewRegistry()))
	if r.IsWaiting(repository.ID, 0) {
		t.Error("a mirror is awaited that was not requested")
	}
	for range 5 {
		if !r.Request(repository.ID) {
			t.Error("the mirror is not requested")
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1) // bounded: receives one value
	go func() { ended <- r.Run(ctx) }()
	defer func() { stop(); <-ended }()
	awaitRequests := func(n int) {
		t.Helper()
		clocktest.WaitUntil(t, "the request is in the log", func() bool { return !r.IsWaiting(repository.ID, event.Offset(n)) })
		if got := len(requestedRefs(t, log)); got != n {
			t.Errorf("the log has %d requests, want %d", got, n)
		}
	}
	awaitRequests(1)
	if !r.IsWaiting(repository.ID, 0) {
		t.Error("a request that has not taken effect is not awaited")
	}
	for _, step := range []struct {
		later time.Duration
		want  int
	}{{5*time.Minute - 1, 1}, {1, 2}, {5 * time.Minute, 2}, {5 * time.Minute, 3}} {
		clock = clock.Add(step.later)
		if !r.Request(repository.ID) {
			t.Error("the mirror is not requested again")
		}
		awaitRequests(step.want)
	}
}
