package segment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
)

// TestSlotsTakeTurns checks that slots are given to waiting callers in order, and that
// busy is called when the first is taken and the last is released.
func TestSlotsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []bool
		s := NewSlots(2, func(busy bool) { said = append(said, busy) })
		for range 2 {
			if err := s.Acquire(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Acquire(canceled); !errors.Is(err, context.Canceled) {
			t.Errorf("a third: %v, want %v", err, context.Canceled)
		}
		var order []int
		for i := range 5 {
			go func() {
				if s.Acquire(t.Context()) == nil {
					order = append(order, i)
				}
			}()
			synctest.Wait()
		}
		for range 7 {
			s.Release()
			synctest.Wait()
		}
		if !slices.Equal(order, []int{0, 1, 2, 3, 4}) || fmt.Sprint(said) != "[true false]" {
			t.Errorf("slots were given to %v, busy said %v", order, said)
		}
	})
}
