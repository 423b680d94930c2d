package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/proc"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/random"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/suite"
)

// fake is a program whose answers take the given times in turn.
type fake struct {
	dir     string
	times   []time.Duration
	asked   int
	found   int // the number of the first query with an answer
	stopped int
	err     error
}

func (f *fake) Search(context.Context, engine.Request) (engine.Answer, error) {
	f.asked++
	answer := engine.Answer{Elapsed: f.times[(f.asked-1)%len(f.times)], Matches: 7, FilesRead: 3}
	if f.asked < f.found {
		answer.Matches = 0
	}
	return answer, f.err
}

func (f *fake) Import(_ context.Context, sets []importSet) ([]importFigure, error) {
	return make([]importFigure, len(sets)), nil
}
func (f *fake) Start(context.Context, int) error                { return nil }
func (f *fake) Launch() (engine.Searcher, func() error, error)  { return f, f.Stop, nil }
func (f *fake) Searchers() []engine.Searcher                    { return []engine.Searcher{f} }
func (f *fake) Translate(q suite.Query) engine.Request          { return engine.QuarryRequest(q) }
func (f *fake) Push(context.Context, string, corpus.Push) error { return nil }
func (f *fake) Usage() (m proc.Memory, d time.Duration)         { return m, d }
func (f *fake) Index() (string, []string)                       { return filepath.Join(f.dir, "index"), nil }
func (f *fake) Stop() error                                     { f.stopped++; return nil }

func queryOf(class, filter string, limit int) random.Query {
	return random.Query{Query: suite.Query{Class: class, Text: class, Limit: limit}, Filter: filter}
}

// testedComparison returns a comparison of two fakes on n queries of a family.
func testedComparison(t *testing.T, here, before []time.Duration, n int) *comparison {
	t.Helper()
	c := &comparison{Options: Options{Reference: "v1", Runs: 3, Work: t.TempDir(), Log: t.Logf}, queries: map[Step][]random.Query{}}
	c.here = c.addContender("here", func(dir string) program { return &fake{dir: dir, times: here} })
	c.before = c.addContender("v1", func(dir string) program { return &fake{dir: dir, times: before} })
	c.here.sets, c.before.sets = []importSet{{textBytes: 1e9}}, []importSet{{textBytes: 1e9}}
	for range n {
		c.queries[StepRandom] = append(c.queries[StepRandom], queryOf("phrase", random.NoFilter, 10))
	}
	return c
}

const ms = time.Millisecond

// TestWorse measures builds that take 1.2 and 3 times as long, one that is equal except
// for one outlier, and one that is faster.
func TestWorse(t *testing.T) {
	for name, tc := range map[string]struct {
		here []time.Duration
		want []string
		asks int // how often each query group is asked
	}{
		"slower":      {[]time.Duration{12 * ms}, []string{"all random queries (20), geometric mean (1.200)", "phrase (1.200)", "filter none (1.200)", "limit 10 (1.200)"}, 1 + maxAgain},
		"much slower": {[]time.Duration{30 * ms}, []string{"all random queries (20), geometric mean (3.000)", "phrase (3.000)", "filter none (3.000)", "limit 10 (3.000)"}, 1},
		"equal":       {[]time.Duration{10 * ms, 10 * ms, 90 * ms, 10 * ms}, nil, 1},
		"faster":      {[]time.Duration{5 * ms}, nil, 1},
	} {
		c := testedComparison(t, tc.here, []time.Duration{10 * ms}, 20)
		if err := c.askRandom(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, worse := c.buildReport()
		if fmt.Sprint(worse) != fmt.Sprint(tc.want) {
			t.Errorf("%s: %q, want %q\n%s", name, worse, tc.want, r.Markdown())
		}
		asked := 20 * 4 * tc.asks // three runs after one to warm up
		for _, o := range c.contenders {
			if got := o.program.(*fake).asked; got != asked {
				t.Errorf("%s: %s was asked %d times, want %d", name, o.name, got, asked)
			}
		}
	}
}

// TestBrief checks that a build is compared with zoekt by its answers without advice, which
// take half as long here, and with an earlier build by those with it.
func TestBrief(t *testing.T) {
	c := testedComparison(t, []time.Duration{10 * ms, 5 * ms}, []time.Duration{10 * ms}, 20)
	c.zoekt = c.addContender("zoekt", func(dir string) program { return &fake{dir: dir, times: []time.Duration{10 * ms}} })
	c.here.brief = true
	if err := c.askRandom(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, worse := c.buildReport()
	for _, want := range []string{
		"| all random queries (20), geometric mean | 10.00 ms | 10.00 ms | 1.000 | 10.00 ms | 1.000 | 1.03 | ok |",
		"| all random queries (20), without advice | 5.00 ms | 10.00 ms | 0.500 | 10.00 ms | 0.500 |  |  |",
		"| phrase | 20 | 10.00 ms | 10.0 ms | 1.000 | 0 % | 0.500 | 0 % |  |",
	} {
		if text := r.Markdown(); !strings.Contains(text, want) {
			t.Errorf("the report lacks\n%s\n%s", want, text)
		}
	}
	if len(worse) > 0 {
		t.Errorf("worse: %q", worse)
	}
}

// TestSuspicionIsDropped measures a build whose first index is slow: asked again on a new
// one, it is not.
func TestSuspicionIsDropped(t *testing.T) {
	c := testedComparison(t, nil, []time.Duration{10 * ms}, 10)
	var times []time.Duration
	for i := range 10 * 4 * 2 {
		times = append(times, 10*ms)
		if i < 40 {
			times[i] = 11500 * time.Microsecond
		}
	}
	c.contenders[0].program = &fake{dir: c.Work, times: times}
	if err := c.askRandom(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, worse := c.buildReport(); worse != nil {
		t.Errorf("%q, want nothing: the second index is not slower", worse)
	}
}

// TestSlowQueriesRunOnce checks that a query beyond the budget is run once after its
// warm-up, by every program.
func TestSlowQueriesRunOnce(t *testing.T) {
	c := testedComparison(t, []time.Duration{2 * queryBudget}, []time.Duration{10 * ms}, 10)
	if err := c.askRandom(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, o := range c.contenders {
		for i, a := range o.answers[StepRandom] {
			if len(a.times[0]) != 1 {
				t.Errorf("%s: query %d has %d times, want one", o.name, i, len(a.times[0]))
			}
		}
	}
}

// TestFailedQueries checks that a query that fails has no ratio, and that the report says
// so.
func TestFailedQueries(t *testing.T) {
	c := testedComparison(t, []time.Duration{ms}, []time.Duration{ms}, 10)
	c.contenders[0].program.(*fake).err = errors.New("no")
	if err := c.askRandom(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, worse := c.buildReport()
	if len(worse) != 1 || !strings.Contains(worse[0], "10 queries failed") || !strings.Contains(r.Markdown(), "here: phrase: no") {
		t.Errorf("%q, want ten failed queries, and the error in\n%s", worse, r.Markdown())
	}
}

func TestReport(t *testing.T) {
	c := testedComparison(t, []time.Duration{10 * ms}, []time.Duration{10 * ms}, 10)
	c.Suite = []suite.Query{{Class: "phrase", Text: "a b", Mix: suite.MixInteractive}, {Class: "exhaustive", Text: "c"}}
	c.queries[StepSuite] = wrapQueries(c.Suite)
	if err := errors.Join(c.askRandom(t.Context()), c.askStep(t.Context(), StepSuite, c.suiteGroups())); err != nil {
		t.Fatal(err)
	}
	here, before := c.contenders[0], c.contenders[1]
	here.loads[loadInteractive] = []loadFigure{{Queries: 100, Wall: 3 * time.Second, CPU: time.Second}, {Queries: 100, Wall: time.Second, CPU: 2 * time.Second}, {Queries: 50, Wall: time.Second, CPU: time.Second}}
	before.loads[loadInteractive] = []loadFigure{{Queries: 100, Wall: 2 * time.Second, CPU: 2 * time.Second}}
	here.pushes, before.pushes = []time.Duration{30 * ms, 10 * ms, 12 * ms}, []time.Duration{10 * ms, 10 * ms, 10 * ms}
	here.imports = [][]importFigure{{{2 * time.Second, 3 * time.Second, 104 << 20}}, {{time.Second, 4 * time.Second, 110 << 20}}}
	before.imports = [][]importFigure{{{time.Second, 3 * time.Second, 100 << 20}}}
	here.memory.ResidentBytes, before.memory.ResidentBytes = 106<<20, 100<<20
	here.diskBytes, before.diskBytes = 50<<20, 100<<20
	r, worse := c.buildReport()
	text := r.Markdown()
	if got, want := fmt.Sprint(worse), "[push → searchable, p50 (1.200) memory after the queries (1.060)]"; got != want {
		t.Errorf("worse: %s, want %s", got, want)
	}
	for _, want := range []string{
		"| all random queries (10), geometric mean | 10.00 ms | 10.00 ms | 1.000 | 1.03 | ok |",
		"| 8 clients, time per query | 20.0 ms | 20.0 ms | 1.000 | 1.10 | ok |",
		"| 8 clients, processor time per query | 20.0 ms | 20.0 ms | 1.000 | 1.10 | ok |",
		"| push → searchable, p50 | 12.0 ms | 10.0 ms | 1.200 | 1.10 | WORSE |",
		"| push → searchable, slowest | 30.0 ms | 10.0 ms | 3.000 |  |  |",
		"| import | 1.0 s | 1.0 s | 1.000 |  |  |",
		"| import, processor time | 3.0 s | 3.0 s | 1.000 | 1.10 | ok |",
		"| import, peak memory | 104 MiB | 100 MiB | 1.040 | 1.05 | ok |",
		"| memory after the queries | 106 MiB | 100 MiB | 1.060 | 1.05 | WORSE |",
		"| disk | 50 MiB | 100 MiB | 0.500 | 1.05 | ok |",
		"| phrase | 10 | 10.00 ms | 10.0 ms | 1.000 | 0 % |  |",
		"0 % of 10 queries are slower here by more than a tenth.",
		"| phrase | `phrase` | limit 10 | 10.0 ms | 10.0 ms | 1.00 | 7 | 7 | 3 |  |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks\n%s", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// sleeper is a program that takes a second of the bubble for each answer.
type sleeper struct {
	fake
	cpu time.Duration
}

func (s *sleeper) Search(context.Context, engine.Request) (engine.Answer, error) {
	<-time.After(time.Second)
	return engine.Answer{Elapsed: time.Second}, nil
}
func (s *sleeper) Searchers() []engine.Searcher { return []engine.Searcher{s} }
func (s *sleeper) Usage() (proc.Memory, time.Duration) {
	s.cpu += 8 * time.Second
	return proc.Memory{}, s.cpu
}

// TestLoads sends 16 queries by eight clients, which takes two seconds and, as the
// program says, eight seconds of processor time.
func TestLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testedComparison(t, []time.Duration{ms}, []time.Duration{ms}, 16)
		c.Loads = 2
		c.contenders[0].program, c.contenders[1].program = &sleeper{}, &sleeper{}
		if err := c.sendLoads(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, o := range c.contenders {
			wall, cpu := o.perQuery(loadInteractive)
			if len(o.loads[loadInteractive]) != 2 || wall != 2*time.Second/16 || cpu != 8*time.Second/16 {
				t.Errorf("%s: %v; want two loads of 2 s and 8 s for 16 queries", o.name, o.loads)
			}
		}
	})
}
