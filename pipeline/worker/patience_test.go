package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/schemas/clock"
)

// TestUnreachableHostDelaysOnlyItsKeys runs with a host that does not answer. The records
// that need it wait, together with later ones of the same key; other keys continue; and
// finally its records are given up together, within the patience.
func TestUnreachableHostDelaysOnlyItsKeys(t *testing.T) {
	for _, test := range []struct {
		name    string
		back    time.Duration // when the host is back
		letters int
	}{
		{"back in time", 9 * time.Minute, 0},
		{"back too late", time.Hour, 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := keyedLog("away a away -- a away")
			began := time.Now()
			var calls atomic.Int64
			var handled []string
			_, stop := start(t, Options{Log: l, Lanes: 1, Handler: &batches{handle: func(_ context.Context, values []string) (int, error) {
				if values[0] == "away 0" && time.Since(began) < test.back {
					calls.Add(1)
					return len(values), fmt.Errorf("%w: connection refused", ErrElsewhere)
				}
				handled = append(handled, values...)
				return len(values), nil
			}}})
			_ = clock.Sleep(t.Context(), time.Minute)
			if !slices.Equal(handled, []string{"a 1", "a 4"}) || l.committed() != 0 {
				t.Errorf("%s: apart from the host %v were handled, committed %d", test.name, handled, l.committed())
			}
			_ = clock.Sleep(t.Context(), 11*time.Minute)
			synctest.Wait()
			if len(l.letters) != test.letters || l.committed() != 6 || len(handled) != 5-test.letters {
				t.Errorf("%s: %d letters, committed %d, handled %v; want %d letters, all committed", test.name, len(l.letters), l.committed(), handled, test.letters)
			}
			if n := calls.Load(); n < 20 || n > 120 {
				t.Errorf("%s: the host was tried %d times in ten minutes, want about once in 15 s", test.name, n)
			}
			stop()
		})
	}
}

// Records that failed together for another reason, and then find the host down one by
// one, are also given up together: the patience does not start again for each record.
func TestPatienceDoesNotRestartPerRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := keyedLog("away away away away")
		_, stop := start(t, Options{Log: l, Lanes: 1, Attempts: 2, Handler: &batches{handle: func(_ context.Context, values []string) (int, error) {
			if len(values) > 1 {
				return len(values), errors.New("something else")
			}
			return 1, ErrElsewhere
		}}})
		_ = clock.Sleep(t.Context(), 12*time.Minute)
		synctest.Wait()
		if len(l.letters) != 4 || l.committed() != 4 {
			t.Errorf("%d letters, committed %d after twelve minutes; want 4 and 4", len(l.letters), l.committed())
		}
		stop()
	})
}

// TestThePatienceIsForTheHostAlone has a disk that is full for longer than the patience,
// and then a host that is down for a moment. The simulation found this bug: the records
// were given up after one attempt.
func TestThePatienceIsForTheHostAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := keyedLog("a a")
		began, asked := time.Now(), 0
		_, stop := start(t, Options{Log: l, Lanes: 1, Handler: &batches{handle: func(_ context.Context, values []string) (int, error) {
			if time.Since(began) < 11*time.Minute {
				return len(values), ErrUnavailable
			}
			if asked++; asked == 1 {
				return len(values), ErrElsewhere
			}
			return len(values), nil
		}}})
		_ = clock.Sleep(t.Context(), 15*time.Minute)
		synctest.Wait()
		if len(l.letters) != 0 || l.committed() != 2 {
			t.Errorf("%d letters, committed %d; want none and 2", len(l.letters), l.committed())
		}
		stop()
	})
}
