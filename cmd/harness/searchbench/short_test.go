package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/bench"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/internal/testserver"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/brokers"
)

// shortCorpora are small modules that this module needs, and that are therefore in the
// module cache, by the names of the corpora that they replace. The first has commits to
// push.
var shortCorpora = []corpus.Repository{
	{Name: "linux", Set: "linux", Packages: []string{"golang.org/x/sync"}, Pushes: 2},
	{Name: "go", Set: "go", Packages: []string{"github.com/cespare/xxhash/v2"}},
	{Name: "mixed", Set: "mixed", Packages: []string{"github.com/beorn7/perks"}},
}

// TestShortRuns builds corpora of small modules and runs each measurement on them
// briefly, with a server of this tree. The figures mean nothing, but all of them must be
// present.
func TestShortRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a server and runs it many times")
	}
	dir, err := os.MkdirTemp("/var/tmp", "quarry-searchbench") // on a disk, from which servers start cold
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	binary, corpora := testserver.Build(t), buildShortCorpora(t, dir)
	tree := corpus.TreePath(corpora, "linux")
	flagsOf := func(name string, settle time.Duration) programFlags {
		return programFlags{Quarry: binary, Settle: settle, Seed: 3, Out: filepath.Join(dir, name+".md")}
	}

	t.Run("verify", func(t *testing.T) {
		t.Parallel()
		needRipgrep(t)
		c := verifyCommand{Corpora: corpora, Quarry: binary, Sets: []string{"linux", "go", "mixed"}, Work: filepath.Join(dir, "verify")}
		if err := c.Run(t.Context()); err != nil {
			t.Errorf("compare Quarry's answers over small modules with ripgrep's: %v", err)
		}
	})
	t.Run("run", func(t *testing.T) {
		t.Parallel()
		needRipgrep(t)
		c := runCommand{
			programFlags: flagsOf("run", time.Millisecond), Corpora: corpora, Quick: true, Work: filepath.Join(dir, "run"),
			Only: []string{"machine", "import", "cold", "suite", "classes", "load", "stable", "stream", "scans", "pushes"}, Beside: -1, Bandwidth: 1,
		}
		if err := c.Run(t.Context()); err != nil {
			t.Fatalf("run the quick measurements: %v", err)
		}
		wantText(t, c.Out, "- linux: 1 repositories", "- go: 1 repositories", "| import of mixed", "| suite (76)", "| 8 clients, one in 20", "| disk |", "Scans", "no comparison")
		c = runCommand{programFlags: flagsOf("again", time.Millisecond), Corpora: corpora, Quick: true, Reuse: c.Work, Only: []string{"classes"}, Beside: -1}
		if err := c.Run(t.Context()); err != nil {
			t.Fatalf("run one step with the folder of an earlier run: %v", err)
		}
		wantText(t, c.Out, "Rare literals and symbols")
	})
	t.Run("compare", func(t *testing.T) {
		t.Parallel()
		c := compareCommand{Queries: 138, Runs: 1, Imports: 1, Pushes: 2, Loads: 1, besideFlags: besideFlags{
			programFlags: flagsOf("compare", 100*time.Millisecond), Corpora: corpora, Before: binary, Reference: "v1", Work: filepath.Join(dir, "compare"),
		}}
		if err := c.Run(t.Context()); err != nil && !errors.Is(err, bench.ErrWorse) { // times on such small corpora mean nothing
			t.Fatalf("compare a build with itself: %v", err)
		}
		wantText(t, c.Out, "| figure | here | v1 |", "| suite (76)", "| 8 clients,", "| push → searchable, p50 |", "| import, peak memory |", "| disk |", "| phrase |", "compare worst with v1")
	})
	t.Run("random", func(t *testing.T) {
		t.Parallel()
		needRipgrep(t)
		c := randomCommand{Queries: 138, Runs: 1, Check: 5, besideFlags: besideFlags{
			programFlags: flagsOf("random", 100*time.Millisecond), Corpora: corpora, Work: filepath.Join(dir, "random"),
		}}
		if err := c.Run(t.Context()); err != nil {
			t.Fatalf("run random queries, some of them compared with ripgrep: %v", err)
		}
		wantText(t, c.Out, "of the seed 3", "| phrase |", "5 random queries, ", ": 0 differ")
	})
	t.Run("growth", func(t *testing.T) {
		t.Parallel()
		c := growthCommand{programFlags: flagsOf("growth", 100*time.Millisecond), Tree: tree, Work: filepath.Join(dir, "growth"), Copies: []int{1, 2}, Small: 3, Pushes: 3, Queries: 46, Runs: 1}
		if err := c.Run(t.Context()); err != nil {
			t.Fatalf("measure growth from one to two copies: %v", err)
		}
		wantText(t, c.Out, "| figure | 2 × | 1 × | ratio |", "| figure | 3 small | 1 small | ratio |", "| figure | after the pushes | new build | ratio |", "3 pushes, from the webhook", "| segments |")
	})
}

// TestFanout compares one process with two shards on small modules: the counts are equal.
func TestFanout(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs a broker and five servers")
	}
	_, libs, err := brokers.Find("")
	if err != nil {
		if os.Getenv("QUARRY_REQUIRE_ALL") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir := t.TempDir()
	c := fanoutCommand{
		programFlags: programFlags{Quarry: testserver.Build(t), Settle: time.Millisecond, Seed: 3, Out: filepath.Join(dir, "fanout.md")},
		Corpora:      buildShortCorpora(t, dir), Work: filepath.Join(dir, "work"), Shards: []int{2}, Queries: 46, Runs: 1, KafkaLibs: libs,
	}
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantText(t, c.Out, "| one process |", "| a front with 2 shards |")
	report, err := os.ReadFile(c.Out)
	if err != nil || strings.Count(string(report), ") | 0 | ") != 2 {
		t.Errorf("counts differ: %v\n%s", err, report)
	}
}

// buildShortCorpora builds the corpora of short runs and returns their directory.
func buildShortCorpora(t *testing.T, dir string) string {
	t.Helper()
	var built corpus.List
	for _, r := range shortCorpora {
		version, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", r.Packages[0]).Output()
		if err != nil {
			t.Fatalf("go list -m %s: %v", r.Packages[0], err)
		}
		r.From, r.Packages = corpus.FromGoModule, []string{r.Packages[0] + "@" + strings.TrimSpace(string(version))}
		built.Repositories = append(built.Repositories, r)
	}
	list, err := json.Marshal(built)
	if err != nil {
		t.Fatal(err)
	}
	path, out := filepath.Join(dir, "list.json"), filepath.Join(dir, "corpora")
	if err := os.WriteFile(path, list, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := (&corporaCommand{Out: out, List: path, MinFreeGB: 1}).Run(t.Context()); err != nil {
		t.Fatalf("build corpora of %s: %v", list, err)
	}
	return out
}

// wantText fails the test unless a report contains all texts.
func wantText(t *testing.T, path string, texts ...string) {
	t.Helper()
	report, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range texts {
		if !strings.Contains(string(report), want) {
			t.Errorf("the report has no %q:\n%s", want, report)
		}
	}
}

// needRipgrep skips the test without ripgrep, or fails it if everything must run.
func needRipgrep(t *testing.T) {
	t.Helper()
	if _, err := engine.OpenRipgrep(); err != nil {
		if os.Getenv("QUARRY_REQUIRE_ALL") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}
