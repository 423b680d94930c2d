package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/proc"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/random"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/suite"
)

// TestHeavyList checks that the list with scans is always the same, and that one in
// twenty queries is a scan.
func TestHeavyList(t *testing.T) {
	c := &comparison{Options: Options{Scans: []suite.Query{{Text: "s1"}, {Text: "s2"}}, Steps: []Step{StepScans}}}
	if lists := c.loadQueries(); len(lists[loadHeavy]) != 0 || len(lists[loadInteractive]) != 0 {
		t.Errorf("%v, want no list without interactive queries", lists)
	}
	for i := range 7 {
		c.Suite = append(c.Suite, suite.Query{Text: fmt.Sprint(i), Mix: suite.MixInteractive})
	}
	mix := c.loadQueries()[loadHeavy]
	if len(mix) != 2*heavyEvery || mix[heavyEvery-1].Text != "s1" || mix[2*heavyEvery-1].Text != "s2" || fmt.Sprint(mix) != fmt.Sprint(c.loadQueries()[loadHeavy]) {
		t.Errorf("%v", mix)
	}
}

// moody returns a different list every third time.
type moody struct{ fake }

func (m *moody) Searchers() []engine.Searcher { return []engine.Searcher{m} }
func (m *moody) Search(_ context.Context, q engine.Request) (engine.Answer, error) {
	m.asked++
	a := engine.Answer{Matches: m.asked, FilesRead: 2 * m.asked}
	if q.List {
		a.List = uint64(1 + m.asked%3)
	}
	return a, nil
}

func TestCountLists(t *testing.T) {
	m := &moody{}
	c := &comparison{Options: Options{Suite: []suite.Query{{Class: "limit-100", Text: "x", Limit: 100}, {Class: "phrase", Text: "y"}}}}
	c.here = c.addContender("here", func(string) program { return m })
	if err := c.countLists(t.Context()); err != nil || len(c.here.stable) != 1 || c.here.stable[0] != (stableFigure{Lists: 3, Matches: stableRequests, FilesRead: 2 * stableRequests}) || m.asked != stableRequests {
		t.Errorf("%+v %v after %d questions", c.here.stable, err, m.asked)
	}
}

// TestFirstAnswerWaitsForTheWholeAnswer checks that an incomplete answer does not count
// as the right one.
func TestFirstAnswerWaitsForTheWholeAnswer(t *testing.T) {
	f := &fake{times: []time.Duration{1}, found: 4}
	took, err := firstAnswer(t.Context(), f.Launch, engine.Request{}, 7)
	if err != nil || f.asked != 4 || took < 3*coldPoll || f.stopped != 1 {
		t.Errorf("%s %v after %d questions, stopped %d times", took, err, f.asked, f.stopped)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := firstAnswer(ctx, f.Launch, engine.Request{}, 99); !errors.Is(err, context.Canceled) || f.stopped != 2 {
		t.Errorf("%v, stopped %d times, want Canceled and the server ended", err, f.stopped)
	}
	no := errors.New("no")
	if _, err := firstAnswer(t.Context(), func() (engine.Searcher, func() error, error) { return nil, nil, no }, engine.Request{}, 1); !errors.Is(err, no) {
		t.Errorf("%v, want the start's error", err)
	}
}

// TestRareQuery checks that the rare literal is one that every program finds.
func TestRareQuery(t *testing.T) {
	for found, want := range map[int]error{2: nil, 9: errNoRareQuery} {
		c := &comparison{queries: map[Step][]random.Query{
			StepClasses: wrapQueries([]suite.Query{{Class: suite.ClassSymbolExact, Text: "s"}, {Class: suite.ClassRare, Text: "a"}}), StepRandom: wrapQueries([]suite.Query{{Class: random.RareIdentifier, Text: "b"}}),
		}}
		c.addContender("here", func(string) program { return &fake{times: []time.Duration{1}} })
		c.addContender("there", func(string) program { return &fake{times: []time.Duration{1}, found: found} })
		if q, matches, err := c.rareQuery(t.Context()); !errors.Is(err, want) || want == nil && (q.Text != "b" || len(matches) != 2 || matches[c.contenders[0]] != 7) {
			t.Errorf("%+v %v %v, want the second rare one or %v", q, matches, err, want)
		}
	}
}

func TestProfileTime(t *testing.T) {
	kept, err := profileTime([]byte("File: x\nType: cpu\nShowing nodes accounting for 5480ms, 47.82% of 11460ms total\n      flat\n"))
	if err != nil || kept != 5480*time.Millisecond {
		t.Errorf("%s, %v", kept, err)
	}
	if _, err := profileTime([]byte("no samples")); err == nil {
		t.Error("no totals, no error")
	}
}

// TestStepNamesItsFailure checks that without an earlier build the report names a failed
// step, and that the other steps continue; next to an earlier build, the run ends.
func TestStepNamesItsFailure(t *testing.T) {
	for _, gate := range []bool{false, true} {
		c := testedComparison(t, []time.Duration{ms}, []time.Duration{ms}, 10)
		c.Steps = []Step{StepCold, StepRandom}
		if !gate {
			c.before = nil
		}
		err := c.takeSteps(t.Context())
		asked := len(c.here.answers[StepRandom])
		if named := strings.Contains(fmt.Sprint(c.missing), errNoRareQuery.Error()); gate != errors.Is(err, errNoRareQuery) || gate == named || gate == (asked == 10) {
			t.Errorf("gate %v: %v, %q, %d queries sent", gate, err, c.missing, asked)
		}
	}
}

// TestMachineNeedsText checks that the memory is measured with a text.
func TestMachineNeedsText(t *testing.T) {
	c := &comparison{Options: Options{Corpora: t.TempDir(), Sets: Sets, BandwidthBytes: 1 << 10}, manifest: corpus.Manifest{Repositories: []corpus.Built{{Name: "go", Set: "go"}}}}
	tree := corpus.TreePath(c.Corpora, "go")
	if err := os.MkdirAll(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := c.measureMachine(t.Context()); !errors.Is(err, errNoText) {
		t.Errorf("%v, want errNoText", err)
	}
	if err := os.WriteFile(filepath.Join(tree, "a"), []byte("one"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := c.measureMachine(t.Context()); err != nil || c.bandwidth.Count <= 0 || c.bandwidth.Copy <= 0 {
		t.Errorf("%+v, %v", c.bandwidth, err)
	}
}

// TestKeepsIndex checks that an index is kept only if it is complete, has the requested
// repositories and received no pushes, and that imports are measured again when asked
// for.
func TestKeepsIndex(t *testing.T) {
	c := &comparison{Options: Options{Work: t.TempDir(), Reuse: true}}
	o := c.addContender("here", func(dir string) program { return &quarryProgram{data: filepath.Join(dir, "data")} })
	o.sets = []importSet{{name: "go", repositories: map[string]string{"go": "a"}}}
	if c.keepsIndex(o) {
		t.Error("an index that was not built is kept")
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(importedPath(o)), 0o755), os.WriteFile(importedPath(o), []byte(describeSets(o)), 0o644)); err != nil {
		t.Fatal(err)
	}
	if !c.keepsIndex(o) {
		t.Error("the index is not kept")
	}
	c.Steps = []Step{StepImport}
	if c.keepsIndex(o) {
		t.Error("the import is not measured")
	}
	c.zoekt = o
	if !c.keepsIndex(o) {
		t.Error("the index of zoekt is not kept")
	}
	o.sets[0].repositories["more"] = "b"
	if c.keepsIndex(o) {
		t.Error("an index of other repositories is kept")
	}
}

// TestGoals measures a build without an earlier one, which reaches some goals and misses
// others.
func TestGoals(t *testing.T) {
	c := testedComparison(t, []time.Duration{2 * ms}, []time.Duration{10 * ms}, 0)
	c.zoekt, c.before, c.contenders[1].name, c.CoreSet, c.Goals = c.before, nil, "zoekt", "linux", true
	c.Suite = []suite.Query{{Class: "common-literal", Name: "common", Text: "a", Limit: 100}, {Class: "common-literal", Name: "also", Text: "b"}}
	c.Classes = []suite.Query{{Class: suite.ClassRare, Name: "r1", Text: "r1"}}
	c.Scans = []suite.Query{{Class: "scan", Name: "scan-if", Text: "if"}, {Class: "scan", Name: "other", Text: "s|t"}}
	c.queries = map[Step][]random.Query{StepSuite: wrapQueries(c.Suite), StepClasses: wrapQueries(c.Classes), StepScans: wrapQueries(c.Scans)}
	if err := errors.Join(c.askStep(t.Context(), StepSuite, nil), c.askStep(t.Context(), StepClasses, nil), c.askStep(t.Context(), StepScans, nil)); err != nil {
		t.Fatal(err)
	}
	c.ripgrep, c.bandwidth, c.missing = []time.Duration{3 * ms, ms}, proc.Bandwidth{Count: 1e12, Index: 10e9, Copy: 5e9}, []string{"something: no"}
	here, zoekt := c.here, c.zoekt
	here.sets[0].name, here.imports, zoekt.imports = "linux", [][]importFigure{{{10 * time.Second, 20 * time.Second, 500 << 20}}}, [][]importFigure{{{60 * time.Second, time.Second, 2000 << 20}}}
	here.memory.ResidentBytes, here.diskBytes, here.segments = 800<<20, 1200e6, 9
	here.core, zoekt.core = CoreFigure{TextBytes: 1e9, CPU: 10 * time.Second}, CoreFigure{TextBytes: 1e9, CPU: 40 * time.Second}
	here.cold, zoekt.cold = []time.Duration{600 * ms}, []time.Duration{900 * ms}
	here.loads[loadHeavy], zoekt.loads[loadHeavy] = []loadFigure{{Queries: 10, Wall: time.Second, Latencies: []time.Duration{ms}}}, []loadFigure{{Queries: 1, Wall: time.Second}}
	here.stable, zoekt.stable = []stableFigure{{1, 101, 120}, {1, 7, 7}}, []stableFigure{{4, 102000, 9000}, {1, 7, 7}}
	here.streams = []streamFigure{{"return", 2 * ms, 30 * ms, 9}}
	r, worse := c.buildReport()
	text := r.Markdown()
	for _, want := range []string{
		"| common literal, first 100 (2), without advice | 2.00 ms | 10.0 ms | 0.200 | ≤ 1/7 of zoekt | missed: 0.71 of the goal |",
		"| rare literal, p99 of all answers | 2.00 ms | 10.0 ms | 0.200 | ≤ 1/3 of zoekt | reached |",
		"| import of linux (1000 MB of text) | 10.0 s | 60.0 s | 0.167 | ≤ 1/6 of zoekt | reached |",
		"| import of linux (1000 MB of text), peak memory | 500 MiB | 2000 MiB | 0.250 | ≤ 600 MiB | reached |",
		"| index core of the set linux, processor time for a MB of text | 10.0 ms | 40.0 ms | 0.250 | ≤ 1/3 of zoekt | reached |",
		"first right answer | 600 ms | 900 ms | 0.667 | ≤ 1/2 of zoekt | missed: 0.75 of the goal |",
		"| 8 clients, one in 20 queries a scan, time per query | 100 ms | 1.00 s | 0.100 | ≤ 1/15 of zoekt | missed: 0.67 of the goal |",
		"| memory after the queries | 800 MiB |  |  | ≤ 700 MiB | missed: 0.88 of the goal |",
		"| disk | 1144 MiB |  |  | ≤ 572 MiB | missed: 0.50 of the goal |",
		"| segments | 9 |  |  |  |  |",
		"| `if` | 2.00 ms | 10.0 ms | 0.200 | 3.00 ms | 0.667 | 500.00 GB/s | 50 % | ≤ 1/4 of zoekt, not slower than ripgrep | reached |",
		"| `s\\|t` | 2.00 ms | 10.0 ms | 0.200 | 1.00 ms | 2.000 | 500.00 GB/s | 50 % | not slower than ripgrep | missed for ripgrep: 0.50 of the goal |",
		"| `a` | 1, 101, 120 | 4, 102000, 9000 |",
		"| `return` | 2.00 ms | 30.0 ms | 9 |",
		"| common-literal | 2 | 2.00 ms |",
		"| common: `a` | 100 | 2.00 ms, 2.00 ms, 7 | 10.0 ms, 10.0 ms, 7 |",
		"- something: no",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks\n%s", want)
		}
	}
	if len(worse) > 0 {
		t.Errorf("worse than no earlier build: %q", worse)
	}
	c.zoekt, c.contenders = nil, c.contenders[:1]
	if r, _ := c.buildReport(); !strings.Contains(r.Markdown(), "| ≤ 1/7 of zoekt | no comparison |") {
		t.Errorf("want no comparison without zoekt:\n%s", r.Markdown())
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestSmallRepositoriesAreCutFromCopies checks that no two small repositories have the
// same files.
func TestSmallRepositoriesAreCutFromCopies(t *testing.T) {
	dir := t.TempDir()
	for i := range 50 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%02d.go", i)), fmt.Appendf(nil, "package a // word%02dhere\n", i), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := corpus.ReadTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	cut, last := cutter{tree: tree}, 0
	for n := range 40 {
		part, copies := cut.nextFiles(n)
		if part.Files() < minSmallFiles || part.Files() >= minSmallFiles+smallSpread {
			t.Fatalf("repository %d has %d files", n, part.Files())
		}
		if copies < last || copies > last+1 || copies == last+1 && cut.at != part.Files() {
			t.Fatalf("repository %d is of copy %d after %d, up to file %d", n, copies, last, cut.at)
		}
		last = copies
	}
	if last < 10 {
		t.Errorf("%d copies for 40 repositories of 50 files", last)
	}
}
