package bench

import (
	"fmt"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/report"
)

// The goals, as factors and bounds.
const (
	goalLinuxFactor   = 3.0
	goalLinuxPeak     = 1000 << 20
	goalMixedFactor   = 2.5
	goalDiskPerText   = 0.75
	goalMemory        = 1200 << 20
	goalQueryFactor   = 2.0
	goalLoadFactor    = 2.0
	notMeasured       = "not measured"
	withoutComparison = "no comparison"
)

func (b *bench) report() report.Report {
	r := report.Report{Title: "Run of " + time.Now().UTC().Format("2006-01-02"), Machine: b.machine, Inputs: b.inputs(), Missing: b.absent}
	zoekt, quarry := orEmpty(b.zoekt), orEmpty(b.quarry)
	add := func(s Step, rows ...report.Row) {
		if b.does(s) {
			r.Rows = append(r.Rows, rows...)
		}
	}
	add(StepImport, b.importRows(zoekt, quarry)...)
	add(StepSuite, b.sizeRows(zoekt, quarry)...)
	add(StepSuite, b.queryRows(zoekt, quarry)...)
	add(StepScans, b.scanRows(zoekt, quarry)...)
	add(StepLoad, loadRow(zoekt.plain.load, quarry.plain.load))
	add(StepPushes, pushRow(zoekt, quarry))
	if b.does(StepSuite) {
		r.Tables = append(r.Tables, b.classTable(zoekt, quarry), b.queryTable(zoekt, quarry))
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

func (b *bench) inputs() []string {
	var lines []string
	for _, set := range b.Sets {
		repositories := b.manifest.Set(set)
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

// verdict says whether got reaches goal, where more is better, and what is missing.
func verdict(got, goal float64) string {
	if got >= goal {
		return "reached"
	}
	return fmt.Sprintf("missed: %.2f of the goal", got/goal)
}

// compare fills Ratio and Verdict of a row whose figures are durations or sizes: less is better.
func compare(row report.Row, zoekt, quarry, goalFactor float64) report.Row {
	switch {
	case quarry == 0:
		row.Verdict = notMeasured
	case zoekt == 0:
		row.Verdict = withoutComparison
	default:
		row.Ratio, row.Verdict = report.Times(zoekt/quarry), verdict(zoekt/quarry, goalFactor)
	}
	return row
}

// bound is compare against a fixed bound.
func bound(row report.Row, zoekt, quarry, limit float64) report.Row {
	row.Verdict = notMeasured
	if quarry > 0 {
		row.Verdict = verdict(limit/quarry, 1)
		if zoekt > 0 {
			row.Ratio = report.Times(zoekt / quarry)
		}
	}
	return row
}

func (b *bench) importRows(zoekt, quarry *figures) []report.Row {
	row := func(set, label string, goal float64) report.Row {
		z, q := zoekt.imports[set], quarry.imports[set]
		figure := fmt.Sprintf("import %s (%.0f MB of text) with symbols, from git", label, float64(b.textBytes(set))/1e6)
		return compare(report.Row{Figure: figure, Zoekt: z.String(), Quarry: q.String(), Reach: fmt.Sprintf("≥ %.1f × faster", goal)}, z.Wall.Seconds(), q.Wall.Seconds(), goal)
	}
	peakZ, peakQ := zoekt.imports["linux"].PeakBytes, quarry.imports["linux"].PeakBytes
	return []report.Row{
		row("linux", "Linux", goalLinuxFactor),
		bound(report.Row{
			Figure: "peak memory of that import, children included", Zoekt: sizeOrNothing(peakZ), Quarry: sizeOrNothing(peakQ), Reach: "≤ " + report.MiB(goalLinuxPeak),
		}, float64(peakZ), float64(peakQ), goalLinuxPeak),
		row("mixed", fmt.Sprintf("the mixed set, %d repositories", len(b.manifest.Set("mixed"))), goalMixedFactor),
	}
}

func sizeOrNothing(n int64) string {
	if n == 0 {
		return ""
	}
	return report.MiB(n)
}

func (b *bench) sizeRows(zoekt, quarry *figures) []report.Row {
	text := float64(b.allTextBytes())
	perText := func(n int64) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprintf("%.2f (%s)", float64(n)/text, report.MiB(n))
	}
	memory := func(m memoryFigure) string {
		if m.ResidentBytes == 0 {
			return ""
		}
		return fmt.Sprintf("%s, of it %s anonymous", report.MiB(m.ResidentBytes), report.MiB(m.AnonymousBytes))
	}
	return []report.Row{
		bound(report.Row{
			Figure: "bytes on disk ÷ bytes of text, everything needed to search (git mirrors apart)",
			Zoekt:  perText(zoekt.diskBytes), Quarry: perText(quarry.diskBytes), Reach: fmt.Sprintf("≤ %.2f", goalDiskPerText),
		}, float64(zoekt.diskBytes), float64(quarry.diskBytes), goalDiskPerText*text),
		bound(report.Row{
			Figure: fmt.Sprintf("memory of the server after the query suite over %.2f GB of text", text/1e9),
			Zoekt:  memory(zoekt.memory), Quarry: memory(quarry.memory), Reach: "≤ " + report.MiB(goalMemory),
		}, float64(zoekt.memory.ResidentBytes), float64(quarry.memory.ResidentBytes), goalMemory),
	}
}

func (b *bench) queryRows(zoekt, quarry *figures) []report.Row {
	best := zoekt.bestSuite()
	all := func(int) bool { return true }
	easy := func(i int) bool { return b.Queries[i].Easy() }
	nEasy := 0
	for i := range b.Queries {
		if easy(i) {
			nEasy++
		}
	}
	describe := func(keep func(int) bool) string {
		if len(best) == 0 {
			return ""
		}
		return fmt.Sprintf("%s default, %s RE2, %s the better of each", report.Milliseconds(geometricMean(zoekt.plain.suite, keep)),
			report.Milliseconds(geometricMean(zoekt.re2.suite, keep)), report.Milliseconds(geometricMean(best, keep)))
	}
	row := func(figure string, keep func(int) bool) report.Row {
		q := geometricMean(quarry.plain.suite, keep)
		return compare(report.Row{Figure: figure, Zoekt: describe(keep), Quarry: report.Milliseconds(q), Reach: "≤ 1/2 of the better"},
			float64(geometricMean(best, keep)), float64(q), goalQueryFactor)
	}
	return []report.Row{
		row(fmt.Sprintf("%d queries of %d classes: geometric mean of the medians", len(b.Queries), len(b.classes())), all),
		row(fmt.Sprintf("the %d easy ones of them", nEasy), easy),
		cappedRow(zoekt.capped, quarry.plain.suite),
		b.slowerClasses(best, quarry.plain.suite),
	}
}

// cappedRow has no goal: it says how the suite compares when zoekt is let off finding the best files of a shard.
func cappedRow(zoekt, quarry []timing) report.Row {
	all := func(int) bool { return true }
	z, q := geometricMean(zoekt, all), geometricMean(quarry, all)
	row := report.Row{
		Figure: "all of them, zoekt with a cap per shard (see Method)", Zoekt: report.Milliseconds(z) + " the better of each", Quarry: report.Milliseconds(q), Verdict: "no goal",
	}
	if z == 0 {
		row.Zoekt = ""
	}
	if z > 0 && q > 0 {
		row.Ratio = report.Times(float64(z) / float64(q))
	}
	return row
}

func (b *bench) slowerClasses(best, quarry []timing) report.Row {
	row := report.Row{Figure: "classes in which Quarry is slower than the better of zoekt", Reach: "none", Verdict: notMeasured}
	if len(quarry) == 0 {
		return row
	}
	if len(best) == 0 {
		row.Verdict = withoutComparison
		return row
	}
	var slower []string
	for _, class := range b.classes() {
		in := func(i int) bool { return b.Queries[i].Class == class }
		if z, q := geometricMean(best, in), geometricMean(quarry, in); z > 0 && q > z {
			slower = append(slower, fmt.Sprintf("%s (%.2f ×)", class, float64(z)/float64(q)))
		}
	}
	row.Quarry, row.Verdict = "none", "reached"
	if len(slower) > 0 {
		row.Quarry, row.Verdict = strings.Join(slower, ", "), "missed"
	}
	return row
}

// scanRows compare each scan with ripgrep; zoekt's figures stand beside.
func (b *bench) scanRows(zoekt, quarry *figures) []report.Row {
	var rows []report.Row
	for i, q := range b.Scans {
		row := report.Row{Figure: fmt.Sprintf("every hit of `%s`; ripgrep %s", q.Text, medianOf(b.ripgrep, i)), Reach: "not slower than ripgrep", Verdict: notMeasured}
		row.Zoekt, row.Quarry = medianOf(zoekt.plain.scans, i), medianOf(quarry.plain.scans, i)
		if re2 := medianOf(zoekt.re2.scans, i); re2 != "" {
			row.Zoekt += " (RE2 " + re2 + ")"
		}
		if i < len(quarry.plain.scans) && i < len(b.ripgrep) && quarry.plain.scans[i].ok() && b.ripgrep[i].ok() {
			factor := float64(b.ripgrep[i].Median) / float64(quarry.plain.scans[i].Median)
			row.Ratio, row.Verdict = report.Times(factor)+" of ripgrep", verdict(factor, 1)
		}
		rows = append(rows, row)
	}
	return rows
}

func medianOf(timings []timing, i int) string {
	if i >= len(timings) || !timings[i].ok() {
		return ""
	}
	return report.Milliseconds(timings[i].Median)
}

func loadRow(zoekt, quarry *loadFigure) report.Row {
	describe := func(f *loadFigure) (string, float64) {
		if f == nil || f.Queries == 0 {
			return "", 0
		}
		text := fmt.Sprintf("%.1f queries/s, p50 %s, p99 %s", f.perSecond(), report.Milliseconds(f.P50), report.Milliseconds(f.P99))
		if f.Errors > 0 {
			text += fmt.Sprintf(", %d errors", f.Errors)
		}
		return text, f.perSecond()
	}
	row := report.Row{Figure: fmt.Sprintf("%d clients, interactive mix, %s", loadClients, loadDuration), Reach: fmt.Sprintf("≥ %.0f ×", goalLoadFactor)}
	var z, q float64
	row.Zoekt, z = describe(zoekt)
	row.Quarry, q = describe(quarry)
	if z > 0 && q > 0 { // more is better here
		return compare(row, q, z, goalLoadFactor)
	}
	row.Verdict = notMeasured
	if q > 0 {
		row.Verdict = withoutComparison
	}
	return row
}

func pushRow(zoekt, quarry *figures) report.Row {
	row := report.Row{Figure: "push of one file to Linux: web hook received → searchable", Reach: "p50 no more than its delta mode's"}
	var delta, indexed, ours []time.Duration
	for _, p := range zoekt.pushes {
		delta, indexed = append(delta, p.Searchable), append(indexed, p.Indexed)
	}
	for _, p := range quarry.pushes {
		ours = append(ours, p.Searchable)
	}
	if len(delta) > 0 {
		row.Zoekt = fmt.Sprintf("delta mode by hand: p50 %s, p99 %s (zoekt-git-index alone p50 %s)", report.Milliseconds(median(delta)),
			report.Milliseconds(quantile(delta, 0.99)), report.Milliseconds(median(indexed)))
	}
	if zoekt.normalPush != nil {
		row.Zoekt += "; normal mode " + report.Milliseconds(zoekt.normalPush.Searchable)
	}
	if len(ours) > 0 {
		row.Quarry = fmt.Sprintf("p50 %s, p99 %s", report.Milliseconds(median(ours)), report.Milliseconds(quantile(ours, 0.99)))
	}
	return compare(row, float64(median(indexed)), float64(median(ours)), 1)
}
