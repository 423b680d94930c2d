package bench

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/random"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/report"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/stat"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/suite"
)

// These are the bounds of the ratio of this build's figures to those of the earlier one.
const (
	boundAll     = 1.03 // geometric mean of all random queries, and of the suite
	boundFamily  = 1.10 // trimmed geometric mean of a family, a filter or a limit; clients; imports
	boundMemory  = 1.05 // peak memory of the import, memory after the queries, disk
	boundPush    = 1.10 // median of the pushes
	minFamily    = 5    // smaller families have no bound: one query would decide
	slowerFactor = 1.10 // a query counts as slower from here
)

// goal is what a figure of this build must reach without an earlier build: a part of
// zoekt's figure, or an absolute limit. Zero values are no goals.
type goal struct {
	part  float64 // 1/part of zoekt's figure
	limit float64
}

// These are the goals of the classes of queries that have one.
var classGoals = []struct {
	figure  string
	step    Step
	classes []string
	part    float64
}{
	{"common literal, first 100", StepSuite, []string{"common-literal"}, 7},
	{"1–2 characters, first 100", StepSuite, []string{"1-char", "2-char"}, 10},
	{"alternation, any case, first 100", StepSuite, []string{"regex-alternation"}, 10},
	{"regex without a literal, first 100", StepSuite, []string{"regex-no-literal"}, 5},
	{"symbols by exact name", StepClasses, []string{suite.ClassSymbolExact}, 3},
	{"symbols by regular expression", StepClasses, []string{suite.ClassSymbolRegex}, 5},
	{"symbols, common", StepClasses, []string{suite.ClassSymbolCommon}, 5},
}

// scanGoals are the parts of zoekt's time, by the name of the scan. Scans that are not
// listed are compared with ripgrep only.
var scanGoals = map[string]float64{"scan-return": 2, "scan-int": 2, "scan-if": 4, "scan-never": 8}

// importGoals are those of the imports of a set.
var importGoals = map[string]float64{"linux": 6, "mixed": 5}

// group is a set of queries with a bound of their geometric mean.
type group struct {
	step       Step
	kind, name string
	members    []int
	bound      float64
	goal       goal
}

// groupsBy returns the groups of the queries of a step with equal names.
func (c *comparison) groupsBy(step Step, kind string, name func(random.Query) string) (groups []group) {
	for i, q := range c.queries[step] {
		n := slices.IndexFunc(groups, func(g group) bool { return g.name == name(q) })
		if n < 0 {
			n, groups = len(groups), append(groups, group{step: step, kind: kind, name: name(q), bound: boundFamily})
		}
		groups[n].members = append(groups[n].members, i)
	}
	return groups
}

// randomGroups returns the groups of the random queries: all, by family, by filter, by
// limit.
func (c *comparison) randomGroups() []group {
	all := group{step: StepRandom, kind: "all", name: "all random queries", members: indexes(len(c.queries[StepRandom])), bound: boundAll}
	return withoutSmall(slices.Concat([]group{all},
		c.groupsBy(StepRandom, "family", func(q random.Query) string { return q.Class }),
		c.groupsBy(StepRandom, "filter", func(q random.Query) string { return "filter " + q.Filter }),
		c.groupsBy(StepRandom, "limit", func(q random.Query) string { return limitName(q.Limit) })))
}

func limitName(limit int) string {
	if limit == 0 {
		return "every match counted"
	}
	return fmt.Sprintf("limit %d", limit)
}

// suiteGroups returns the groups of the suite: all, and the easy ones. Its classes are
// too small for a bound.
func (c *comparison) suiteGroups() []group {
	groups := []group{
		{step: StepSuite, kind: "all", name: "suite", members: indexes(len(c.Suite)), bound: boundAll, goal: goal{part: 6}},
		{step: StepSuite, kind: "all", name: "suite, the easy ones", bound: boundAll, goal: goal{part: 3}},
	}
	for i, q := range c.Suite {
		if q.Easy() {
			groups[1].members = append(groups[1].members, i)
		}
	}
	return withoutSmall(groups)
}

// goalGroups returns the groups of the classes with goals.
func (c *comparison) goalGroups() (groups []group) {
	for _, g := range classGoals {
		found := group{step: g.step, kind: "all", name: g.figure, goal: goal{part: g.part}}
		for i, q := range c.queries[g.step] {
			if slices.Contains(g.classes, q.Class) {
				found.members = append(found.members, i)
			}
		}
		if len(found.members) > 0 {
			groups = append(groups, found)
		}
	}
	return groups
}

func withoutSmall(groups []group) []group {
	return slices.DeleteFunc(groups, func(g group) bool { return len(g.members) < minFamily })
}

func indexes(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// ratios returns the time of this build as a share of that of another program, query by
// query, for the queries that both answered.
func (c *comparison) ratios(other *contender, step Step, members []int) []float64 {
	return c.ratiosOf(c.medianFor(other), other, step, members)
}

// medianFor returns the median by which this build is compared with another program: that of
// the answers without advice for zoekt, which gives none.
func (c *comparison) medianFor(other *contender) func(answers) time.Duration {
	if other == c.zoekt {
		return answers.briefMedian
	}
	return answers.median
}

func (c *comparison) ratiosOf(median func(answers) time.Duration, other *contender, step Step, members []int) (ratios []float64) {
	here, there := c.here.answers[step], other.answers[step]
	for _, i := range members {
		if i < len(here) && i < len(there) && median(here[i]) > 0 && median(there[i]) > 0 {
			ratios = append(ratios, float64(median(here[i]))/float64(median(there[i])))
		}
	}
	return ratios
}

// ratioOf returns the geometric mean of a group's ratios. That of a family is trimmed,
// because its queries are few.
func (c *comparison) ratioOf(other *contender, g group) float64 {
	ratios := c.ratios(other, g.step, g.members)
	if g.kind == "all" {
		return stat.GeometricMean(ratios)
	}
	return stat.TrimmedGeometricMean(ratios)
}

// geometricMean returns the geometric mean of the medians of a group.
func (o *contender) geometricMean(g group, median func(answers) time.Duration) float64 {
	var medians []time.Duration
	for _, i := range g.members {
		if i < len(o.answers[g.step]) {
			medians = append(medians, median(o.answers[g.step][i]))
		}
	}
	return float64(stat.GeometricMean(medians))
}

// collectTimes returns the times of all answers of a step, of the queries of a class, or of all
// if class is empty.
func (c *comparison) collectTimes(o *contender, step Step, class string) (all []time.Duration) {
	for i, a := range o.answers[step] {
		if class == "" || c.queries[step][i].Class == class {
			all = append(all, a.fastestTimes()...)
		}
	}
	return all
}

// row is a figure of all programs, of which less is better.
type row struct {
	figure string
	format func(float64) string
	of     func(*contender) float64
	// ratio is the share of the figure here of that of the other program. Default: that
	// of the figures.
	ratio func(other *contender) float64
	bound float64 // of the ratio to the earlier build; 0 means none
	goal  goal
}

func formatTime(f float64) string    { return report.Milliseconds(time.Duration(f)) }
func formatSeconds(f float64) string { return fmt.Sprintf("%.1f s", f/float64(time.Second)) }
func formatSize(f float64) string    { return fmt.Sprintf("%.0f MiB", f/(1<<20)) }
func formatCount(f float64) string   { return fmt.Sprintf("%.0f", f) }

// rows returns the figures in the order of the report.
func (c *comparison) rows() (rows []row) {
	for _, g := range slices.Concat(c.randomGroups(), c.suiteGroups(), c.goalGroups()) {
		if g.kind == "all" {
			for _, r := range []struct {
				figure string
				bound  float64
				goal   goal
				median func(answers) time.Duration
			}{
				{"%s (%d), geometric mean", g.bound, goal{}, answers.median},
				{"%s (%d), without advice", 0, g.goal, answers.briefMedian},
			} {
				rows = append(rows, row{
					figure: fmt.Sprintf(r.figure, g.name, len(g.members)), format: formatTime, bound: r.bound, goal: r.goal,
					of: func(o *contender) float64 { return o.geometricMean(g, r.median) },
					ratio: func(other *contender) float64 {
						return stat.GeometricMean(c.ratiosOf(r.median, other, g.step, g.members))
					},
				})
			}
		}
	}
	quantile := func(figure string, q float64, g goal, times func(*contender) []time.Duration) row {
		return row{figure: figure, format: formatTime, goal: g, of: func(o *contender) float64 { return float64(stat.Quantile(times(o), q)) }}
	}
	rare := func(o *contender) []time.Duration { return c.collectTimes(o, StepClasses, suite.ClassRare) }
	rows = append(rows, quantile("rare literal, p50 of all answers", 0.5, goal{part: 3}, rare), quantile("rare literal, p99 of all answers", 0.99, goal{part: 3}, rare),
		quantile("slowest answer of the suite and the scans", 1, goal{part: 5}, func(o *contender) []time.Duration {
			return append(c.collectTimes(o, StepSuite, ""), c.collectTimes(o, StepScans, "")...)
		}))
	for _, load := range []struct {
		list, figure string
		bound        float64
		goal         goal
	}{
		{loadInteractive, fmt.Sprintf("%d clients", loadClients), boundFamily, goal{part: 4}},
		{loadHeavy, fmt.Sprintf("%d clients, one in %d queries a scan", loadClients, heavyEvery), 0, goal{part: 15}},
	} {
		rows = append(rows,
			row{figure: load.figure + ", time per query", format: formatTime, bound: load.bound, goal: load.goal, of: func(o *contender) float64 { wall, _ := o.perQuery(load.list); return float64(wall) }},
			row{figure: load.figure + ", processor time per query", format: formatTime, bound: load.bound, of: func(o *contender) float64 { _, cpu := o.perQuery(load.list); return float64(cpu) }},
			quantile(load.figure+", p99", 0.99, goal{}, func(o *contender) (all []time.Duration) {
				for _, f := range o.loads[load.list] {
					all = append(all, f.Latencies...)
				}
				return all
			}))
	}
	rows = append(rows,
		row{figure: "push → searchable, p50", format: formatTime, bound: boundPush, goal: goal{part: 1}, of: func(o *contender) float64 { return float64(stat.Median(o.pushes)) }},
		quantile("push → searchable, slowest", 1, goal{}, func(o *contender) []time.Duration { return o.pushes }),
		row{figure: "cold start, files out of the page cache → first right answer", format: formatTime, goal: goal{part: 2}, of: func(o *contender) float64 { return float64(stat.Median(o.cold)) }},
	)
	for i, set := range c.here.sets {
		figure, peak := "import", goal{}
		if set.name != "" {
			figure = fmt.Sprintf("import of %s (%.0f MB of text)", set.name, float64(set.textBytes)/1e6)
		}
		if set.name == "linux" {
			peak.limit = 600 << 20
		}
		least := func(value func(importFigure) float64) func(*contender) float64 {
			return func(o *contender) float64 { return o.leastImport(i, value) }
		}
		rows = append(rows,
			row{figure: figure, format: formatSeconds, goal: goal{part: importGoals[set.name]}, of: least(func(f importFigure) float64 { return float64(f.Wall) })},
			row{figure: figure + ", processor time", format: formatSeconds, bound: boundFamily, of: least(func(f importFigure) float64 { return float64(f.CPU) })},
			row{figure: figure + ", peak memory", format: formatSize, bound: boundMemory, goal: peak, of: least(func(f importFigure) float64 { return float64(f.PeakBytes) })})
	}
	return append(rows,
		row{figure: "index core of the set " + c.CoreSet + ", processor time for a MB of text", format: formatTime, goal: goal{part: 3}, of: func(o *contender) float64 { return o.core.perMegabyte() }},
		row{figure: "memory after the queries", format: formatSize, bound: boundMemory, goal: goal{limit: 700 << 20}, of: func(o *contender) float64 { return float64(o.memory.ResidentBytes) }},
		row{figure: "memory after the queries, without mapped files", format: formatSize, of: func(o *contender) float64 { return float64(o.memory.AnonymousBytes) }},
		row{figure: "disk", format: formatSize, bound: boundMemory, goal: goal{limit: 0.60 * float64(c.here.textBytes())}, of: func(o *contender) float64 { return float64(o.diskBytes) }},
		row{figure: "segments", format: formatCount, of: func(o *contender) float64 { return o.segments }},
	)
}

// compareRow returns the ratio of a figure to that of another program. ok is false if
// one of them was not measured.
func (c *comparison) compareRow(r row, other *contender) (ratio float64, ok bool) {
	if r.ratio != nil {
		ratio = r.ratio(other)
	} else if there := r.of(other); there > 0 {
		ratio = r.of(c.here) / there
	}
	return ratio, ratio > 0 && !math.IsInf(ratio, 0) && !math.IsNaN(ratio)
}

// judgeRow returns the bound of a row and whether this build keeps it: the bound of the
// ratio to an earlier build, or the goal.
func (c *comparison) judgeRow(r row) (bound, verdict string) {
	if c.before != nil {
		ratio, ok := c.compareRow(r, c.before)
		if r.bound == 0 || !ok {
			return "", ""
		}
		if ratio > r.bound {
			return fmt.Sprintf("%.2f", r.bound), "WORSE"
		}
		return fmt.Sprintf("%.2f", r.bound), "ok"
	}
	of, missed := r.of(c.here), 0.0
	switch {
	case !c.Goals:
		return "", ""
	case r.goal.limit > 0:
		bound, missed = "≤ "+r.format(r.goal.limit), r.goal.limit/of
	case r.goal.part > 0:
		bound, verdict = fmt.Sprintf("≤ 1/%.0f of zoekt", r.goal.part), "no comparison"
		if c.zoekt == nil {
			return bound, verdict
		}
		ratio, ok := c.compareRow(r, c.zoekt)
		if !ok {
			return bound, verdict
		}
		missed = 1 / (ratio * r.goal.part)
	default:
		return "", ""
	}
	if missed >= 1 {
		return bound, "reached"
	}
	return bound, fmt.Sprintf("missed: %.2f of the goal", missed)
}
