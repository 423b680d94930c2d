package compare

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/random"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/report"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/stat"
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

// group is a set of queries with a bound of their geometric mean.
type group struct {
	kind, name string
	members    []int
	bound      float64
}

// randomGroups returns the groups of the random queries: all, by family, by filter, by
// limit.
func (c *comparison) randomGroups() []group {
	groups := []group{{kind: "all", name: "all random queries", members: indexes(len(c.queries)), bound: boundAll}}
	by := func(kind string, name func(random.Query) string) {
		first := len(groups)
		for i, q := range c.queries {
			n := slices.IndexFunc(groups[first:], func(g group) bool { return g.name == name(q) })
			if n < 0 {
				n = len(groups) - first
				groups = append(groups, group{kind: kind, name: name(q), bound: boundFamily})
			}
			groups[first+n].members = append(groups[first+n].members, i)
		}
	}
	by("family", func(q random.Query) string { return q.Class })
	by("filter", func(q random.Query) string { return "filter " + q.Filter })
	by("limit", func(q random.Query) string { return limitName(q.Limit) })
	return withoutSmall(groups)
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
		{kind: "all", name: "suite", members: indexes(len(c.Suite)), bound: boundAll}, {kind: "all", name: "suite, the easy ones", bound: boundAll},
	}
	for i, q := range c.Suite {
		if q.Easy() {
			groups[1].members = append(groups[1].members, i)
		}
	}
	return withoutSmall(groups)
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
func (c *comparison) ratios(other *contender, of func(*contender) []answers, members []int) (ratios []float64) {
	for _, i := range members {
		if here, there := of(c.here)[i].median(), of(other)[i].median(); here > 0 && there > 0 {
			ratios = append(ratios, float64(here)/float64(there))
		}
	}
	return ratios
}

// ratioOf returns the geometric mean of a group's ratios. That of a family is trimmed,
// because its queries are few.
func (c *comparison) ratioOf(other *contender, of func(*contender) []answers, g group) float64 {
	ratios := c.ratios(other, of, g.members)
	if g.kind == "all" {
		return stat.GeometricMean(ratios)
	}
	return stat.TrimmedGeometricMean(ratios)
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
}

// rows returns the figures in the order of the report.
func (c *comparison) rows() []row {
	var rows []row
	for _, g := range c.randomGroups() {
		if g.kind == "all" {
			rows = append(rows, c.groupRow(g, func(o *contender) []answers { return o.random }))
		}
	}
	for _, g := range c.suiteGroups() {
		rows = append(rows, c.groupRow(g, func(o *contender) []answers { return o.suite }))
	}
	milliseconds := func(f float64) string { return report.Milliseconds(time.Duration(f)) }
	seconds := func(f float64) string { return fmt.Sprintf("%.1f s", f/float64(time.Second)) }
	mebibytes := func(f float64) string { return fmt.Sprintf("%.0f MiB", f/(1<<20)) }
	leastImport := func(figure func(importFigure) float64) func(*contender) float64 {
		return func(o *contender) float64 {
			least := math.Inf(1)
			for _, f := range o.imports {
				least = min(least, figure(f))
			}
			return least
		}
	}
	return append(rows,
		row{figure: fmt.Sprintf("%d clients, time per query", loadClients), format: milliseconds, bound: boundFamily, of: func(o *contender) float64 { wall, _ := o.perQuery(); return float64(wall) }},
		row{figure: fmt.Sprintf("%d clients, processor time per query", loadClients), format: milliseconds, bound: boundFamily, of: func(o *contender) float64 { _, cpu := o.perQuery(); return float64(cpu) }},
		row{figure: "push → searchable, p50", format: milliseconds, bound: boundPush, of: func(o *contender) float64 { return float64(stat.Median(o.pushes)) }},
		row{figure: "push → searchable, slowest", format: milliseconds, of: func(o *contender) float64 { return float64(stat.Quantile(o.pushes, 1)) }},
		row{figure: "import", format: seconds, of: leastImport(func(f importFigure) float64 { return float64(f.Wall) })},
		row{figure: "import, processor time", format: seconds, bound: boundFamily, of: leastImport(func(f importFigure) float64 { return float64(f.CPU) })},
		row{figure: "import, peak memory", format: mebibytes, bound: boundMemory, of: leastImport(func(f importFigure) float64 { return float64(f.PeakBytes) })},
		row{figure: "memory after the queries", format: mebibytes, bound: boundMemory, of: func(o *contender) float64 { return float64(o.memory.ResidentBytes) }},
		row{figure: "disk", format: mebibytes, bound: boundMemory, of: func(o *contender) float64 { return float64(o.diskBytes) }},
	)
}

// groupRow compares the geometric means of a group. Its ratio is that of the queries
// that both programs answered.
func (c *comparison) groupRow(g group, of func(*contender) []answers) row {
	return row{
		figure: fmt.Sprintf("%s (%d), geometric mean", g.name, len(g.members)), bound: g.bound,
		format: func(f float64) string { return report.Milliseconds(time.Duration(f)) },
		of: func(o *contender) float64 {
			var medians []time.Duration
			for _, i := range g.members {
				medians = append(medians, of(o)[i].median())
			}
			return float64(stat.GeometricMean(medians))
		},
		ratio: func(other *contender) float64 { return c.ratioOf(other, of, g) },
	}
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
