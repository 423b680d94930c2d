package memory

import "testing"

// TestBudgetsShareAPool checks that a budget ends at its own bound and at that of the pool,
// that each search has its first MiB in any case, and that all bytes return to the pool.
func TestBudgetsShareAPool(t *testing.T) {
	pool := NewPool(3 << 20)
	a, b := pool.NewBudget(8<<20), pool.NewBudget(2<<20)
	if !a.Reserve(3<<20) || pool.UsedBytes() != 2<<20 {
		t.Fatalf("3 MiB reserved: %d bytes drawn from the pool, want 2 MiB", pool.UsedBytes())
	}
	if !b.Reserve(1<<20) || b.UsesPool() || !b.Reserve(1<<20) || !b.UsesPool() {
		t.Fatalf("the second search may not hold 2 MiB: %d bytes drawn from the pool", pool.UsedBytes())
	}
	if a.Reserve(1) || !a.Exceeded() || b.Exceeded() {
		t.Fatal("the pool gave more than it has")
	}
	if a.ReleaseAll(); pool.UsedBytes() != 1<<20 {
		t.Fatalf("%d bytes drawn from the pool after the release, want 1 MiB", pool.UsedBytes())
	}
	if b.Reserve(1) || !b.Exceeded() {
		t.Fatal("a search holds more than its own bound")
	}
	b.Reserve(-2 << 20)
	b.ReleaseAll()
	b.ReleaseAll()
	if pool.UsedBytes() != 0 {
		t.Fatalf("%d bytes drawn from the pool at the end", pool.UsedBytes())
	}
}
