package indexer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/worker"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// hangingHandler is an Indexer at which the first import hangs until its context
// ends.
type hangingHandler struct {
	*Indexer
	began chan struct{}
	hung  atomic.Bool
	cause error
}

func (h *hangingHandler) Handle(ctx context.Context, records []event.Record) (int, error) {
	if IsImport(records[0]) && h.hung.CompareAndSwap(false, true) {
		close(h.began)
		<-ctx.Done()
		h.cause = context.Cause(ctx)
		return 1, ctx.Err()
	}
	return h.Indexer.Handle(ctx, records)
}

// TestRemovalOfARepositoryWhoseImportHangs removes a repository with a worker on a real
// log: the import ends, every push is answered, the mirror is removed, and a second
// registration is handled.
func TestRemovalOfARepositoryWhoseImportHangs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.repo.CommitFiles("a.go", "package a\n")
	b.append(&event.RepositoryRegistered{Repository: b.code, At: time.Unix(1, 0)})
	h := &hangingHandler{Indexer: b.x, began: make(chan struct{})}
	w, err := worker.New(worker.Options{Log: b.log, Handler: h, Lanes: 1, Long: IsImport, Removes: IsRemoval, Name: b.x.Name, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	<-h.began
	first := b.append(b.pushOf("main", 2))
	b.append(b.pushOf("", 3))
	b.append(&event.RepositoryRemoved{Repository: b.code.ID, At: time.Unix(4, 0)})
	second := b.append(&event.RepositoryRegistered{Repository: b.code, At: time.Unix(5, 0)})
	last := b.append(b.pushOf("main", 6))
	b.awaitCommitted(last.Position.Offset + 1)
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if !errors.Is(h.cause, worker.ErrRemoved) {
		t.Errorf("the import ended with %v, want %v", h.cause, worker.ErrRemoved)
	}
	b.allAnswered()
	from := first.Position.Offset
	want := fmt.Sprintf("0 unregistered, 1 unregistered, main by %d since 5, %d unchanged", second.Position.Offset-from, last.Position.Offset-from)
	if got := b.loggedSince(from); got != want {
		t.Errorf("the log says %q, want %q", got, want)
	}
	if name := b.x.Name(first); name != b.code.Name {
		t.Errorf("the name of its repository is %q, want %q", name, b.code.Name)
	}
	if n, err := b.x.Skip(t.Context(), []event.Record{{Key: event.RecordKey(code.RepositoryID(1))}}); n != 1 || !errors.Is(err, worker.ErrPermanent) {
		t.Errorf("an event that cannot be read is skipped: %d, %v", n, err)
	}
}

// awaitCommitted waits until the workers have committed an offset.
func (b *bench) awaitCommitted(offset event.Offset) {
	b.t.Helper()
	for ctx := clocktest.NewContext(b.t); ; {
		committed, err := b.log.Committed(ctx, "quarry-workers", event.TopicEvents)
		if err != nil {
			b.t.Fatal(err)
		}
		if len(committed) > 0 && committed[0] >= offset {
			return
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			b.t.Fatalf("the workers have committed %v, want %d", committed, offset)
		}
	}
}
