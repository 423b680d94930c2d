package backbone

import (
	"fmt"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/report"
)

// These are the goals.
const (
	goalBranches = 6.0
	goalText     = 1.2
	goalDropped  = 0.01
	goalPeak     = 600 << 20
	goalClones   = 1.0
)

// Rows compares the figures with the goals. It omits rows with missing figures.
func (f *BranchFigures) Rows() []report.Row {
	var rows []report.Row
	if f.Sixty.Wall > 0 {
		row := report.Row{
			Figure: fmt.Sprintf("import %d branches (%.0f documents, %.0f MB) with symbols, from git", f.Branches.Sixty, f.Sixty.Documents, f.Sixty.TextBytes/1e6),
			Quarry: report.Milliseconds(f.Sixty.Wall), Reach: fmt.Sprintf("≥ %.1f × faster", goalBranches), Verdict: "no comparison",
		}
		if f.Zoekt > 0 {
			ratio := f.Zoekt.Seconds() / f.Sixty.Wall.Seconds()
			row.Zoekt, row.Ratio, row.Verdict = report.Milliseconds(f.Zoekt), report.Times(ratio), goalVerdict(ratio >= goalBranches)
		}
		rows = append(rows, row)
	}
	if f.Many.Wall > 0 && f.Text.Wall > 0 {
		ratio := f.Many.Wall.Seconds() / f.Text.Wall.Seconds()
		dropped := f.Many.Dropped / f.Many.Documents
		rows = append(rows, report.Row{
			Figure: fmt.Sprintf("import %d branches beside their distinct text alone (%d files, %.0f MB)", f.Branches.Many, f.DistinctDocuments, float64(f.DistinctBytes)/1e6),
			Quarry: fmt.Sprintf("%s; the text alone %s", report.Milliseconds(f.Many.Wall), report.Milliseconds(f.Text.Wall)), Ratio: report.Times(ratio),
			Reach: fmt.Sprintf("≤ %.1f ×", goalText), Verdict: goalVerdict(ratio <= goalText),
		}, report.Row{
			Figure: fmt.Sprintf("documents of %d branches that merges drop again", f.Branches.Many), Quarry: fmt.Sprintf("%.0f of %.0f", f.Many.Dropped, f.Many.Documents),
			Reach: fmt.Sprintf("≤ %.0f %%", 100*goalDropped), Verdict: goalVerdict(dropped <= goalDropped),
		})
	}
	if f.Clones.Wall > 0 && f.Text.Documents > 0 {
		ratio := f.Clones.Documents / f.Text.Documents
		rows = append(rows, report.Row{
			Figure: "documents written for three clones under three names, beside those of one", Quarry: fmt.Sprintf("%.0f for %.0f", f.Clones.Documents, f.Text.Documents),
			Ratio: report.Times(ratio), Reach: fmt.Sprintf("%.0f ×", goalClones), Verdict: goalVerdict(ratio <= goalClones),
		})
	}
	if peak := max(f.Sixty.PeakBytes, f.Many.PeakBytes, f.Thousands.PeakBytes); f.Thousands.Wall > 0 {
		rows = append(rows, report.Row{
			Figure: fmt.Sprintf("peak memory while %d, %d and %d branches are imported", f.Branches.Sixty, f.Branches.Many, f.Branches.Thousands),
			Quarry: fmt.Sprintf("%s, %s, %s", report.MiB(f.Sixty.PeakBytes), report.MiB(f.Many.PeakBytes), report.MiB(f.Thousands.PeakBytes)),
			Reach:  "≤ " + report.MiB(goalPeak), Verdict: goalVerdict(peak <= goalPeak),
		})
	}
	return rows
}

// Table returns a table of the cost of each branch and document.
func (f *BranchFigures) Table() report.Table {
	t := report.Table{
		Title: "Many branches of one repository",
		Note: fmt.Sprintf("Branches lie evenly on the history of %s. For each branch: what the import takes beyond that of %d branches, for each "+
			"branch more; rows are keys and values of the projection of places. The peak is the highest of all rounds, with the git commands.", f.Repository, f.Branches.Sixty),
		Header: []string{"import", "seconds", "documents", "dropped by merges", "MB of text", "peak", "ms for each branch", "log, bytes for each branch", "rows, bytes for each branch", "rows, bytes for each document"},
	}
	for _, e := range []struct {
		name     string
		branches int
		run      Import
	}{
		{"distinct text", 1, f.Text}, {fmt.Sprintf("%d branches", f.Branches.Sixty), f.Branches.Sixty, f.Sixty}, {fmt.Sprintf("%d branches", f.Branches.Many), f.Branches.Many, f.Many},
		{fmt.Sprintf("%d branches", f.Branches.Thousands), f.Branches.Thousands, f.Thousands}, {"three clones of the distinct text", clones, f.Clones},
	} {
		if e.run.Wall == 0 {
			continue
		}
		row := []string{
			e.name, fmt.Sprintf("%.1f", e.run.Wall.Seconds()), fmt.Sprintf("%.0f", e.run.Documents), fmt.Sprintf("%.0f", e.run.Dropped),
			fmt.Sprintf("%.0f", e.run.TextBytes/1e6), report.MiB(e.run.PeakBytes),
		}
		if more := float64(e.branches - f.Branches.Sixty); more > 0 {
			row = append(row, fmt.Sprintf("%.1f", 1000*(e.run.Wall-f.Sixty.Wall).Seconds()/more), fmt.Sprintf("%.0f", (e.run.LogBytes-f.Sixty.LogBytes)/more),
				fmt.Sprintf("%.0f", (e.run.RowBytes-f.Sixty.RowBytes)/more))
		} else {
			row = append(row, "", "", "")
		}
		t.Rows = append(t.Rows, append(row, fmt.Sprintf("%.0f", e.run.RowBytes/e.run.Documents)))
	}
	return t
}
