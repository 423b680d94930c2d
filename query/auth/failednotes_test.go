package auth_test

import (
	"fmt"
	"testing"
	"time"
)

// TestFailedSignInsOfManyAddresses checks that each failed sign-in is recorded, up to a
// limit shared by all addresses, and that the next entry reports how many were not.
func TestFailedSignInsOfManyAddresses(t *testing.T) {
	w := newWorld(t)
	const bound, more = 20_000, 1000
	for i := range bound + more {
		w.trySignIn(fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255), "nobody@example.org", "wrong password")
	}
	if n := w.records.len(); n != bound {
		t.Fatalf("%d entries of %d failures, want %d", n, bound+more, bound)
	}
	w.clock.advanceBy(time.Second)
	w.trySignIn("192.0.2.77", "nobody@example.org", "wrong password")
	if last := w.records.all[w.records.len()-1]; w.records.len() != bound+1 || last.Metadata["suppressed"] != fmt.Sprint(more) {
		t.Errorf("%d entries, the last %+v", w.records.len(), last)
	}
}
