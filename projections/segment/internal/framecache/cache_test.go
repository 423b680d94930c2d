package framecache

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"testing"
)

const frameBytes = 64

func newCache(t testing.TB, slots int) *Cache {
	c := New(Options{FrameBytes: frameBytes, LimitBytes: slots * frameBytes, Poison: true})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// fillFrame fills b with the content of the frame with key k.
func fillFrame(b []byte, k Key) {
	for i := 0; i+8 <= len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], uint64(k)*0x9e3779b97f4a7c15+uint64(i))
	}
}

func checkFrame(t *testing.T, h Hold, k Key) {
	t.Helper()
	want := make([]byte, len(h.Bytes()))
	if fillFrame(want, k); !bytes.Equal(h.Bytes(), want) {
		t.Errorf("frame %x holds other bytes", k)
	}
}

// readFrame finds a frame or adds it, like a reader, and reports whether it was found.
func readFrame(t *testing.T, c *Cache, k Key) (h Hold, found bool) {
	if h, found = c.Pin(k); !found {
		var ok bool
		if h, ok = c.Reserve(k, frameBytes); !ok {
			return Hold{}, false
		}
		fillFrame(h.Bytes(), k)
		h.Publish(k)
	}
	checkFrame(t, h, k)
	return h, found
}

func touchFrame(t *testing.T, c *Cache, k Key) bool {
	h, found := readFrame(t, c, k)
	h.Release()
	return found
}

// checkInvariants checks the invariants that are observable while the cache is idle.
func checkInvariants(t *testing.T, c *Cache) {
	t.Helper()
	if held := c.Stats().Held; held != 0 {
		t.Errorf("%d holds are left", held)
	}
	for i := range c.shards {
		s := &c.shards[i]
		seen := map[uint32]bool{}
		for _, q := range []*queue{&s.mu.fresh, &s.mu.kept} {
			for range q.n {
				at := q.pop()
				if seen[at] {
					t.Errorf("slot %d is in the queues twice", at)
				}
				seen[at] = true
				q.push(at)
			}
		}
		if len(seen) != s.mu.used {
			t.Errorf("%d slots in the queues, %d in use", len(seen), s.mu.used)
		}
		for k, at := range s.mu.index {
			if s.slots[at].key != k {
				t.Errorf("index has %x at a slot of %x", k, s.slots[at].key)
			}
		}
	}
}

func TestFrameIsFoundOnceItIsPublished(t *testing.T) {
	c := newCache(t, 8)
	h, ok := c.Reserve(7, 16)
	if !ok || len(h.Bytes()) != 16 {
		t.Fatal("no room in an empty cache")
	}
	if _, found := c.Pin(7); found {
		t.Fatal("found before it was published")
	}
	fillFrame(h.Bytes(), 7)
	h.Publish(7)
	h.Release()
	h, found := c.Pin(7)
	if !found || len(h.Bytes()) != 16 {
		t.Fatal("not found after it was published")
	}
	checkFrame(t, h, 7)
	h.Release()
	checkInvariants(t, c)
}

func TestSecondOfAFrameIsNotFoundButUsable(t *testing.T) {
	c := newCache(t, 8)
	a, _ := c.Reserve(7, frameBytes)
	b, _ := c.Reserve(7, frameBytes)
	for _, h := range []Hold{a, b} {
		fillFrame(h.Bytes(), 7)
		h.Publish(7)
	}
	checkFrame(t, b, 7)
	if h, _ := c.Pin(7); h != a {
		t.Error("the second took the place of the first")
	} else {
		h.Release()
	}
	a.Release()
	b.Release()
	for k := Key(100); k < 200; k++ {
		touchFrame(t, c, k)
	}
	checkInvariants(t, c)
}

func TestMemoryIsBounded(t *testing.T) {
	const slots = 1000
	c := newCache(t, slots)
	for k := Key(1); k < 10*slots; k++ {
		touchFrame(t, c, k)
	}
	if s := c.Stats(); s.Bytes != slots*frameBytes || s.Evictions == 0 {
		t.Errorf("%+v, want %d bytes", s, slots*frameBytes)
	}
	checkInvariants(t, c)
}

func TestHeldFrameStays(t *testing.T) {
	c := newCache(t, 4)
	var held []Hold
	for k := Key(1); k <= 3; k++ {
		h, _ := readFrame(t, c, k)
		held = append(held, h)
	}
	for k := Key(10); k < 100; k++ {
		touchFrame(t, c, k)
	}
	for i, h := range held {
		checkFrame(t, h, Key(i+1))
		if !touchFrame(t, c, Key(i+1)) {
			t.Errorf("frame %d left while it was held", i+1)
		}
	}
	last, _ := readFrame(t, c, 200)
	if _, ok := c.Reserve(201, frameBytes); ok {
		t.Error("room in a cache whose slots are all held")
	}
	for _, h := range append(held, last) {
		h.Release()
	}
	if touchFrame(t, c, 201); !touchFrame(t, c, 201) {
		t.Error("no room after the release")
	}
	checkInvariants(t, c)
}

// TestScanLeavesWhatIsUsed checks that a scan of many times the cache's size does not
// evict frames that are used occasionally, at any pace that a scan permits.
func TestScanLeavesWhatIsUsed(t *testing.T) {
	const slots, hot, scanned = 1000, 400, 20_000
	c := newCache(t, slots)
	for range 2 {
		for k := Key(1); k <= hot; k++ {
			touchFrame(t, c, k)
		}
	}
	for k := Key(0); k < scanned; k++ {
		touchFrame(t, c, 1<<32+k)
	}
	lost := 0
	for k := Key(1); k <= hot; k++ {
		if !touchFrame(t, c, k) {
			lost++
		}
	}
	if lost > hot/20 {
		t.Errorf("a scan drove out %d of %d frames in use", lost, hot)
	}
	checkInvariants(t, c)
}

// TestFrameThatComesBackIsKept checks that a set of frames that exceeds the share for new
// frames is found eventually, although it passes through that share unused the first
// time.
func TestFrameThatComesBackIsKept(t *testing.T) {
	const slots, set = 1000, 700
	c := newCache(t, slots)
	for range 2 { // fills both parts
		for k := Key(0); k < slots/2; k++ {
			touchFrame(t, c, 1<<32+k)
		}
	}
	for k := Key(0); k < slots; k++ {
		touchFrame(t, c, 1<<33+k)
	}
	for range 4 {
		for k := Key(1); k <= set; k++ {
			touchFrame(t, c, k)
		}
	}
	found := 0
	for k := Key(1); k <= set; k++ {
		if touchFrame(t, c, k) {
			found++
		}
	}
	if found < set*9/10 {
		t.Errorf("found %d of %d frames on the fifth time", found, set)
	}
	checkInvariants(t, c)
}

func TestClosedCacheIsEmpty(t *testing.T) {
	c := newCache(t, 4)
	h, _ := readFrame(t, c, 1)
	if err := c.Close(); err != nil || !touchFrame(t, c, 1) {
		t.Fatal("closed under a reader", err)
	}
	h.Release()
	for range 2 {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, found := c.Pin(1); found {
		t.Error("a frame in a closed cache")
	}
	if _, ok := c.Reserve(2, frameBytes); ok {
		t.Error("room in a closed cache")
	}
}

func TestSecondReleasePanics(t *testing.T) {
	c := newCache(t, 4)
	h, _ := readFrame(t, c, 1)
	h.Release()
	defer func() {
		if recover() == nil {
			t.Error("a second release went through")
		}
		h.shard.slots[h.index].holds.Store(0)
	}()
	h.Release()
}

func TestHitAllocatesNothing(t *testing.T) {
	c := newCache(t, 4)
	touchFrame(t, c, 1)
	if n := testing.AllocsPerRun(100, func() {
		h, _ := c.Pin(1)
		h.Release()
	}); n != 0 {
		t.Errorf("%v allocations for a hit", n)
	}
}

// TestConcurrentReaders runs readers that hold two frames each, like a Text, of more
// frames than there is room for. Reused slots are overwritten, so bytes that change under
// a Hold are detected.
func TestConcurrentReaders(t *testing.T) {
	const readers, steps, frames = 8, 4000, 300
	c := newCache(t, 100)
	var group sync.WaitGroup
	for seed := range uint64(readers) {
		group.Go(func() {
			r := rand.New(rand.NewPCG(seed, 1))
			var held [2]Hold
			var keys [2]Key
			for i := range steps {
				at := i % 2
				if keys[at] != 0 {
					checkFrame(t, held[at], keys[at])
				}
				held[at].Release()
				held[at], keys[at] = Hold{}, 0
				k := Key(1 + r.IntN(1+r.IntN(frames)))
				if r.IntN(50) == 0 {
					abandoned, _ := c.Reserve(k, frameBytes) // a frame that could not be read
					abandoned.Release()
					continue
				}
				if h, _ := readFrame(t, c, k); h != (Hold{}) {
					held[at], keys[at] = h, k
				}
			}
			held[0].Release()
			held[1].Release()
		})
	}
	group.Wait()
	checkInvariants(t, c)
	if s := c.Stats(); s.Hits == 0 || s.Evictions == 0 || s.Bytes > 100*frameBytes {
		t.Errorf("%+v", s)
	}
}

func BenchmarkPin(b *testing.B) {
	c := newCache(b, 20_000)
	for k := Key(1); k <= 10_000; k++ {
		h, _ := c.Reserve(k, frameBytes)
		h.Publish(k)
		h.Release()
	}
	b.RunParallel(func(pb *testing.PB) {
		for k := Key(1); pb.Next(); k = k%10_000 + 1 {
			h, ok := c.Pin(k)
			if !ok {
				b.Error("lost")
			}
			h.Release()
		}
	})
}
