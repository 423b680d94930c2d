package bench

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/suite"
)

// fake answers with the given times, in turn, and finds its word from the n-th query on.
type fake struct {
	times []time.Duration
	err   error
	found int64
	asked atomic.Int64
}

func (f *fake) Search(context.Context, engine.Request) (engine.Answer, error) {
	n := f.asked.Add(1)
	a := engine.Answer{Elapsed: f.times[int(n-1)%len(f.times)], Matches: 3, Files: 2}
	if n < f.found {
		a.Matches = 0
	}
	return a, f.err
}

func TestAsk(t *testing.T) {
	const ms = time.Millisecond
	f := &fake{times: []time.Duration{90 * ms, 5 * ms, 1 * ms, 3 * ms}}
	got := measureQuery(context.Background(), f, engine.Request{}, 3, defaultQueryBudget)
	if got.First != 90*ms || got.Median != 3*ms || got.Matches != 3 || f.asked.Load() != 4 {
		t.Errorf("%+v after %d questions, want first 90 ms, median 3 ms after 4", got, f.asked.Load())
	}
	slow := &fake{times: []time.Duration{defaultQueryBudget * 2 / 5}}
	if got := measureQuery(context.Background(), slow, engine.Request{}, 5, defaultQueryBudget); got.Median != defaultQueryBudget*2/5 || slow.asked.Load() != 2 {
		t.Errorf("slow query: %d questions, want a warm-up and one run", slow.asked.Load())
	}
	slower := &fake{times: []time.Duration{defaultQueryBudget * 2 / 3}}
	if got := measureQuery(context.Background(), slower, engine.Request{}, 5, defaultQueryBudget); got.Median != got.First || slower.asked.Load() != 1 {
		t.Errorf("%+v after %d questions, want the warm-up alone", got, slower.asked.Load())
	}
	if got := measureQuery(context.Background(), &fake{times: []time.Duration{ms}, err: errors.New("no")}, engine.Request{}, 3, defaultQueryBudget); got.err == nil || got.isMeasured() {
		t.Errorf("error: %+v", got)
	}
}

func TestGeometricMean(t *testing.T) {
	timings := []timing{{Median: 1000}, {Median: 100_000}, {Median: 7, err: errors.New("no")}, {Median: 10}}
	if got := geometricMean(timings, func(i int) bool { return i < 3 }); got < 9_990 || got > 10_010 {
		t.Errorf("geometric mean %d, want 10000", got)
	}
	best := fasterTimings([]timing{{Median: 5}, {Median: 2}, {err: errors.New("no")}}, []timing{{Median: 3}, {Median: 4}, {Median: 9}})
	if best[0].Median != 3 || best[1].Median != 2 || best[2].Median != 9 {
		t.Errorf("better: %+v", best)
	}
}

// slowFake takes as long as its answers say.
type slowFake struct{ fake }

func (f *slowFake) Search(ctx context.Context, request engine.Request) (engine.Answer, error) {
	answer, err := f.fake.Search(ctx, request)
	<-time.After(answer.Elapsed) // of the bubble
	return answer, err
}

func TestLoadCountsQueriesAndErrors(t *testing.T) {
	const ms = time.Millisecond
	queries := []suite.Query{{Text: "a"}, {Text: "b"}}
	synctest.Test(t, func(t *testing.T) {
		f := &slowFake{fake{times: []time.Duration{ms, 3 * ms}}}
		load := measureLoad(t.Context(), f, queries, engine.ZoektRequest, 20*ms)
		if int64(load.Queries) != f.asked.Load() || load.Errors != 0 || load.P99 != 3*ms || load.Wall < 20*ms || load.Wall > 23*ms {
			t.Errorf("%+v after %d questions, want as many queries without errors in 20 to 23 ms, the slowest 3 ms", load, f.asked.Load())
		}
		f = &slowFake{fake{times: []time.Duration{ms}, err: errors.New("no")}}
		if load := measureLoad(t.Context(), f, queries, engine.ZoektRequest, 5*ms); load.Queries != 0 || load.Errors != 5*loadClients {
			t.Errorf("failing server: %+v, want %d errors", load, 5*loadClients)
		}
	})
}
