package pace

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

var start = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func TestTake(t *testing.T) {
	table, l := New(10), Limit{PerSecond: 10, Burst: 5}
	for i := range 5 {
		if d := table.Take("a", l, 1, start); !d.Allowed || d.Remaining != 4-i || d.Wait != 0 {
			t.Fatalf("request %d: %+v", i, d)
		}
	}
	d := table.Take("a", l, 1, start)
	if d.Allowed || d.Remaining != 0 || d.Wait != 100*time.Millisecond || d.Reset != 500*time.Millisecond {
		t.Fatalf("request beyond the burst: %+v", d)
	}
	if d := table.Take("b", l, 1, start); !d.Allowed {
		t.Errorf("another caller: %+v", d)
	}
	if d := table.Take("a", l, 1, start.Add(d.Wait)); !d.Allowed {
		t.Errorf("after the wait: %+v", d)
	}
	if d := table.Take("a", l, 5, start.Add(time.Hour)); !d.Allowed || d.Remaining != 0 {
		t.Errorf("the whole burst at once: %+v", d)
	}
	if d := table.Take("c", l, 50, start); !d.Allowed || d.Remaining != 0 {
		t.Errorf("more than the burst: %+v", d)
	}
	if d := table.Take("d", Limit{}, 1, start); !d.Allowed || table.Len() != 3 {
		t.Errorf("no limit: %+v, %d callers", d, table.Len())
	}
}

// TestClockGoesBack checks that a clock that is set back blocks no caller for longer than
// a burst takes.
func TestClockGoesBack(t *testing.T) {
	table, l := New(10), Limit{PerSecond: 10, Burst: 5}
	table.Take("a", l, 5, start)
	if d := table.Take("a", l, 1, start.Add(-24*time.Hour)); d.Allowed || d.Wait > time.Second {
		t.Errorf("%+v", d)
	}
}

func TestTableIsBounded(t *testing.T) {
	table, l := New(3), Limit{PerSecond: 1, Burst: 1}
	for _, key := range []string{"a", "b", "c", "a", "d"} { // d replaces b
		table.Take(key, l, 1, start)
	}
	if table.Len() != 3 {
		t.Errorf("%d callers, want 3", table.Len())
	}
	for key, allowed := range map[string]bool{"a": false, "d": false} {
		if d := table.Take(key, l, 1, start); d.Allowed != allowed {
			t.Errorf("%s: %+v", key, d)
		}
	}
	if d := table.Take("b", l, 1, start); !d.Allowed {
		t.Errorf("one that was forgotten: %+v", d)
	}
}

// TestNeverMoreThanTheLimit checks that no caller gets more than the burst and the refill
// in any window, and that the returned wait is sufficient.
func TestNeverMoreThanTheLimit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		l := Limit{PerSecond: 1 + r.IntN(100), Burst: 1 + r.IntN(50)}
		table, now, taken := New(1), start, 0
		for range 300 {
			now = now.Add(time.Duration(r.IntN(int(50 * time.Millisecond))))
			cost := 1 + r.IntN(min(l.Burst, 3))
			d := table.Take("a", l, cost, now)
			if d.Allowed {
				taken += cost
			} else if !table.Take("a", l, cost, now.Add(d.Wait)).Allowed {
				t.Fatalf("%+v: not allowed after %v", l, d.Wait)
			} else {
				now, taken = now.Add(d.Wait), taken+cost
			}
			if most := float64(l.Burst) + now.Sub(start).Seconds()*float64(l.PerSecond) + 0.01; float64(taken) > most {
				t.Fatalf("%+v: %d taken, at most %.2f", l, taken, most)
			}
		}
	}
}

func TestStreams(t *testing.T) {
	s := NewStreams(3, 2)
	leave, full := s.Enter("a", false)
	if full != Room {
		t.Fatal(full)
	}
	s.Enter("a", false)
	if _, full := s.Enter("a", false); full != FullOfCaller {
		t.Errorf("a third of a: %v, want %v", full, FullOfCaller)
	}
	if _, full := s.Enter("a", true); full != Room {
		t.Errorf("one that is exempt: %v, want %v", full, Room)
	}
	if _, full := s.Enter("b", false); full != FullOfAll {
		t.Errorf("a fourth in all: %v, want %v", full, FullOfAll)
	}
	leave()
	leave() // has no effect
	if _, full := s.Enter("b", false); full != Room || s.Open() != 3 {
		t.Errorf("after one left: %v, %d", full, s.Open())
	}
}

func BenchmarkTake(b *testing.B) {
	table, l := New(65536), Limit{PerSecond: 1_000_000, Burst: 1_000_000}
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = fmt.Sprintf("api_key %032d", i)
	}
	for i := 0; b.Loop(); i++ {
		table.Take(keys[i%len(keys)], l, 1, start)
	}
}
