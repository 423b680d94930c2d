package backbone

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/internal/testserver"
)

func TestMeasureWantsAHistory(t *testing.T) {
	if _, err := MeasureBranches(context.Background(), BranchOptions{Work: t.TempDir()}); !errors.Is(err, ErrNoHistory) {
		t.Errorf("%v, want ErrNoHistory", err)
	}
}

// TestMedian checks that medianImport returns the run with the median time, the highest
// peak, and the counts of the last run.
func TestMedian(t *testing.T) {
	got := medianImport([]Import{{Wall: 3, PeakBytes: 5}, {Wall: 1, PeakBytes: 9}, {Wall: 2, PeakBytes: 4, Dropped: 7, RowBytes: 8}})
	if want := (Import{Wall: 2, PeakBytes: 9, Dropped: 7, RowBytes: 8}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestRowsHoldTheGoals tests each goal with a figure that reaches it and one that misses
// it.
func TestRowsHoldTheGoals(t *testing.T) {
	f := &BranchFigures{Zoekt: 60 * time.Second, DistinctDocuments: 100}
	f.Branches.Sixty, f.Branches.Many, f.Branches.Thousands = Sixty, Many, Thousands
	f.Sixty = Import{Wall: 10 * time.Second, PeakBytes: 500 << 20, Documents: 100}
	f.Text = Import{Wall: 10 * time.Second, Documents: 100}
	f.Many = Import{Wall: 12 * time.Second, Documents: 100, Dropped: 1}
	f.Clones = Import{Wall: time.Second, Documents: 100}
	f.Thousands = Import{Wall: time.Second, PeakBytes: 600 << 20, Documents: 100, LogBytes: 3000}
	for _, want := range []string{"reached", "missed"} {
		rows := f.Rows()
		for _, row := range rows {
			if row.Verdict != want {
				t.Errorf("%+v, want %s", row, want)
			}
		}
		if len(rows) != 5 || len(f.Table().Rows) != 5 {
			t.Errorf("%d rows and %d of the table", len(rows), len(f.Table().Rows))
		}
		f.Sixty.Wall, f.Many.Wall, f.Many.Dropped, f.Clones.Documents, f.Many.PeakBytes = 11*time.Second, 13*time.Second, 2, 300, 601<<20
	}
}

// TestMeasureTheBuiltBinary runs all experiments with tiny sizes, without zoekt.
func TestMeasureTheBuiltBinary(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary")
	}
	dir, binary := t.TempDir(), testserver.Build(t)
	quarry, err := engine.OpenQuarry(binary, nil)
	if err != nil {
		t.Fatal(err)
	}
	corpora := filepath.Join(dir, "corpora")
	err = corpus.WriteRepository(t.Context(), corpus.GitPath(corpora, "h"), func(c *corpus.Commits) {
		for i := range 12 {
			c.Begin(fmt.Sprint(i))
			c.File("a.go", fmt.Appendf(nil, "package a // %d\n", i))
			c.File(fmt.Sprintf("d/f%d.go", i), []byte("package d // the same\n"))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	f, err := MeasureBranches(t.Context(), BranchOptions{
		Quarry: quarry, Corpora: corpora, Manifest: corpus.Manifest{Repositories: []corpus.Built{{Name: "h", Set: historySet}}}, Work: filepath.Join(dir, "work"),
		Rounds: 1, Sixty: 3, Many: 4, Thousands: 12, SettleTime: 500 * time.Millisecond, Log: t.Logf,
	})
	if err != nil {
		t.Fatal(err)
	}
	// The branches are at commits 3, 6, 9, 12 and at 4, 8, 12. That many texts of a.go
	// exist, and one text of each other file.
	for name, run := range map[string]struct {
		got  Import
		want float64
	}{"3 branches": {f.Sixty, 4}, "4 branches": {f.Many, 5}, "distinct text": {f.Text, 5}, "12 branches": {f.Thousands, 13}} {
		if run.got.Documents != run.want || run.got.Dropped != 0 || run.got.LogBytes == 0 || run.got.RowBytes == 0 {
			t.Errorf("%s: %+v, want %g documents", name, run.got, run.want)
		}
	}
	if f.DistinctDocuments != 5 || f.Clones.Documents < 5 || f.Clones.LogBytes <= f.Text.LogBytes {
		t.Errorf("%+v", f)
	}
}
