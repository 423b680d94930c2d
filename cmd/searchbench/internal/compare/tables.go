package compare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/report"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/stat"
)

// buildReport returns the report, and the figures that exceed their bound.
func (c *comparison) buildReport(machine report.Machine) (r report.Report, worse []string) {
	r = report.Report{Title: "Comparison of " + time.Now().UTC().Format("2006-01-02"), Machine: machine, Inputs: c.describeInputs()}
	main, worse := c.mainTable()
	r.Tables = append(r.Tables, main)
	families, worseFamilies := c.groupTable()
	worse = append(worse, worseFamilies...)
	r.Tables = append(r.Tables, families)
	for _, other := range c.contenders[1:] {
		r.Tables = append(r.Tables, c.distributionTable(other), c.worstTable(other))
	}
	if failed := c.failedQueries(); len(failed) > 0 {
		r.Missing = append(r.Missing, failed...)
		worse = append(worse, fmt.Sprintf("%d queries failed", len(failed)))
	}
	if len(c.checks) > 0 {
		table, different := c.checkTable()
		r.Tables = append(r.Tables, table)
		worse = append(worse, different...)
	}
	return r, worse
}

func (c *comparison) describeInputs() []string {
	files, text := 0, int64(0)
	var names []string
	for _, b := range c.repositories() {
		files, text = files+b.TextFiles, text+b.TextBytes
		names = append(names, b.Name)
	}
	lines := []string{
		fmt.Sprintf("%d repositories (%s), %d text files, %.1f MB of text", len(names), strings.Join(names, ", "), files, float64(text)/1e6),
		fmt.Sprintf("%d random queries of the seed %d, %d of the suite, median of at most %d runs after one to warm up, all programs in turn", len(c.queries), c.Seed, len(c.Suite), c.Runs),
		"seconds: " + strings.Join(c.steps, ", "),
	}
	if c.zoekt != nil {
		lines = append(lines, "zoekt: per query the better of its two engines; clients and memory of the default one")
	}
	return lines
}

// mainTable compares every figure with each of the other programs.
func (c *comparison) mainTable() (t report.Table, worse []string) {
	t = report.Table{Title: "Figures", Header: []string{"figure", "here"}, Note: "Less is better. A ratio is the figure here divided by the other one; for groups of queries, the geometric mean of the ratios of the queries."}
	for _, other := range c.contenders[1:] {
		t.Header = append(t.Header, other.name, "ratio")
	}
	t.Header = append(t.Header, "bound", "")
	for _, r := range c.rows() {
		cells := []string{r.figure, r.format(r.of(c.here))}
		bound, verdict := "", ""
		if r.of(c.here) == 0 {
			continue // not measured
		}
		for _, other := range c.contenders[1:] {
			ratio, ok := c.compareRow(r, other)
			if !ok {
				cells = append(cells, "", "")
				continue
			}
			cells = append(cells, r.format(r.of(other)), fmt.Sprintf("%.3f", ratio))
			if other == c.before && r.bound > 0 {
				bound, verdict = fmt.Sprintf("%.2f", r.bound), "ok"
				if ratio > r.bound {
					verdict = "WORSE"
					worse = append(worse, fmt.Sprintf("%s (%.3f)", r.figure, ratio))
				}
			}
		}
		t.Rows = append(t.Rows, append(cells, bound, verdict))
	}
	return t, worse
}

// groupTable compares the families, filters and limits of the random queries.
func (c *comparison) groupTable() (t report.Table, worse []string) {
	t = report.Table{Title: "Random queries by family, filter and limit", Note: "Ratios are geometric means without the smallest and the largest tenth; slower are queries by more than a tenth.", Header: []string{"group", "queries", "here", "p99 here"}}
	of := func(o *contender) []answers { return o.random }
	for _, other := range c.contenders[1:] {
		t.Header = append(t.Header, "ratio to "+other.name, "slower")
	}
	t.Header = append(t.Header, "")
	for _, g := range c.randomGroups() {
		if g.kind == "all" {
			continue
		}
		var medians, all []time.Duration
		for _, i := range g.members {
			medians = append(medians, c.here.random[i].median())
			for _, times := range c.here.random[i].times {
				all = append(all, times...)
			}
		}
		cells := []string{g.name, strconv.Itoa(len(g.members)), report.Milliseconds(stat.GeometricMean(medians)), report.Milliseconds(stat.Quantile(all, 0.99))}
		verdict := ""
		for _, other := range c.contenders[1:] {
			mean := c.ratioOf(other, of, g)
			cells = append(cells, fmt.Sprintf("%.3f", mean), formatShare(c.ratios(other, of, g.members)))
			if other == c.before && mean > g.bound {
				verdict = "WORSE"
				worse = append(worse, fmt.Sprintf("%s (%.3f)", g.name, mean))
			}
		}
		t.Rows = append(t.Rows, append(cells, verdict))
	}
	return t, worse
}

// formatShare returns the share of the ratios that are slower.
func formatShare(ratios []float64) string {
	slower := 0
	for _, r := range ratios {
		if r > slowerFactor {
			slower++
		}
	}
	return fmt.Sprintf("%d %%", 100*slower/max(len(ratios), 1))
}

// distributionTable shows how the ratios to a program are distributed.
func (c *comparison) distributionTable(other *contender) report.Table {
	ratios := c.ratios(other, func(o *contender) []answers { return o.random }, indexes(len(c.queries)))
	slices.Sort(ratios)
	t := report.Table{
		Title: "Distribution of the ratios of random queries to " + other.name,
		Note:  fmt.Sprintf("%s of %d queries are slower here by more than a tenth.", formatShare(ratios), len(ratios)),
	}
	var cells []string
	for _, q := range []float64{0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99} {
		t.Header = append(t.Header, fmt.Sprintf("p%g", 100*q))
		if n := len(ratios); n > 0 {
			cells = append(cells, fmt.Sprintf("%.2f", ratios[min(int(q*float64(n)), n-1)]))
		}
	}
	t.Rows = [][]string{cells}
	return t
}

// worstTable lists the queries with the largest ratios to a program.
func (c *comparison) worstTable(other *contender) report.Table {
	t := report.Table{
		Title:  "Random queries that compare worst with " + other.name,
		Header: []string{"family", "query", "limit", "here", other.name, "ratio", "matches here", "matches " + other.name, "files read here", "explain here"},
	}
	for _, w := range c.worstQueries(other) {
		q, here, there := c.queries[w.index], c.here.random[w.index], other.random[w.index]
		t.Rows = append(t.Rows, []string{
			q.Class, "`" + q.Text + "`", limitName(q.Limit), report.Milliseconds(here.median()), report.Milliseconds(there.median()), fmt.Sprintf("%.2f", w.ratio),
			strconv.Itoa(here.matches), strconv.Itoa(there.matches), strconv.Itoa(here.filesRead), c.explained[w.index],
		})
	}
	return t
}

// failedQueries returns the errors of this build. Those of the others only have no ratio.
func (c *comparison) failedQueries() (errs []string) {
	for _, a := range slices.Concat(c.here.random, c.here.suite) {
		if a.err != nil {
			errs = append(errs, a.err.Error())
		}
	}
	return errs
}

// checkTable reports queries whose matches differ from ripgrep's.
func (c *comparison) checkTable() (t report.Table, different []string) {
	matches, excused := 0, 0
	for _, o := range c.checks {
		matches += o.Matches
		for _, n := range o.Excused {
			excused += n
		}
		if o.Failed > 0 {
			different = append(different, "matches of "+o.Query.Text)
			t.Rows = append(t.Rows, []string{o.Query.Class, "`" + o.Query.Text + "`", o.String()})
		}
	}
	t.Title, t.Header = "Matches compared with ripgrep's", []string{"family", "query", "difference"}
	t.Note = fmt.Sprintf("%d random queries, %d matches: %d differ; %d files are excused, since they are skipped or not UTF-8.", len(c.checks), matches, len(different), excused)
	return t, different
}
