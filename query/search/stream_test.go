package search

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/memory"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/schemas/clock"
)

// collect streams a request and returns the combined parts and their number.
func collect(t *testing.T, s *Searcher, v corpus.View, r Request) (*Result, int) {
	t.Helper()
	var files []FileMatch
	var sum Stats
	parts := 0
	result, err := s.Stream(t.Context(), v, r, func(part []FileMatch, stats Stats) error {
		if len(part) == 0 || !slices.IsSortedFunc(part, func(a, b FileMatch) int { return int(b.Score - a.Score) }) {
			t.Errorf("part %d has %d files, or they are not in order", parts, len(part))
		}
		files = append(files, part...)
		sum.Displayed += stats.Displayed
		parts++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if result.Files != nil || sum.Displayed != result.Stats.Displayed && result.Repositories == nil {
		t.Fatalf("the parts display %d matches, the result %d", sum.Displayed, result.Stats.Displayed)
	}
	result.Files = files
	return result, parts
}

// inOrder returns the files of an answer as sorted JSON.
func inOrder(t *testing.T, r *Result) []string {
	t.Helper()
	var out []string
	for i := range r.Files {
		text, err := json.Marshal(&r.Files[i])
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(text))
	}
	slices.Sort(out)
	return out
}

func TestPartsOfStreamAreTheAnswer(t *testing.T) {
	for seed := range uint64(8) {
		m := searchtest.NewModel(t, rand.New(rand.NewPCG(seed, 3)))
		for _, r := range []Request{
			{Query: searchtest.Parse(t, "i"), Matches: 1 << 20},
			{Query: searchtest.Parse(t, "i"), Matches: 7},
			{Query: searchtest.Parse(t, "i e"), Matches: 1 << 20, Display: 5, Whole: true},
			{Query: searchtest.Parse(t, "sym:a"), Matches: 100, ContextLines: 2},
			{Query: searchtest.Parse(t, "file:."), Matches: 1000},
			{Query: searchtest.Parse(t, "select:repo i"), Matches: 1000},
			{Query: searchtest.Parse(t, "type:repo repo"), Matches: 1000},
			{Query: searchtest.Parse(t, "nothing-has-this"), Matches: 1000},
		} {
			for _, maxBytes := range []int64{0, 2000} {
				s := newSearcher(Options{MaxResultBytes: maxBytes})
				want, err := s.Search(t.Context(), m, r)
				if err != nil {
					t.Fatal(err)
				}
				got, _ := collect(t, s, m, r)
				if !slices.Equal(inOrder(t, got), inOrder(t, want)) || !reflect.DeepEqual(got.Repositories, want.Repositories) {
					t.Fatalf("seed %d, %s, %d matches: the stream has %d files, the answer %d, or they differ", seed, r.Query.Root, r.Matches, len(got.Files), len(want.Files))
				}
				if got.Stats.Matches != want.Stats.Matches || got.Stats.Files != want.Stats.Files || got.Stopped != want.Stopped || got.Exhaustive != want.Exhaustive {
					t.Fatalf("seed %d, %s: stream %+v %q, answer %+v %q", seed, r.Query.Root, got.Stats, got.Stopped, want.Stats, want.Stopped)
				}
			}
		}
	}
}

// newTestRun plans a search of a model without a memory limit.
func newTestRun(t *testing.T, m *searchtest.Model, r Request) *searchRun {
	t.Helper()
	plan, err := newSearcher(Options{}).planSearch(t.Context(), m, r)
	if err != nil {
		t.Fatalf("plan %s: %v", r.Query, err)
	}
	plan.orderTasks(math.MaxInt)
	return newSearchRun(plan, memory.NewPool(math.MaxInt64).NewBudget(math.MaxInt64))
}

// newTestStream prepares a stream of all files that contain an i, whose work the test
// runs.
func newTestStream(t *testing.T) (*resultBuilder, *segmentSearcher) {
	t.Helper()
	m := searchtest.NewModel(t, rand.New(rand.NewPCG(1, 3)))
	if len(m.Segments()) < 2 {
		t.Fatal("a test of parts wants segments")
	}
	run := newTestRun(t, m, Request{Query: searchtest.Parse(t, "i"), Matches: 1 << 20})
	ticket, err := newSearcher(Options{}).admission.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ticket.Leave)
	w := ticket.Worker(t.Context().Done())
	w.Pause()
	v := newSegmentSearcher(run.plan.scope, run.plan.display, run.plan.request.Matches, func() bool { return false }, nil)
	t.Cleanup(func() { _ = v.close() })
	return newResultBuilder(run, w, 1<<20), v
}

// TestFirstPartLeavesBeforeTheEnd checks that the first part is sent when the first
// segment is done, not at the end.
func TestFirstPartLeavesBeforeTheEnd(t *testing.T) {
	a, v := newTestStream(t)
	emitted := make(chan struct{}, 100)
	work := func(context.Context) error {
		for i := range a.run.plan.segments {
			a.run.visitTask(v, i)
			if i == 0 {
				<-emitted // blocks forever if the part is held back
			}
		}
		return nil
	}
	parts := 0
	err := a.streamParts(t.Context(), work, func([]FileMatch, Stats) error {
		parts++
		emitted <- struct{}{}
		return nil
	})
	if err = errors.Join(err, a.close()); err != nil || parts < 2 {
		t.Fatalf("%d parts, %v", parts, err)
	}
}

// TestFirstPartOfASlowSearch runs a search whose first segment is done at once and whose
// second takes a minute. The first part is sent within two intervals, and empty parts show
// that the search goes on.
func TestFirstPartOfASlowSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, v := newTestStream(t)
		work := func(ctx context.Context) error {
			for i := range a.run.plan.segments {
				a.run.visitTask(v, i)
				if i == 0 {
					_ = clock.Sleep(ctx, time.Minute)
				}
			}
			return nil
		}
		began := time.Now()
		var first time.Duration
		empty := 0
		err := a.streamParts(t.Context(), work, func(files []FileMatch, _ Stats) error {
			if first == 0 && len(files) > 0 {
				first = time.Since(began)
			}
			if len(files) == 0 {
				empty++
			}
			return nil
		})
		if err = errors.Join(err, a.close()); err != nil {
			t.Fatal(err)
		}
		if first == 0 || first > 2*partInterval {
			t.Errorf("the first part came after %v, want at most %v", first, 2*partInterval)
		}
		if want := int(time.Minute/partIdle) - 1; empty != want && empty != want+1 {
			t.Errorf("%d empty parts in a minute, want one each %v", empty, partIdle)
		}
	})
}

// TestErrorOfEmitEndsTheSearch checks that the search ends when its reader is gone.
func TestErrorOfEmitEndsTheSearch(t *testing.T) {
	a, v := newTestStream(t)
	gone := errors.New("the reader is gone")
	work := func(ctx context.Context) error {
		a.run.visitTask(v, 0)
		<-ctx.Done() // blocks forever if the search does not end
		return ctx.Err()
	}
	err := a.streamParts(t.Context(), work, func([]FileMatch, Stats) error { return gone })
	if !errors.Is(err, gone) || a.close() != nil {
		t.Fatalf("got %v", err)
	}
}

// TestPartsAreBounded checks that a large answer is sent in parts of bounded size.
func TestPartsAreBounded(t *testing.T) {
	m := &searchtest.Model{}
	line := "main " + "file.go " + "Go " + strings.Repeat("needle in a line of hay that is not short\\n", 200)
	m.AddScript(t, strings.TrimSuffix(strings.Repeat(line+"\n", 40), "\n"))
	r := Request{Query: searchtest.Parse(t, "needle"), Matches: 1 << 20}
	if got, parts := collect(t, newSearcher(Options{}), m, r); parts < 5 || got.Stats.Displayed != 40*200 {
		t.Fatalf("%d matches in %d parts", got.Stats.Displayed, parts)
	}
}
