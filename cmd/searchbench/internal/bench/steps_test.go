package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/suite"
)

// TestHeavyMix checks that the list of the heavy mix is always the same, that one in
// twenty queries is a scan, and that a round sends each query once.
func TestHeavyMix(t *testing.T) {
	b := &bench{Options: Options{Scans: []suite.Query{{Text: "s1"}, {Text: "s2"}}}}
	for i := range 7 {
		b.Queries = append(b.Queries, suite.Query{Text: fmt.Sprint(i), Mix: suite.MixInteractive})
	}
	mix := b.heavyMix()
	if len(mix) != 2*heavyEvery || mix[heavyEvery-1].Text != "s1" || mix[2*heavyEvery-1].Text != "s2" || fmt.Sprint(mix) != fmt.Sprint(b.heavyMix()) {
		t.Errorf("%v", mix)
	}
	f := &fake{times: []time.Duration{time.Millisecond}}
	load := measureRounds(context.Background(), f, mix, engine.ZoektRequest, 0)
	if load.Queries != len(mix) || f.asked.Load() != int64(len(mix)) || load.Errors != 0 || load.perSecond() <= 0 {
		t.Errorf("%+v after %d questions, want %d in one round", load, f.asked.Load(), len(mix))
	}
	synctest.Test(t, func(t *testing.T) {
		f := &slowFake{fake{times: []time.Duration{time.Millisecond}}}
		if load := measureRounds(t.Context(), f, mix, engine.ZoektRequest, 20*time.Millisecond); load.Queries <= len(mix) || load.Queries%len(mix) != 0 {
			t.Errorf("%d queries, want whole rounds of %d", load.Queries, len(mix))
		}
	})
	f = &fake{times: []time.Duration{1}, err: errors.New("no")}
	if load := measureRounds(context.Background(), f, mix, engine.ZoektRequest, 0); load.Queries != 0 || load.Errors != len(mix) {
		t.Errorf("failing server: %+v", load)
	}
}

// moody returns a different list every third time.
type moody struct{ asked int }

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
	f, err := countLists(context.Background(), &source{searcher: m, translate: engine.ZoektRequest}, suite.Query{Text: "x", Limit: 100})
	if err != nil || f != (stableFigure{Lists: 3, Matches: stableRequests, FilesRead: 2 * stableRequests}) || m.asked != stableRequests {
		t.Errorf("%+v %v after %d questions", f, err, m.asked)
	}
}

// TestFirstAnswerWaitsForTheWholeAnswer checks that an incomplete answer does not count
// as the right one.
func TestFirstAnswerWaitsForTheWholeAnswer(t *testing.T) {
	f := &fake{times: []time.Duration{1}, found: 4}
	stopped := 0
	start := func() (engine.Searcher, func() error, error) { return f, func() error { stopped++; return nil }, nil }
	took, err := firstAnswer(context.Background(), start, engine.Request{}, 3)
	if err != nil || f.asked.Load() != 4 || took < 3*coldPoll || stopped != 1 {
		t.Errorf("%s %v after %d questions, stopped %d times", took, err, f.asked.Load(), stopped)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := firstAnswer(ctx, start, engine.Request{}, 99); !errors.Is(err, context.Canceled) || stopped != 2 {
		t.Errorf("%v, stopped %d times, want Canceled and the server ended", err, stopped)
	}
	no := errors.New("no")
	if _, err := firstAnswer(context.Background(), func() (engine.Searcher, func() error, error) { return nil, nil, no }, engine.Request{}, 1); !errors.Is(err, no) {
		t.Errorf("%v, want the start's error", err)
	}
}

// TestRareQuery checks that the rare literal is chosen from the measured sets.
func TestRareQuery(t *testing.T) {
	b := &bench{Options: Options{Extra: []suite.Query{{Class: suite.ClassSymbolExact, Text: "s"}, {Class: suite.ClassRare, Text: "a"}, {Class: suite.ClassRare, Text: "b"}}}}
	q, n, err := b.rareQuery(context.Background(), &fake{times: []time.Duration{1}, found: 2}, engine.ZoektRequest)
	if err != nil || q.Text != "b" || n != 3 {
		t.Errorf("%+v %d %v, want the second rare one", q, n, err)
	}
	if _, _, err := b.rareQuery(context.Background(), &fake{times: []time.Duration{1}, found: 9}, engine.ZoektRequest); !errors.Is(err, errNoRareQuery) {
		t.Errorf("%v, want errNoRareQuery", err)
	}
}

// TestStepNamesItsFailure checks that the report names a failed step, and that the other
// steps continue.
func TestStepNamesItsFailure(t *testing.T) {
	b := newTestBench(t, filepath.Join(t.TempDir(), "figures.json"), false)
	if got := measureStep(b, "the core", b.zoektLedger, "core", func() (int, error) { return 1, errors.New("no") }); got != nil || len(b.absent) != 1 {
		t.Errorf("%v, %q", got, b.absent)
	}
	if got := measureStep(b, "the core", b.zoektLedger, "core", func() (int, error) { return 7, nil }); got == nil || *got != 7 {
		t.Errorf("%v, want 7", got)
	}
}

func TestProfileTimes(t *testing.T) {
	kept, all, err := profileTimes([]byte("File: x\nType: cpu\nShowing nodes accounting for 5480ms, 47.82% of 11460ms total\n      flat\n"))
	if err != nil || kept != 5480*time.Millisecond || all != 11460*time.Millisecond {
		t.Errorf("%s of %s, %v", kept, all, err)
	}
	if _, _, err := profileTimes([]byte("no samples")); err == nil {
		t.Error("no totals, no error")
	}
}

func TestCoreSet(t *testing.T) {
	b := &bench{}
	b.ensureDefaults()
	if got := b.coreSet(); got != "linux" {
		t.Errorf("%s, want \"linux\"", got)
	}
	b.Sets = []string{"go", "mixed"}
	if got := b.coreSet(); got != "go" {
		t.Errorf("%s, want a set that is measured", got)
	}
}

func TestMeasureMachineNeedsText(t *testing.T) {
	b := newTestBench(t, filepath.Join(t.TempDir(), "figures.json"), false)
	b.Corpora, b.manifest = t.TempDir(), corpus.Manifest{Repositories: []corpus.Built{{Name: "go", Set: "go"}}}
	b.measureMachine()
	if len(b.absent) != 1 || b.bandwidth.Count != 0 {
		t.Errorf("%q %+v, want it said that there is no text", b.absent, b.bandwidth)
	}
	tree := corpus.TreePath(b.Corpora, "go")
	for path, text := range map[string]string{"a": "one", "b": "two", "c": "three"} {
		if err := errors.Join(os.MkdirAll(tree, 0o755), os.WriteFile(filepath.Join(tree, path), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if sample, err := sampleText(tree, 4); err != nil || string(sample) != "onetwo" {
		t.Errorf("%q %v, want no more than is asked for and the rest of a file", sample, err)
	}
}

func TestLoadNeedsAMix(t *testing.T) {
	b := newTestBench(t, filepath.Join(t.TempDir(), "figures.json"), false)
	b.Queries = []suite.Query{{Text: "a", Mix: suite.MixNone}}
	f, a := &fake{times: []time.Duration{1}}, &answers{}
	b.askLoads(context.Background(), &source{name: "zoekt", searcher: f, translate: engine.ZoektRequest, ledger: b.zoektLedger}, a)
	if len(b.absent) != 1 || f.asked.Load() != 0 || a.load != nil {
		t.Errorf("%q after %d questions, want it said", b.absent, f.asked.Load())
	}
}

// slowStart is slow once, like a server that must read its files.
type slowStart struct{ asked int }

func (s *slowStart) Stream(context.Context, engine.Request) (engine.Streamed, error) {
	if s.asked++; s.asked == 1 {
		return engine.Streamed{First: time.Hour, Whole: time.Hour, Chunks: 1}, nil
	}
	return engine.Streamed{First: time.Duration(s.asked), Whole: time.Duration(10 * s.asked), Chunks: 2}, nil
}

func TestAskStream(t *testing.T) {
	s := &slowStart{}
	f, err := askStream(context.Background(), s, suite.Query{Text: "x"}, engine.QuarryRequest, 3)
	if err != nil || f != (streamFigure{Query: "x", First: 3, Whole: 30, Chunks: 2}) || s.asked != 4 {
		t.Errorf("%+v %v after %d questions, want medians without the first", f, err, s.asked)
	}
}
