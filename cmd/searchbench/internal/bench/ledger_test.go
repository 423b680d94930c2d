package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/suite"
)

func newTestBench(t *testing.T, path string, replay bool) *bench {
	t.Helper()
	l, err := openLedger(path, replay)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{zoektLedger: l, Options: Options{Log: t.Logf, Reuse: replay, Sets: []string{"go"}, Runs: 2}}
	b.ensureDefaults()
	return b
}

// TestAskAllTakesFiguresOfAnEarlierRun checks that a later run reuses the figures of an
// earlier one, and measures those that failed or are new. The report must mention that it
// combines two runs.
func TestAskAllTakesFiguresOfAnEarlierRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "work", "figures.json")
	queries := []suite.Query{{Name: "a", Text: "a", Limit: 1}, {Name: "b", Text: "b"}}
	first := newTestBench(t, path, false)
	asked := &fake{times: []time.Duration{time.Millisecond}}
	first.askAll(context.Background(), &source{name: "zoekt", searcher: asked, translate: engine.ZoektRequest, ledger: first.zoektLedger}, "suite", queries[:1], 2)
	failing := &fake{times: []time.Duration{1}, err: errors.New("no")}
	first.askAll(context.Background(), &source{name: "zoekt", searcher: failing, translate: engine.ZoektRequest, ledger: first.zoektLedger}, "suite", queries[1:], 2)

	second := newTestBench(t, path, true)
	again := &fake{times: []time.Duration{9 * time.Millisecond}}
	got := second.askAll(context.Background(), &source{name: "zoekt", searcher: again, translate: engine.ZoektRequest, ledger: second.zoektLedger}, "suite", queries, 2)
	if got[0].Median != time.Millisecond || got[1].Median != 9*time.Millisecond || again.asked.Load() != 3 {
		t.Errorf("%+v after %d questions, want the first one recalled and the second one asked three times", got, again.asked.Load())
	}
	if text := second.buildReport().Markdown(); !strings.Contains(text, "| zoekt, from an earlier run |") || !strings.Contains(text, "**zoekt from an earlier run**: 1 of the figures") {
		t.Errorf("the report hides that it combines two runs:\n%s", text)
	}
	third := newTestBench(t, path, false) // --again
	third.askAll(context.Background(), &source{name: "zoekt", searcher: again, translate: engine.ZoektRequest, ledger: third.zoektLedger}, "suite", queries, 2)
	if again.asked.Load() != 9 || third.zoektLedger.replayed != 0 {
		t.Errorf("%d questions, want all asked again", again.asked.Load())
	}
}

// TestEarlierImports checks that an index is kept only if it is complete and has the
// requested sets.
func TestEarlierImports(t *testing.T) {
	path := filepath.Join(t.TempDir(), "figures.json")
	first := newTestBench(t, path, true)
	figure := importFigure{Wall: time.Second, PeakBytes: 5, TextBytes: 7}
	if err := first.zoektLedger.put("import/go", figure); err != nil {
		t.Fatal(err)
	}
	if got, err := newTestBench(t, path, true).earlierImports(newTestBench(t, path, true).zoektLedger, StepImport); got != nil || err != nil {
		t.Errorf("incomplete index: %v %v, want it imported again", got, err)
	}
	if err := first.zoektLedger.put(importedKey, []string{"go"}); err != nil {
		t.Fatal(err)
	}
	second := newTestBench(t, path, true)
	if got, err := second.earlierImports(second.zoektLedger, StepImport); err != nil || got["go"] != figure {
		t.Errorf("%+v %v, want %+v", got, err, figure)
	}
	second.Sets = Sets
	if _, err := second.earlierImports(second.zoektLedger, StepImport); !errors.Is(err, ErrSets) {
		t.Errorf("other sets: %v, want ErrSets", err)
	}
}

func TestPushesAreTakenOnce(t *testing.T) {
	b := newTestBench(t, filepath.Join(t.TempDir(), "figures.json"), false)
	b.manifest = corpus.Manifest{Repositories: []corpus.Built{{Name: "linux", Set: "linux", Pushes: []corpus.Push{{Word: "a"}, {Word: "b"}, {Word: "c"}}}}}
	if _, _, err := b.linuxPushes(b.zoektLedger); !errors.Is(err, errNoPushes) {
		t.Errorf("without linux: %v", err)
	}
	b.Sets, b.Pushes = Sets, 2
	for _, want := range []string{"ab", "c", ""} {
		pushes, before, err := b.linuxPushes(b.zoektLedger)
		words := ""
		for _, p := range pushes {
			words += p.Word
		}
		if words != want || (want == "") != errors.Is(err, errNoPushes) {
			t.Errorf("%q %v, want %q", words, err, want)
		}
		if err := b.zoektLedger.put(pushedKey, before+len(pushes)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestParseSteps(t *testing.T) {
	if steps, err := ParseSteps([]string{"suite", "load"}); err != nil || !slices.Equal(steps, []Step{StepSuite, StepLoad}) {
		t.Errorf("%v %v", steps, err)
	}
	if steps, err := ParseSteps(nil); err != nil || len(steps) != len(Steps) {
		t.Errorf("%v %v, want all", steps, err)
	}
	if _, err := ParseSteps([]string{"sweet"}); !errors.Is(err, ErrStep) {
		t.Errorf("%v, want ErrStep", err)
	}
	if sets, err := ParseSets([]string{"mixed", "linux"}); err != nil || !slices.Equal(sets, []string{"linux", "mixed"}) {
		t.Errorf("%v %v, want them in order of import", sets, err)
	}
	if _, err := ParseSets([]string{"bsd"}); !errors.Is(err, ErrSets) {
		t.Errorf("%v, want ErrSets", err)
	}
}

// TestUnopenableIndexIsImportedAgain checks that an index that this build cannot
// open is not kept.
func TestUnopenableIndexIsImportedAgain(t *testing.T) {
	work := t.TempDir()
	binary := filepath.Join(work, "quarry")
	if err := os.WriteFile(binary, []byte("#!/bin/sh\necho another format >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	b := newTestBench(t, filepath.Join(work, "zoekt.json"), true)
	b.Work, b.Steps, b.Quarry = work, []Step{StepSuite}, &engine.Quarry{Path: binary}
	b.quarryLedger = newTestBench(t, filepath.Join(work, "quarry.json"), false).zoektLedger
	if err := errors.Join(b.quarryLedger.put(importedKey, b.Sets), os.MkdirAll(b.quarryData(), 0o755)); err != nil {
		t.Fatal(err)
	}
	_, err := b.importQuarry(context.Background()) // error of the clone of linux: there are no corpora
	if _, statErr := os.Stat(b.quarryData()); err == nil || !os.IsNotExist(statErr) || len(b.quarryLedger.entries) != 0 {
		t.Errorf("%v, %v, %v: want the index gone and an import begun", err, statErr, b.quarryLedger.entries)
	}
}

// TestListKey checks that figures of different lists, such as memory or throughput, have
// different keys.
func TestListKey(t *testing.T) {
	a, b := []suite.Query{{Text: "a"}, {Text: "b"}}, []suite.Query{{Text: "b"}, {Text: "a"}}
	if listKey(a) != listKey(slices.Clone(a)) || listKey(a) == listKey(b) || listKey(a) == listKey(a[:1]) || listKey(a[:1]) == listKey([]suite.Query{{Text: "a", Limit: 1}}) {
		t.Errorf("%s %s", listKey(a), listKey(b))
	}
}
