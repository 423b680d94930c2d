package bench

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/report"
)

// queryClasses returns the classes in the order of their first query.
func (b *bench) queryClasses() []string {
	var classes []string
	for _, q := range b.Queries {
		if !slices.Contains(classes, q.Class) {
			classes = append(classes, q.Class)
		}
	}
	return classes
}

// classTable lists the geometric means of each class, and the query in which Quarry
// compares worst.
func (b *bench) classTable(zoekt, quarry *figures) report.Table {
	best := zoekt.bestSuite()
	t := report.Table{
		Title:  "Classes of queries",
		Note:   "Geometric means of the medians. Ratio: the better of zoekt ÷ Quarry; above 1 Quarry is faster.",
		Header: []string{"class", "queries", "zoekt", "zoekt RE2", "zoekt capped", "quarry", "ratio", "worst query", "its ratio"},
	}
	for _, class := range b.queryClasses() {
		in := func(i int) bool { return b.Queries[i].Class == class }
		n := 0
		for i := range b.Queries {
			if in(i) {
				n++
			}
		}
		row := []string{
			class, strconv.Itoa(n), report.Milliseconds(geometricMean(zoekt.plain.suite, in)), report.Milliseconds(geometricMean(zoekt.re2.suite, in)),
			report.Milliseconds(geometricMean(zoekt.capped, in)), report.Milliseconds(geometricMean(quarry.plain.suite, in)), "", "", "",
		}
		if z, q := geometricMean(best, in), geometricMean(quarry.plain.suite, in); z > 0 && q > 0 {
			row[6] = fmt.Sprintf("%.2f", float64(z)/float64(q))
		}
		if name, ratio, ok := b.worstQuery(best, quarry.plain.suite, in); ok {
			row[7], row[8] = name, fmt.Sprintf("%.2f", ratio)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (b *bench) worstQuery(best, quarry []timing, in func(int) bool) (name string, ratio float64, ok bool) {
	for i := range b.Queries {
		if !in(i) || i >= len(best) || i >= len(quarry) || !best[i].isMeasured() || !quarry[i].isMeasured() {
			continue
		}
		if r := float64(best[i].Median) / float64(quarry[i].Median); !ok || r < ratio {
			name, ratio, ok = b.Queries[i].Name, r, true
		}
	}
	return name, ratio, ok
}

// queryTable lists every query with its first run, its median and its counts.
func (b *bench) queryTable(zoekt, quarry *figures) report.Table {
	t := report.Table{
		Title: "Queries",
		Note: "First run / median. Matches are the count that each program reports, up to the limit; zoekt lets a bare term match paths too, and counts " +
			"differently there. `searchbench verify` checks whether Quarry's counts are right.",
		Header: []string{"query", "limit", "zoekt", "zoekt RE2", "quarry", "matches zoekt", "matches quarry"},
	}
	cell := func(timings []timing, i int) string {
		if i >= len(timings) || !timings[i].isMeasured() {
			return ""
		}
		return report.Milliseconds(timings[i].First) + " / " + report.Milliseconds(timings[i].Median)
	}
	count := func(timings []timing, i int) string {
		if i >= len(timings) || !timings[i].isMeasured() {
			return ""
		}
		return strconv.Itoa(timings[i].Matches)
	}
	for i, q := range b.Queries {
		t.Rows = append(t.Rows, []string{
			q.Name + ": `" + q.Text + "`", strconv.Itoa(q.Limit), cell(zoekt.plain.suite, i), cell(zoekt.re2.suite, i), cell(quarry.plain.suite, i),
			count(zoekt.plain.suite, i), count(quarry.plain.suite, i),
		})
	}
	return t
}

// extraTable lists the queries outside of the suite.
func (b *bench) extraTable(zoekt, quarry *figures) report.Table {
	t := report.Table{
		Title: "Rare literals and symbols", Note: fmt.Sprintf("Median / slowest of %d runs.", b.ExtraRuns),
		Header: []string{"query", "zoekt", "zoekt RE2", "quarry", "matches zoekt", "matches quarry"},
	}
	cell := func(timings []timing, i int) string {
		if timingAt(timings, i).Median == 0 {
			return ""
		}
		return report.Milliseconds(timings[i].Median) + " / " + report.Milliseconds(timings[i].p99())
	}
	for i, q := range b.Extra {
		t.Rows = append(t.Rows, []string{
			q.Class + ": `" + q.Text + "`", cell(zoekt.plain.extra, i), cell(zoekt.re2.extra, i), cell(quarry.plain.extra, i),
			strconv.Itoa(timingAt(zoekt.plain.extra, i).Matches), strconv.Itoa(timingAt(quarry.plain.extra, i).Matches),
		})
	}
	return t
}

// stableTable lists each limited request that was repeated.
func (b *bench) stableTable(zoekt, quarry *figures) report.Table {
	t := report.Table{
		Title: "The same request again", Note: fmt.Sprintf("%d answers each, limit 100: different lists / matches counted / files read.", stableRequests),
		Header: []string{"query", "zoekt", "zoekt RE2", "quarry"},
	}
	cell := func(figures map[string]stableFigure, name string) string {
		f, ok := figures[name]
		if !ok {
			return ""
		}
		return fmt.Sprintf("%d / %d / %d", f.Lists, f.Matches, f.FilesRead)
	}
	for _, q := range b.stableQueries() {
		t.Rows = append(t.Rows, []string{"`" + q.Text + "`", cell(zoekt.plain.stable, q.Name), cell(zoekt.re2.stable, q.Name), cell(quarry.plain.stable, q.Name)})
	}
	return t
}
