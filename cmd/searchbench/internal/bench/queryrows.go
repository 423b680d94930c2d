package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/report"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/stat"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/suite"
)

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
	row := func(figure string, keep func(int) bool, goal float64) report.Row {
		return meanRow(figure, zoekt.plain.suite, zoekt.re2.suite, quarry.plain.suite, keep, goal)
	}
	return []report.Row{
		row(fmt.Sprintf("%d queries of %d classes: geometric mean of the medians", len(b.Queries), len(b.queryClasses())), all, goalSuiteFactor),
		row(fmt.Sprintf("the %d easy ones of them", nEasy), easy, goalEasyFactor),
		cappedRow(zoekt.capped, quarry.plain.suite),
		b.slowerClasses(best, quarry.plain.suite),
	}
}

// meanRow compares the geometric mean of medians with that of the better of zoekt's
// engines, query by query.
func meanRow(figure string, plain, re2, quarry []timing, keep func(int) bool, goal float64) report.Row {
	best := fasterTimings(plain, re2)
	row := report.Row{Figure: figure, Reach: reachFactor(goal) + " of the better"}
	if len(best) > 0 {
		row.Zoekt = fmt.Sprintf("%s default, %s RE2, %s the better of each", report.Milliseconds(geometricMean(plain, keep)),
			report.Milliseconds(geometricMean(re2, keep)), report.Milliseconds(geometricMean(best, keep)))
	}
	z, q := geometricMean(best, keep), geometricMean(quarry, keep)
	row.Quarry = report.Milliseconds(q)
	return compareRow(row, float64(z), float64(q), goal)
}

// cappedRow has no goal. It shows how the suite compares when zoekt need not find the
// best files of a shard.
func cappedRow(zoekt, quarry []timing) report.Row {
	all := func(int) bool { return true }
	z, q := geometricMean(zoekt, all), geometricMean(quarry, all)
	row := report.Row{
		Figure: "all of them, zoekt with a cap per shard (see Method)", Zoekt: report.Milliseconds(z) + " the better of each", Quarry: report.Milliseconds(q), Verdict: withoutGoal,
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
	for _, class := range b.queryClasses() {
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

func medianOf(timings []timing, i int) string {
	if i >= len(timings) || !timings[i].isMeasured() {
		return ""
	}
	return report.Milliseconds(timings[i].Median)
}

// classRows returns the rows of the classes that have their own goals.
func (b *bench) classRows(zoekt, quarry *figures) []report.Row {
	var rows []report.Row
	for _, g := range classGoals {
		in := func(i int) bool { return slices.Contains(g.classes, b.Queries[i].Class) }
		rows = append(rows, meanRow(g.figure, zoekt.plain.suite, zoekt.re2.suite, quarry.plain.suite, in, g.factor))
	}
	return rows
}

func (b *bench) symbolRows(zoekt, quarry *figures) []report.Row {
	var rows []report.Row
	for _, g := range symbolGoals {
		in := func(i int) bool { return b.Extra[i].Class == g.class }
		rows = append(rows, meanRow(g.figure, zoekt.plain.extra, zoekt.re2.extra, quarry.plain.extra, in, g.factor))
	}
	return rows
}

// rareRows compares quantiles of all answers to rare literals.
func (b *bench) rareRows(zoekt, quarry *figures) []report.Row {
	pool := func(timings []timing) (all []time.Duration) {
		for i, t := range timings {
			if b.Extra[i].Class == suite.ClassRare && t.isMeasured() {
				all = append(all, t.All...)
			}
		}
		return all
	}
	plain, re2, ours := pool(zoekt.plain.extra), pool(zoekt.re2.extra), pool(quarry.plain.extra)
	var rows []report.Row
	for _, q := range []struct {
		name  string
		share float64
	}{{"p50", 0.5}, {"p99", 0.99}} {
		row := report.Row{Figure: fmt.Sprintf("rare literal, %s of %d answers", q.name, len(ours)), Reach: reachFactor(goalRareFactor) + " of the better"}
		z := stat.Quantile(plain, q.share)
		if other := stat.Quantile(re2, q.share); z == 0 || (other > 0 && other < z) {
			z = other
		}
		if z > 0 {
			row.Zoekt = fmt.Sprintf("%s default, %s RE2", report.Milliseconds(stat.Quantile(plain, q.share)), report.Milliseconds(stat.Quantile(re2, q.share)))
		}
		row.Quarry = report.Milliseconds(stat.Quantile(ours, q.share))
		rows = append(rows, compareRow(row, float64(z), float64(stat.Quantile(ours, q.share)), goalRareFactor))
	}
	return rows
}

// slowestRow compares the slowest p99 of all queries of the suite, and of the scans if
// they were run.
func (b *bench) slowestRow(zoekt, quarry *figures) report.Row {
	queries := slices.Concat(b.Queries, b.Scans)
	slowest := func(suite, scans []timing) (name string, p99 time.Duration) {
		if len(suite) == len(b.Queries) { // otherwise the indexes of timings and queries differ
			suite = slices.Concat(suite, scans)
		}
		for i, t := range suite {
			if t.isMeasured() && t.p99() > p99 {
				name, p99 = queries[i].Name, t.p99()
			}
		}
		return name, p99
	}
	row := report.Row{Figure: "slowest p99 of any query of the suite and the scans", Reach: reachFactor(goalSlowest) + " of the better"}
	name, z := slowest(zoekt.bestSuite(), zoekt.bestScans())
	if z > 0 {
		row.Zoekt = fmt.Sprintf("%s the better of each (%s)", report.Milliseconds(z), name)
	}
	name, q := slowest(quarry.plain.suite, quarry.plain.scans)
	if q > 0 {
		row.Quarry = fmt.Sprintf("%s (%s)", report.Milliseconds(q), name)
	}
	return compareRow(row, float64(z), float64(q), goalSlowest)
}
