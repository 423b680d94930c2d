package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/random"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/report"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/stat"
)

// buildReport returns the report, and the figures that exceed their bound.
func (c *comparison) buildReport() (r report.Report, worse []string) {
	r = report.Report{Title: c.Title + " of " + time.Now().UTC().Format("2006-01-02"), Machine: c.machine, Inputs: c.describeInputs(), Missing: c.missing}
	add := func(t report.Table, more []string) {
		if len(t.Rows) > 0 {
			r.Tables, worse = append(r.Tables, t), append(worse, more...)
		}
	}
	add(c.mainTable())
	add(c.groupTable("Random queries by family, filter and limit", c.randomGroups()))
	for _, other := range c.contenders[1:] {
		add(c.distributionTable(other), nil)
		add(c.worstTable(other), nil)
	}
	if c.before == nil {
		byClass := func(q random.Query) string { return q.Class }
		add(c.groupTable("Suite by class", c.groupsBy(StepSuite, "class", byClass)))
		add(c.groupTable("Other queries by class", c.groupsBy(StepClasses, "class", byClass)))
		add(c.queryTable("Queries of the suite", StepSuite), nil)
		add(c.queryTable("Rare literals and symbols", StepClasses), nil)
	}
	add(c.scanTable(), nil)
	add(c.stableTable(), nil)
	add(c.streamTable(), nil)
	if failed := c.failedQueries(); len(failed) > 0 {
		r.Missing = append(r.Missing, failed...)
		worse = append(worse, fmt.Sprintf("%d queries failed", len(failed)))
	}
	if len(c.checks) > 0 {
		table, different := c.checkTable()
		r.Tables, worse = append(r.Tables, table), append(worse, different...)
	}
	return r, worse
}

func (c *comparison) describeInputs() []string {
	var lines []string
	for _, set := range c.Sets {
		files, text := 0, int64(0)
		var names []string
		for _, b := range c.repositories() {
			if b.Set == set {
				files, text, names = files+b.TextFiles, text+b.TextBytes, append(names, b.Name)
			}
		}
		if len(names) > 0 {
			lines = append(lines, fmt.Sprintf("%s: %d repositories (%s), %d text files, %.1f MB of text", set, len(names), strings.Join(names, ", "), files, float64(text)/1e6))
		}
	}
	lines = append(lines,
		fmt.Sprintf("%d random queries of the seed %d, %d of the suite, %d of other classes, median of at most %d runs after one to warm up, all programs in turn",
			len(c.queries[StepRandom]), c.Seed, len(c.Suite), len(c.Classes), c.Runs),
		"seconds: "+strings.Join(c.took, ", "))
	if c.zoekt != nil {
		lines = append(lines, "zoekt: per query the better of its two engines; clients and memory of the default one")
		if len(c.zoekt.imports) == 0 {
			lines = append(lines, "the index of zoekt is from an earlier run")
		}
	}
	return lines
}

// mainTable compares every figure with each of the other programs.
func (c *comparison) mainTable() (t report.Table, worse []string) {
	t = report.Table{Title: "Figures", Header: []string{"figure", c.here.name}, Note: "Less is better. A ratio is the figure here divided by the other one; for groups of queries, the geometric mean of the ratios of the queries. Advice is suggestions and related files, which zoekt does not give."}
	for _, other := range c.contenders[1:] {
		t.Header = append(t.Header, other.name, "ratio")
	}
	t.Header = append(t.Header, "bound", "")
	for _, r := range c.rows() {
		if r.of(c.here) == 0 {
			continue // not measured
		}
		cells := []string{r.figure, r.format(r.of(c.here))}
		for _, other := range c.contenders[1:] {
			ratio, ok := c.compareRow(r, other)
			if !ok {
				cells = append(cells, "", "")
				continue
			}
			cells = append(cells, r.format(r.of(other)), fmt.Sprintf("%.3f", ratio))
			if other == c.before && r.bound > 0 && ratio > r.bound {
				worse = append(worse, fmt.Sprintf("%s (%.3f)", r.figure, ratio))
			}
		}
		bound, verdict := c.judgeRow(r)
		t.Rows = append(t.Rows, append(cells, bound, verdict))
	}
	return t, worse
}

// groupTable compares groups of queries.
func (c *comparison) groupTable(title string, groups []group) (t report.Table, worse []string) {
	t = report.Table{Title: title, Note: "Ratios are geometric means without the smallest and the largest tenth, to zoekt without advice; slower are queries by more than a tenth.", Header: []string{"group", "queries", "here", "p99 here"}}
	for _, other := range c.contenders[1:] {
		t.Header = append(t.Header, "ratio to "+other.name, "slower")
	}
	t.Header = append(t.Header, "")
	for _, g := range groups {
		if g.kind == "all" || len(c.here.answers[g.step]) == 0 {
			continue
		}
		var all []time.Duration
		for _, i := range g.members {
			for _, times := range c.here.answers[g.step][i].times {
				all = append(all, times...)
			}
		}
		cells := []string{g.name, strconv.Itoa(len(g.members)), formatTime(c.here.geometricMean(g, answers.median)), report.Milliseconds(stat.Quantile(all, 0.99))}
		verdict := ""
		for _, other := range c.contenders[1:] {
			mean := c.ratioOf(other, g)
			cells = append(cells, fmt.Sprintf("%.3f", mean), formatShare(c.ratios(other, g.step, g.members)))
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
	ratios := c.ratios(other, StepRandom, indexes(len(c.queries[StepRandom])))
	slices.Sort(ratios)
	t := report.Table{
		Title: "Distribution of the ratios of random queries to " + other.name,
		Note:  fmt.Sprintf("%s of %d queries are slower here by more than a tenth.", formatShare(ratios), len(ratios)),
	}
	n := len(ratios)
	if n == 0 {
		return t
	}
	var cells []string
	for _, q := range []float64{0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99} {
		t.Header = append(t.Header, fmt.Sprintf("p%g", 100*q))
		cells = append(cells, fmt.Sprintf("%.2f", ratios[min(int(q*float64(n)), n-1)]))
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
	if len(c.here.answers[StepRandom]) == 0 {
		return t
	}
	median := c.medianFor(other)
	for _, w := range c.worstQueries(other) {
		q, here, there := c.queries[StepRandom][w.index], c.here.answers[StepRandom][w.index], other.answers[StepRandom][w.index]
		t.Rows = append(t.Rows, []string{
			q.Class, "`" + q.Text + "`", limitName(q.Limit), report.Milliseconds(median(here)), report.Milliseconds(median(there)), fmt.Sprintf("%.2f", w.ratio),
			strconv.Itoa(here.matches), strconv.Itoa(there.matches), strconv.Itoa(here.filesRead), c.explained[w.index],
		})
	}
	return t
}

// queryTable lists every query of a step with its first run, its median and its matches.
func (c *comparison) queryTable(title string, step Step) report.Table {
	t := report.Table{
		Title: title,
		Note: "First run, median, matches. Matches are the count that each program reports, up to the limit; zoekt lets a bare term match paths too, and counts " +
			"differently there. `searchbench verify` checks whether Quarry's counts are right.",
		Header: []string{"query", "limit"},
	}
	for _, o := range c.contenders {
		t.Header = append(t.Header, o.name)
	}
	if len(c.here.answers[step]) == 0 {
		return t
	}
	for i, q := range c.queries[step] {
		cells := []string{q.Name + ": `" + q.Text + "`", strconv.Itoa(q.Limit)}
		for _, o := range c.contenders {
			a := o.answers[step][i]
			cell := ""
			if a.median() > 0 {
				cell = fmt.Sprintf("%s, %s, %d", report.Milliseconds(a.first), report.Milliseconds(a.median()), a.matches)
			}
			cells = append(cells, cell)
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// scanTable compares each scan with zoekt and ripgrep, and the text that it covers in a
// second with the speed of memory. A scan with a goal must reach it, and each must be no
// slower than ripgrep.
func (c *comparison) scanTable() report.Table {
	t := report.Table{
		Title: "Scans: every match counted",
		Note: fmt.Sprintf("All cores read %.1f GB/s of memory (bytes.Count); bytes.Index %.1f, copy %.1f. The share is that of the first. It counts all text, also what the index excludes.",
			c.bandwidth.Count/1e9, c.bandwidth.Index/1e9, c.bandwidth.Copy/1e9),
		Header: []string{"query", "here", "zoekt", "ratio", "ripgrep", "ratio", "text", "share of memory", "bound", ""},
	}
	if len(c.here.answers[StepScans]) == 0 {
		return t
	}
	for i, q := range c.Scans {
		here := c.here.answers[StepScans][i].median()
		if here == 0 {
			continue
		}
		cells, bound, missed := []string{"`" + q.Text + "`", report.Milliseconds(here)}, "not slower than ripgrep", []string(nil)
		compare := func(other time.Duration, what string, part float64) {
			if other == 0 {
				cells = append(cells, "", "")
				if part > 0 {
					missed = append(missed, "no comparison with "+what)
				}
				return
			}
			cells = append(cells, report.Milliseconds(other), fmt.Sprintf("%.3f", float64(here)/float64(other)))
			if reached := float64(other) / float64(here); part > 0 && reached < part {
				missed = append(missed, fmt.Sprintf("missed for %s: %.2f of the goal", what, reached/part))
			}
		}
		var zoekt, ripgrep time.Duration
		if c.zoekt != nil {
			zoekt = c.zoekt.answers[StepScans][i].median()
		}
		if c.ripgrep != nil {
			ripgrep = c.ripgrep[i]
		}
		if scanGoals[q.Name] > 0 {
			bound = fmt.Sprintf("≤ 1/%.0f of zoekt, ", scanGoals[q.Name]) + bound
		}
		compare(zoekt, "zoekt", scanGoals[q.Name])
		compare(ripgrep, "ripgrep", 1)
		speed, share := float64(c.here.textBytes())/here.Seconds(), ""
		if c.bandwidth.Count > 0 {
			share = fmt.Sprintf("%.0f %%", 100*speed/c.bandwidth.Count)
		}
		verdict := strings.Join(missed, ", ")
		if verdict == "" {
			verdict = "reached"
		}
		t.Rows = append(t.Rows, append(cells, fmt.Sprintf("%.2f GB/s", speed/1e9), share, bound, verdict))
	}
	return t
}

// stableTable lists each limited request that was repeated.
func (c *comparison) stableTable() report.Table {
	t := report.Table{
		Title: "The same request again", Note: fmt.Sprintf("%d answers each, limit 100: different lists, of which there should be one, matches counted, files read.", stableRequests),
		Header: []string{"query"},
	}
	for _, o := range c.contenders {
		t.Header = append(t.Header, o.name)
	}
	for i, q := range c.stableQueries() {
		cells := []string{"`" + q.Text + "`"}
		for _, o := range c.contenders {
			if i < len(o.stable) {
				cells = append(cells, fmt.Sprintf("%d, %d, %d", o.stable[i].Lists, o.stable[i].Matches, o.stable[i].FilesRead))
			}
		}
		if len(cells) > 1 {
			t.Rows = append(t.Rows, cells)
		}
	}
	return t
}

// streamTable lists the streamed queries of this build.
func (c *comparison) streamTable() report.Table {
	t := report.Table{Title: "10,000 matches in parts", Header: []string{"query", "first part", "whole answer", "parts"}}
	for _, f := range c.here.streams {
		t.Rows = append(t.Rows, []string{"`" + f.Query + "`", report.Milliseconds(f.First), report.Milliseconds(f.Whole), strconv.Itoa(f.Chunks)})
	}
	return t
}

// failedQueries returns the errors of this build. Those of the others only have no ratio.
func (c *comparison) failedQueries() (errs []string) {
	for _, step := range []Step{StepRandom, StepSuite, StepClasses, StepScans} {
		for _, a := range c.here.answers[step] {
			if a.err != nil {
				errs = append(errs, a.err.Error())
			}
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
