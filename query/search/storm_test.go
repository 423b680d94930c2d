package search

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/query/search/internal/admission"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/query/syntax"
)

// TestStormLeavesNothing has clients search many small segments on two processors, and some of
// them may not see everything. Searches become heavy in the middle of a lookup, and some are
// canceled there. Every search ends, and no slot, helper or memory stays taken.
func TestStormLeavesNothing(t *testing.T) {
	seed := searchtest.FirstSeed(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	rng := rand.New(rand.NewPCG(seed, 53))
	m := searchtest.NewModel(t, rng)
	for len(m.Documents) < 400 {
		m.AddDocument(rng, searchtest.FillerText(rng, 200+rng.IntN(20_000)))
	}
	m.BuildIndex(t, 40)
	s := newSearcher(Options{})
	s.admission = admission.New(admission.Options{
		Processors: 2, MaxInteractive: 3, MaxWait: time.Hour, MaxHeavy: 2, MaxHeavyWaiting: 4, Slice: 20 * time.Microsecond,
	})
	var clients sync.WaitGroup
	for client := range uint64(8) {
		clients.Go(func() {
			a := searchtest.Asker{Rand: rand.New(rand.NewPCG(seed, client)), Model: m}
			for range 20 {
				err := searchInStorm(t.Context(), s, m, a)
				if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) && !errors.Is(err, ErrBusy) {
					t.Errorf("seed %d, client %d: %v", seed, client, err)
				}
			}
		})
	}
	clients.Wait()
	if n := s.admission.Counts(); n.Interactive != 0 || n.Waiting != 0 || n.Heavy != 0 || n.HeavyWaiting != 0 || n.Demotions == 0 {
		t.Errorf("seed %d: left over: %+v", seed, n)
	}
	if len(s.helpers) != 0 {
		t.Errorf("seed %d: %d helpers are still taken", seed, len(s.helpers))
	}
	if used := s.memory.UsedBytes(); used != 0 {
		t.Errorf("seed %d: %d bytes of memory are still reserved", seed, used)
	}
}

// searchInStorm runs a random search, of which the caller may see the answer in parts, and leave
// in the middle.
func searchInStorm(ctx context.Context, s *Searcher, m *searchtest.Model, a searchtest.Asker) error {
	view := a.HideSome()(m)
	r := Request{Matches: []int{1, 10, 100, 1 << 16}[a.IntN(4)], Related: a.IntN(4) == 0, Facets: a.IntN(4) == 0}
	text := a.PickOne("kmalloc", "kfree struct", "filler_", "return kfree or naïve", `/filler_1\d+/`, "sym:kmalloc", "struct -kmalloc", "nosuchword", "lang:go return", "file:src kfree")
	var err error
	if r.Query, err = syntax.Parse(text, syntax.Options{}); err != nil {
		return err
	}
	var emit Emit
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	switch a.IntN(4) {
	case 0:
		emit = func([]FileMatch, Stats) error { cancel(); return nil }
	case 1:
		emit = func([]FileMatch, Stats) error { return nil }
	case 2:
		ctx, cancel = context.WithTimeout(ctx, time.Duration(a.IntN(3000))*time.Microsecond)
		defer cancel()
	}
	result, err := s.Stream(ctx, view, r, emit)
	if err == nil {
		result.Release()
	}
	return err
}
