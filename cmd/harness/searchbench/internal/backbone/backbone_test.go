package backbone

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/internal/accounting"
	"github.com/quarrysearch/quarry/cmd/internal/testserver"
)

func TestRoundsReachTheBytes(t *testing.T) {
	originals := []corpus.Built{{Name: "a", TextBytes: 30}, {Name: "b", TextBytes: 10}}
	for want, copies := range map[int64][]int{0: {0, 0}, 1: {1, 0}, 31: {1, 1}, 41: {2, 1}, 75: {2, 2}} {
		if got := countCopies(originals, want); !slices.Equal(got, copies) {
			t.Errorf("%d bytes: %v, want %v", want, got, copies)
		}
	}
	if got := countCopies(nil, 10); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestVerdicts(t *testing.T) {
	f := &Freshness{Runs: []Fresh{
		{Log: Embedded, Rate: 1, Found: []time.Duration{90 * time.Millisecond, 100 * time.Millisecond, time.Second}},
		{Log: ThreeBrokers, Rate: 1, Found: []time.Duration{time.Second}},
	}}
	rows := f.Rows()
	if len(rows) != 1 || rows[0].Verdict != "missed (10.0 × p50)" {
		t.Errorf("%+v", rows)
	}
	run := Drained{Log: Embedded, Events: 1000, Wall: time.Second, Account: &accounting.Account{Open: []accounting.Push{{}}}}
	if rows := (&Throughput{Runs: []Drained{run}}).Rows(); len(rows) != 1 || rows[0].Verdict != "missed" {
		t.Errorf("%+v, want an open push to count", rows)
	}
}

// TestExperimentsOnTheBuiltBinary runs both experiments with tiny sizes on the embedded
// log.
func TestExperimentsOnTheBuiltBinary(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary")
	}
	dir, binary := t.TempDir(), testserver.Build(t)
	quarry, err := engine.OpenQuarry(binary, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Quarry: quarry, Corpora: filepath.Join(dir, "corpora"), Work: filepath.Join(dir, "work"), Logs: []Log{Embedded}, Log: t.Logf,
		Pushes: 4, Rates: []float64{20}, BesideBytes: 1, Queries: []engine.Request{{Text: "static", Limit: 10}}, QueryRate: 20,
		Backlog: 12, Repositories: 3, OneByOne: 4, SettleTime: 500 * time.Millisecond,
		Manifest: corpus.Manifest{Repositories: []corpus.Built{{Name: linux}, {Name: "other", TextBytes: 10}}},
	}
	ctx := context.Background()
	for _, name := range []string{linux, "other"} {
		content := slices.Repeat([]byte("static int answer(void) { return 42; }\n"), 200)
		if err := writeTree(ctx, o.Corpora, name, content); err != nil {
			t.Fatal(err)
		}
	}
	fresh, err := MeasureFreshness(ctx, o)
	if err != nil || len(fresh.Missing) > 0 || len(fresh.Runs) != 1 || len(fresh.Runs[0].Found) != o.Pushes || fresh.Repositories != 1 {
		t.Fatalf("%+v, %v", fresh, err)
	}
	through, err := MeasureThroughput(ctx, o)
	if err != nil || len(through.Missing) > 0 || len(through.Runs) != 1 {
		t.Fatalf("%+v, %v", through, err)
	}
	run := through.Runs[0]
	if run.Events != 12 || run.OneByOne != 4 || run.Account.Pushes != 16 || run.Revisions < 3 || run.Wall == 0 || run.Fetched == 0 {
		t.Errorf("%+v %+v", run, run.Account)
	}
}

func writeTree(ctx context.Context, corpora, name string, content []byte) error {
	tree := corpus.TreePath(corpora, name)
	if err := os.MkdirAll(tree, 0o755); err != nil {
		return err
	}
	paths := []string{"a.c", "b.c", "c.c", "d.c"}
	for _, path := range paths {
		if err := os.WriteFile(filepath.Join(tree, path), content, 0o644); err != nil {
			return err
		}
	}
	return corpus.WriteRepository(ctx, corpus.GitPath(corpora, name), func(c *corpus.Commits) {
		c.Begin("all")
		for _, path := range paths {
			c.File(path, content)
		}
	})
}
