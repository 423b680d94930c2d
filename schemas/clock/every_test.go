package clock_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/schemas/clock"
)

// TestRunEvery calls something that once takes longer than a period.
func TestRunEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5500*time.Millisecond)
		defer cancel()
		began, called := time.Now(), []time.Duration(nil)
		err := clock.RunEvery(ctx, time.Second, func(context.Context) {
			called = append(called, time.Since(began))
			if len(called) == 1 {
				<-time.After(1500 * time.Millisecond)
			}
		})
		want := []time.Duration{time.Second, 2500 * time.Millisecond, 3 * time.Second, 4 * time.Second, 5 * time.Second}
		if err != nil || !slices.Equal(called, want) {
			t.Errorf("RunEvery = %v after calls at %v, want calls at %v", err, called, want)
		}
	})
}
