package reconcile

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world consists of an in-memory log with one partition, and the code hosts of the
// repositories.
type world struct {
	t  *testing.T
	mu struct {
		sync.Mutex
		records   []event.Record
		committed event.Offset
		changed   chan struct{}
		states    map[code.RepositoryID]mirror.State
		errs      map[code.RepositoryID]error
		looks     map[code.RepositoryID][]time.Time
		running   int
		most      int
	}
	// takes is the duration of a check.
	takes time.Duration
}

func newWorld(t *testing.T) *world {
	w := &world{t: t}
	w.mu.changed = make(chan struct{})
	w.mu.states, w.mu.errs = map[code.RepositoryID]mirror.State{}, map[code.RepositoryID]error{}
	w.mu.looks = map[code.RepositoryID][]time.Time{}
	return w
}

// Join assigns the only partition to the caller.
func (w *world) Join(ctx context.Context, _ string, _ event.Topic, handle func(context.Context, eventlog.Assignment) error) error {
	if err := handle(ctx, &assignment{w: w}); err != nil {
		return err
	}
	return ctx.Err()
}

func (w *world) Append(_ context.Context, topic event.Topic, _ int32, records ...event.Record) ([]event.Position, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []event.Position
	for _, rec := range records {
		rec.Position = event.Position{Topic: topic, Offset: event.Offset(len(w.mu.records))}
		rec.Time = time.Now()
		w.mu.records = append(w.mu.records, rec)
		out = append(out, rec.Position)
	}
	close(w.mu.changed)
	w.mu.changed = make(chan struct{})
	return out, nil
}

func (w *world) HighWater(_ context.Context, topic event.Topic) ([]event.Offset, error) {
	if topic != event.TopicEvents {
		return nil, fmt.Errorf("the log has no topic %q", topic)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return []event.Offset{event.Offset(len(w.mu.records))}, nil
}

func (w *world) Committed(context.Context, string, event.Topic) ([]event.Offset, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return []event.Offset{w.mu.committed}, nil
}

// List implements Remotes.
func (w *world) List(ctx context.Context, r code.Repository) (mirror.State, error) {
	w.mu.Lock()
	w.mu.looks[r.ID] = append(w.mu.looks[r.ID], time.Now())
	w.mu.running++
	w.mu.most = max(w.mu.most, w.mu.running)
	s, err := w.mu.states[r.ID], w.mu.errs[r.ID]
	w.mu.Unlock()
	_ = clock.Sleep(ctx, w.takes)
	w.mu.Lock()
	w.mu.running--
	w.mu.Unlock()
	return s, err
}

type assignment struct {
	w    *world
	next int
}

func (a *assignment) Partition() int32 { return 0 }
func (a *assignment) Commit(context.Context, event.Offset) error {
	panic("the reconciler commits nothing")
}
func (a *assignment) Close() error { return nil }

func (a *assignment) Next(ctx context.Context) (event.Record, error) {
	for {
		a.w.mu.Lock()
		if a.next < len(a.w.mu.records) {
			rec := a.w.mu.records[a.next]
			a.next++
			a.w.mu.Unlock()
			return rec, nil
		}
		changed := a.w.mu.changed
		a.w.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return event.Record{}, ctx.Err()
		}
	}
}

// append adds an event, as a webhook or a worker would.
func (w *world) append(ev event.Event) event.Position {
	w.t.Helper()
	rec, err := event.Encode(event.Envelope{ID: "test", Source: "/test", Time: time.Now()}, ev)
	if err != nil {
		w.t.Fatal(err)
	}
	at, _ := w.Append(w.t.Context(), event.TopicEvents, 0, rec)
	return at[0]
}

// commit records that the workers have handled all records in the log.
func (w *world) commit() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.committed = event.Offset(len(w.mu.records))
}

// appendedPushes returns the pushes appended by reconciliation.
func (w *world) appendedPushes() []*event.Push {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*event.Push
	for _, rec := range w.mu.records {
		if _, ev, err := event.Decode(rec); err == nil {
			if p, ok := ev.(*event.Push); ok && p.Connection == connection {
				out = append(out, p)
			}
		}
	}
	return out
}

const (
	main  code.Ref = "refs/heads/main"
	first          = code.CommitID("1111111111111111111111111111111111111111")
	next           = code.CommitID("2222222222222222222222222222222222222222")
	third          = code.CommitID("3333333333333333333333333333333333333333")
)

func repositoryNamed(name string, branches ...string) code.Repository {
	return code.Repository{ID: code.NewRepositoryID("test", name), Kind: code.GenericGitHost, Name: name, CloneURL: "/srv/" + name, Branches: branches}
}

// setBranches sets the host's branches to the given pairs of ref and commit; the first is
// the default branch.
func (w *world) setBranches(r code.Repository, pairs ...string) {
	var s mirror.State
	for i := 0; i < len(pairs); i += 2 {
		s.Revisions = append(s.Revisions, code.Revision{Ref: code.Ref(pairs[i]), Commit: code.CommitID(pairs[i+1])})
	}
	if len(s.Revisions) > 0 {
		s.Default = s.Revisions[0].Ref
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.states[r.ID] = s
}

// appendIndexed appends a worker's event about a ref, caused by the record at cause.
func (w *world) appendIndexed(r code.Repository, ref code.Ref, commit code.CommitID, cause event.Position) {
	w.t.Helper()
	w.append(&event.RevisionIndexed{Repository: r.ID, Ref: ref, Commit: commit, DefaultBranch: "main", Cause: cause, PushedAt: time.Now(), IndexedAt: time.Now()})
	w.commit()
}

// registerIndexed registers a repository whose main is at the commit first, both on the
// host and in the log.
func (w *world) registerIndexed(r code.Repository) {
	w.t.Helper()
	at := w.append(&event.RepositoryRegistered{Repository: r, At: time.Now()})
	w.setBranches(r, string(main), string(first))
	w.appendIndexed(r, main, first, at)
}

// start runs a Reconciler until the test ends.
func (w *world) start(o Options) *Reconciler {
	w.t.Helper()
	o.Log, o.Remotes, o.Workers = w, w, "workers"
	o.Logger, o.Registerer = slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	r, err := New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	})
	return r
}

func driftCount(r *Reconciler) int { return int(testutil.ToFloat64(r.metrics.drift)) }

func lookCount(r *Reconciler, result string) int {
	return int(testutil.ToFloat64(r.metrics.looks.WithLabelValues(result)))
}
