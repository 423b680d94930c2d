package gather

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestBatchesGatherWhileOneIsWritten blocks the first batch and expects the other items
// to gather, in order and within the bound.
func TestBatchesGatherWhileOneIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var batches [][]int
		release := make(chan struct{})
		q := New(3, 100, func(batch []int) error {
			batches = append(batches, slices.Clone(batch))
			<-release
			return nil
		})
		var callers sync.WaitGroup
		for i := range 6 {
			callers.Go(func() {
				if err := q.Do(t.Context(), i, 1); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		close(release)
		callers.Wait()
		q.Close()
		want := [][]int{{0}, {1, 2, 3}, {4, 5}}
		if !slices.EqualFunc(batches, want, slices.Equal) {
			t.Errorf("batches %v, want %v", batches, want)
		}
	})
}

func TestCancelledItemIsNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var written []int
		release := make(chan struct{})
		q := New(10, 100, func(batch []int) error {
			<-release
			written = append(written, batch...)
			return nil
		})
		var callers sync.WaitGroup
		callers.Go(func() { _ = q.Do(t.Context(), 0, 1) })
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		callers.Go(func() {
			if err := q.Do(ctx, 1, 1); !errors.Is(err, context.Canceled) {
				t.Errorf("Do = %v, want context.Canceled", err)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(release)
		callers.Wait()
		q.Close()
		if !slices.Equal(written, []int{0}) {
			t.Errorf("written %v, want [0]", written)
		}
	})
}

func TestBoundsAndErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failure := errors.New("disk on fire")
		release := make(chan struct{})
		q := New(10, 10, func([]int) error { <-release; return failure })
		var callers sync.WaitGroup
		for i := range 2 { // one being written, one that fills the queue
			callers.Go(func() {
				if err := q.Do(t.Context(), i, 10); !errors.Is(err, failure) {
					t.Errorf("Do = %v, want %v", err, failure)
				}
			})
			synctest.Wait()
		}
		if err := q.Do(t.Context(), 2, 1); !errors.Is(err, ErrFull) {
			t.Errorf("Do = %v, want ErrFull", err)
		}
		close(release)
		callers.Wait()
		q.Close()
		if err := q.Do(t.Context(), 3, 1); !errors.Is(err, ErrClosed) {
			t.Errorf("Do = %v, want ErrClosed", err)
		}
	})
}

// TestUrgentGoesFirst adds an urgent item last, when there is no space for other items,
// and expects it to be written next.
func TestUrgentGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var written []string
		release := make(chan struct{})
		q := New(8, 8, func(batch []string) error {
			<-release
			written = append(written, batch...)
			return nil
		})
		var callers sync.WaitGroup
		do := func(do func(context.Context, string, int) error, item string) {
			callers.Go(func() {
				if err := do(t.Context(), item, 4); err != nil {
					t.Errorf("%s: %v", item, err)
				}
			})
			synctest.Wait()
		}
		do(q.Do, "being written")
		do(q.Do, "first")
		do(q.Do, "second")
		if err := q.Do(t.Context(), "third", 1); !errors.Is(err, ErrFull) {
			t.Errorf("Do = %v, want ErrFull", err)
		}
		callers.Go(func() {
			if err := q.DoUrgent(t.Context(), "urgent", 2); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if err := q.DoUrgent(t.Context(), "too much", 1); !errors.Is(err, ErrFull) {
			t.Errorf("DoUrgent = %v, want ErrFull", err)
		}
		close(release)
		callers.Wait()
		q.Close()
		if want := []string{"being written", "urgent", "first", "second"}; !slices.Equal(written, want) {
			t.Errorf("written %q, want %q", written, want)
		}
	})
}
