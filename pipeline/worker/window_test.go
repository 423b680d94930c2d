package worker

import (
	"testing"

	"github.com/quarrysearch/quarry/schemas/event"
)

// TestDoneBelowAKey finishes the records of two keys in different orders. The records of
// one key do not hold back the other.
func TestDoneBelowAKey(t *testing.T) {
	w := newWindow(nil)
	check := func(what string, a, b event.Offset) {
		t.Helper()
		if gotA, gotB := w.doneBelow([]byte("a")), w.doneBelow([]byte("b")); gotA != a || gotB != b {
			t.Errorf("%s: done below %d and %d, want %d and %d", what, gotA, gotB, a, b)
		}
	}
	check("nothing read", 0, 0)
	lanes := map[string]*lane{}
	for offset, key := range []string{"a", "b", "a", "b", "c"} {
		begun, err := w.add(t.Context(), event.Record{Key: []byte(key), Position: event.Position{Offset: event.Offset(offset)}}, key != "c")
		if err != nil {
			t.Fatal(err)
		}
		if begun != nil {
			lanes[key] = begun
		}
	}
	check("all read", 0, 1)
	hand := w.takeRecords(lanes["b"], nil, 2)
	check("the records of b are being handled", 0, 1)
	w.finishEntries(hand[:1])
	check("the first of b is done", 0, 3)
	w.finishEntries(hand[1:])
	check("all of b are done", 0, 5)
	if low, _ := w.lowWater(); low != 0 {
		t.Errorf("the low-water mark is %d, want 0", low)
	}
	hand = w.takeRecords(lanes["a"], nil, 2)
	w.finishEntries(hand)
	w.continueLane(lanes["a"])
	check("all are done", 5, 5)
}
