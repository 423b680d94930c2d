package bench

import (
	"fmt"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/report"
)

// These are the verdicts of rows without a comparison.
const (
	notMeasured       = "not measured"
	withoutComparison = "no comparison"
	withoutGoal       = "no goal"
)

func (b *bench) buildReport() report.Report {
	r := report.Report{Title: "Run of " + time.Now().UTC().Format("2006-01-02"), Machine: b.machine, Inputs: b.describeInputs(), Missing: b.absent}
	zoekt, quarry := orEmpty(b.zoekt), orEmpty(b.quarry)
	add := func(s Step, rows ...report.Row) {
		if b.takesStep(s) {
			r.Rows = append(r.Rows, rows...)
		}
	}
	add(StepImport, b.importRows(zoekt, quarry)...)
	add(StepCore, b.coreRow(zoekt.core, quarry.core))
	add(StepSuite, b.sizeRows(zoekt, quarry)...)
	add(StepCold, coldRow(zoekt.cold, quarry.cold))
	add(StepSuite, b.queryRows(zoekt, quarry)...)
	add(StepClasses, b.rareRows(zoekt, quarry)...)
	add(StepSuite, b.classRows(zoekt, quarry)...)
	add(StepClasses, b.symbolRows(zoekt, quarry)...)
	add(StepScans, b.scanRows(zoekt, quarry)...)
	add(StepMachine, b.bandwidthRow(quarry))
	add(StepLoad, b.loadRows(zoekt, quarry)...)
	add(StepSuite, b.slowestRow(zoekt, quarry))
	add(StepStable, stableRow(zoekt, quarry))
	add(StepStream, streamRow(quarry))
	add(StepPushes, pushRow(zoekt, quarry))
	b.addBackbone(&r)
	if b.takesStep(StepSuite) {
		r.Tables = append(r.Tables, b.classTable(zoekt, quarry), b.queryTable(zoekt, quarry))
	}
	if b.takesStep(StepClasses) {
		r.Tables = append(r.Tables, b.extraTable(zoekt, quarry))
	}
	if b.takesStep(StepStable) {
		r.Tables = append(r.Tables, b.stableTable(zoekt, quarry))
	}
	if b.zoektLedger.replayed > 0 {
		r.Compared = "zoekt, from an earlier run"
	}
	return r
}

func orEmpty(f *figures) *figures {
	if f == nil {
		return &figures{}
	}
	return f
}

func (b *bench) describeInputs() []string {
	var lines []string
	for _, set := range b.Sets {
		repositories := b.manifest.Set(set)
		if len(repositories) == 0 {
			continue
		}
		files := 0
		for _, r := range repositories {
			files += r.TextFiles
		}
		lines = append(lines, fmt.Sprintf("%s: %d repositories, %d text files, %.1f MB of text", set, len(repositories), files, float64(b.textBytes(set))/1e6))
	}
	lines = append(lines, fmt.Sprintf("%d queries, median of %d runs after one to warm up; %d scans", len(b.Queries), b.Runs, len(b.Scans)))
	if len(b.Steps) < len(Steps) {
		lines = append(lines, fmt.Sprintf("only these steps: %s", strings.Trim(fmt.Sprint(b.Steps), "[]")))
	}
	if n := b.zoektLedger.replayed; n > 0 {
		lines = append(lines, fmt.Sprintf("**zoekt from an earlier run**: %d of the figures of zoekt and ripgrep are from %s or later. This is not one run.",
			n, b.zoektLedger.oldest.Format("2006-01-02 15:04 MST")))
	}
	return lines
}

// factorVerdict reports whether got reaches goal, where more is better, and by how much
// it misses it.
func factorVerdict(got, goal float64) string {
	if got >= goal {
		return "reached"
	}
	return fmt.Sprintf("missed: %.2f of the goal", got/goal)
}

// compareRow fills in Ratio and Verdict of a row whose figures are durations or sizes:
// less is better.
func compareRow(row report.Row, zoekt, quarry, goalFactor float64) report.Row {
	switch {
	case quarry == 0:
		row.Verdict = notMeasured
	case zoekt == 0:
		row.Verdict = withoutComparison
	default:
		row.Ratio, row.Verdict = report.Times(zoekt/quarry), factorVerdict(zoekt/quarry, goalFactor)
	}
	return row
}

// compareBound is compareRow with a fixed bound.
func compareBound(row report.Row, zoekt, quarry, limit float64) report.Row {
	row.Verdict = notMeasured
	if quarry > 0 {
		row.Verdict = factorVerdict(limit/quarry, 1)
		if zoekt > 0 {
			row.Ratio = report.Times(zoekt / quarry)
		}
	}
	return row
}

// compareRates is compareRow for figures of which more is better.
func compareRates(row report.Row, zoekt, quarry, goalFactor float64) report.Row {
	if zoekt > 0 && quarry > 0 {
		return compareRow(row, quarry, zoekt, goalFactor)
	}
	return compareRow(row, zoekt, quarry, goalFactor)
}

// reachFactor formats a factor as the allowed part of zoekt's figure.
func reachFactor(factor float64) string { return fmt.Sprintf("≤ 1/%.0f", factor) }
