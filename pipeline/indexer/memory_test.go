package indexer

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	runtimemetrics "runtime/metrics"
	"strings"
	"sync"
	"testing"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
)

// heapMeter records the largest heap in use while a segment is stored, when its builder
// is full.
type heapMeter struct {
	segmentstore.Store
	mu   sync.Mutex
	most int64
	puts int
}

func (m *heapMeter) Put(ctx context.Context, name, path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.most, m.puts = max(m.most, heldBytes()), m.puts+1
	return m.Store.Put(ctx, name, path)
}

// heldBytes returns the bytes of the heap that are in use: the least that one of three
// collections finds. A collection also counts what other goroutines allocate while it
// marks, which on a busy machine is mostly garbage.
func heldBytes() int64 {
	least := int64(math.MaxInt64)
	live := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for range 3 {
		runtime.GC()
		runtimemetrics.Read(live)
		least = min(least, int64(live[0].Value.Uint64()))
	}
	return least
}

// sourceText returns text with as many postings as source code.
func sourceText(rng *rand.Rand, size int) string {
	var b strings.Builder
	for b.Len() < size {
		fmt.Fprintf(&b, "func (r *reader%d) load%d(ctx context.Context) error { return r.state[%d].fetch(ctx) }\n", rng.IntN(1000), rng.IntN(1000), rng.IntN(100))
	}
	return b.String()
}

// TestImportHoldsWhatItsSlotsHold imports many branches with the text of many segments:
// memory is bounded by the slots, not by the number of branches or the amount of text.
func TestImportHoldsWhatItsSlotsHold(t *testing.T) {
	const (
		branches     = 40
		segmentBytes = 2 << 20
		slots        = 2
		// factor is the memory that building a segment takes per byte of text, in
		// hundredths; the memory plan in cmd/internal/config relies on it. In addition, a
		// builder takes fixedBytes, and the batch, the mirror and the log take restBytes.
		factor     = 160
		fixedBytes = 8 << 20
		restBytes  = 12 << 20
	)
	b := newBench(t, "**")
	rng := rand.New(rand.NewPCG(1, 14))
	b.repo.CommitFiles("a.go", sourceText(rng, 1000))
	for i := range branches {
		branchAt(b.repo, fmt.Sprintf("b%d", i), "main")
		b.repo.CommitFiles(fmt.Sprintf("f%d.go", i), sourceText(rng, segmentBytes/4))
	}
	b.repo.Git("checkout", "--quiet", "main")
	meter := &heapMeter{Store: b.store}
	b.x.o.Segments, b.x.o.SegmentBytes, b.x.o.Slots = meter, segmentBytes, segment.NewSlots(slots, nil)
	before := heldBytes()
	b.registerRepository()
	held := meter.most - before
	if most := int64(slots*(segmentBytes*factor/100+fixedBytes) + restBytes); held > most || meter.puts < branches/4 {
		t.Errorf("%d KiB held while %d segments were built, at most %d KiB expected", held>>10, meter.puts, most>>10)
	}
	t.Logf("%d KiB held, %d segments", held>>10, meter.puts)
}
