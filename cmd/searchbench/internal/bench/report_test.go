package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/machine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/stat"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/suite"
)

func newTiming(d ...time.Duration) timing { return timing{Median: stat.Median(d), All: d} }

// testedBench returns results that are better than most goals, slower in one class and
// one scan, and without pushes of zoekt.
func testedBench() *bench {
	const ms = time.Millisecond
	b := &bench{
		Options: Options{
			Queries: []suite.Query{
				{Class: "phrase", Name: "p", Text: "p", Mix: suite.MixInteractive}, {Class: "1-char", Name: "c", Text: "c"}, {Class: "limit-100", Name: "l", Text: "l", Limit: 100},
			},
			Extra: []suite.Query{{Class: suite.ClassRare, Name: "r1", Text: "r1"}, {Class: suite.ClassRare, Name: "r2", Text: "r2"}, {Class: suite.ClassSymbolExact, Name: "x", Text: "sym:^x$"}},
			Scans: []suite.Query{{Class: "scan", Name: "scan-if", Text: "if"}, {Class: "scan", Name: "s", Text: "s|t"}},
		},
		manifest: corpus.Manifest{Repositories: []corpus.Built{
			{Name: "linux", Set: "linux", TextBytes: 1e9, TextFiles: 1}, {Name: "go", Set: "go", TextBytes: 1e8}, {Name: "x", Set: "mixed", TextBytes: 9e8},
		}},
		zoektLedger: &ledger{},
		absent:      []string{"something: no"},
		bandwidth:   machine.Bandwidth{Count: 20e9, Index: 10e9, Copy: 5e9},
		zoekt: &figures{
			imports: map[string]importFigure{"linux": {Wall: 60 * time.Second, PeakBytes: 2000 << 20, TextBytes: 1e9}}, diskBytes: 4e9,
			core: &coreFigure{TextBytes: 1e9, CPU: 40 * time.Second, AllCPU: 100 * time.Second},
			cold: &coldFigure{Starts: []time.Duration{900 * ms, 1000 * ms, 1100 * ms}},
			plain: answers{
				suite: []timing{newTiming(40 * ms), newTiming(8 * ms), newTiming(9 * ms)}, extra: []timing{newTiming(3*ms, 4*ms), newTiming(5*ms, 90*ms), newTiming(10 * ms)},
				scans: []timing{newTiming(800 * ms)}, load: &loadFigure{Queries: 100, Wall: time.Second}, heavy: &loadFigure{Queries: 2, Wall: time.Second},
				stable: map[string]stableFigure{"l": {Lists: 4, Matches: 102000, FilesRead: 9000}},
			},
			re2: answers{
				suite: []timing{newTiming(20 * ms), newTiming(9 * ms), newTiming(30 * ms)}, extra: []timing{newTiming(2*ms, 6*ms), newTiming(5*ms, 30*ms)}, scans: []timing{newTiming(600 * ms)},
				heavy: &loadFigure{Queries: 6, Wall: time.Second},
			},
		},
		quarry: &figures{
			imports: map[string]importFigure{"linux": {Wall: 10 * time.Second, PeakBytes: 500 << 20, TextBytes: 1e9}}, diskBytes: 3e9,
			core: &coreFigure{TextBytes: 1e9, CPU: 10 * time.Second},
			cold: &coldFigure{Starts: []time.Duration{600 * ms}, Query: "r1", Dropped: machine.Dropped{Method: "magic"}},
			plain: answers{
				suite: []timing{newTiming(1 * ms), newTiming(16 * ms), newTiming(1*ms, 1*ms, 40*ms)}, extra: []timing{newTiming(1*ms, 1*ms), newTiming(1*ms, 15*ms), newTiming(2 * ms)},
				scans: []timing{newTiming(100 * ms), newTiming(10 * ms)}, load: &loadFigure{Queries: 400, Wall: time.Second}, heavy: &loadFigure{Queries: 45, Wall: time.Second},
				stable: map[string]stableFigure{"l": {Lists: 1, Matches: 101, FilesRead: 120}},
			},
			pushes:  []pushFigure{{Searchable: 90 * ms}},
			streams: []streamFigure{{Query: "return", First: 2 * ms, Whole: 30 * ms, Chunks: 9}},
		},
		ripgrep: []timing{newTiming(150 * ms), newTiming(5 * ms)},
	}
	b.ensureDefaults()
	return b
}

func TestReport(t *testing.T) {
	b := testedBench()
	text := b.buildReport().Markdown()
	for _, want := range []string{
		"| import Linux (1000 MB of text) with symbols, from git | 60.0 s, 16.7 MB/s, peak 2000 MiB | 10.0 s, 100.0 MB/s, peak 500 MiB | 6.00 × | ≥ 6.0 × faster | reached |",
		"| peak memory of that import, children included | 2000 MiB | 500 MiB | 4.00 × | ≤ 600 MiB | reached |",
		"| 25.0 MB, 40.0 s of the 100.0 s of its profile | 100.0 MB, 10.0 s | 4.00 × | ≥ 3 × | reached |",
		"| 1.50 (2861 MiB) | 1.33 × | ≤ 0.60 | missed: 0.40 of the goal |",
		"first right answer (`r1`; files dropped by magic) | 1.00 s, median of 3 | 600 ms, median of 1 | 1.67 × | ≤ 1/2 | missed: 0.83 of the goal |",
		"| 14.2 ms default, 17.5 ms RE2, 11.3 ms the better of each | 2.52 ms | 4.48 × | ≤ 1/6 of the better | missed: 0.75 of the goal |",
		"| classes in which Quarry is slower than the better of zoekt |  | 1-char (0.50 ×) |  | none | missed |",
		"| rare literal, p50 of 4 answers | 4.00 ms default, 5.00 ms RE2 | 1.00 ms | 4.00 × | ≤ 1/3 of the better | reached |",
		"| rare literal, p99 of 4 answers | 90.0 ms default, 30.0 ms RE2 | 15.0 ms | 2.00 × | ≤ 1/3 of the better | missed: 0.67 of the goal |",
		"| 1–2 characters, first 100 | 8.00 ms default, 9.00 ms RE2, 8.00 ms the better of each | 16.0 ms | 0.50 × | ≤ 1/10 of the better | missed: 0.05 of the goal |",
		"| symbols by exact name | 10.0 ms default,  RE2, 10.0 ms the better of each | 2.00 ms | 5.00 × | ≤ 1/3 of the better | reached |",
		"| every hit of `if`; ripgrep 150 ms | 800 ms (RE2 600 ms) | 100 ms | 6.00 ×, 1.50 × of ripgrep | ≤ 1/4 of the better, and not slower than ripgrep | reached |",
		"| every hit of `s\\|t`; ripgrep 5.00 ms |  | 10.0 ms | 0.50 × of ripgrep | not slower than ripgrep | missed of ripgrep: 0.50 of the goal |",
		"all cores read 20.0 GB/s (bytes.Count), bytes.Index 10.0, copy 5.0 |  | `if` 20.00 GB/s (100 %) |  |  | no goal |",
		"| 8 clients, interactive mix, 15s | 100.0 queries/s, p50 , p99  | 400.0 queries/s, p50 , p99  | 4.00 × | ≥ 4 × | reached |",
		"| 2.0 queries/s, p50 , p99 ; RE2 6.0 queries/s, p50 , p99  | 45.0 queries/s, p50 , p99  | 7.50 × | ≥ 15 × | missed: 0.50 of the goal |",
		"| slowest p99 of any query of the suite and the scans | 600 ms the better of each (scan-if) | 100 ms (scan-if) | 6.00 × | ≤ 1/5 of the better | reached |",
		"| at most 4; up to 102000 matches (l) | at most 1; up to 101 matches (l) |  | always the same list | reached |",
		"|  | p50 90.0 ms, p99 90.0 ms |  | p50 no more than its delta mode's | no comparison |",
		"| 10,000 matches in parts: the first part / the whole answer |  | `return` 2.00 ms / 30.0 ms in 9 |  |  | no goal |",
		"- something: no",
		"| 1-char | 1 | 8.00 ms | 9.00 ms |  | 16.0 ms | 0.50 | c | 0.50 |",
		"| rare: `r2` | 90.0 ms / 90.0 ms | 30.0 ms / 30.0 ms | 15.0 ms / 15.0 ms | 0 | 0 |",
		"| `l` | 4 / 102000 / 9000 |  | 1 / 101 / 120 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks\n%s", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestReportOfSomeSteps checks that a run of some steps reports only their rows and
// states this, and that a run without zoekt makes no comparison.
func TestReportOfSomeSteps(t *testing.T) {
	b := testedBench()
	b.Steps, b.zoekt = []Step{StepLoad}, nil
	text := b.buildReport().Markdown()
	if strings.Contains(text, "import") || strings.Contains(text, "###") || !strings.Contains(text, "only these steps: load") || strings.Count(text, "| no comparison |") != 2 {
		t.Errorf("want two rows of throughput, without comparison:\n%s", text)
	}
	b.Steps, b.quarry = Steps, nil
	for _, row := range b.buildReport().Rows {
		if row.Verdict == "reached" {
			t.Errorf("nothing was measured, but %q is reached", row.Figure)
		}
	}
}

func TestScanVerdict(t *testing.T) {
	b := testedBench()
	b.ripgrep = []timing{newTiming(50 * time.Millisecond)}
	rows := b.scanRows(b.zoekt, b.quarry)
	if got := rows[0].Verdict; got != "missed of ripgrep: 0.50 of the goal" {
		t.Errorf("faster than zoekt, slower than ripgrep: %s", got)
	}
	if got := rows[1].Verdict; got != "no comparison of ripgrep" {
		t.Errorf("without ripgrep: %s", got)
	}
}
