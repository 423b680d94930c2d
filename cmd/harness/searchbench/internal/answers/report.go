package answers

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/report"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/stat"
)

// Report returns for each family the share of tasks whose right line is among the first
// Depth, the share whose right line is the first, and the median time.
func Report(tasks []Task, runs []Run) report.Table {
	t := report.Table{Header: []string{"family", "tasks"}}
	for _, run := range runs {
		t.Header = append(t.Header, run.Name+": in ten", "first", "median")
	}
	for _, group := range groupTasks(tasks) {
		cells := []string{group.name, strconv.Itoa(len(group.tasks))}
		for _, run := range runs {
			var times []time.Duration
			for _, i := range group.tasks {
				times = append(times, run.Times[i])
			}
			cells = append(cells, group.share(func(i int) bool { return run.Ranks[i] > 0 }), group.share(func(i int) bool { return run.Ranks[i] == 1 }), fmt.Sprintf("%.1f ms", float64(stat.Median(times).Microseconds())/1000))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

type group struct {
	name  string
	tasks []int
}

// share returns the share of the tasks that keep accepts.
func (g group) share(keep func(task int) bool) string {
	n := 0
	for _, i := range g.tasks {
		if keep(i) {
			n++
		}
	}
	return fmt.Sprintf("%.2f", float64(n)/float64(len(g.tasks)))
}

// groupTasks returns the families, each followed by its variants.
func groupTasks(tasks []Task) (all []group) {
	add := func(name string, i int) {
		at := slices.IndexFunc(all, func(g group) bool { return g.name == name })
		if at < 0 {
			at, all = len(all), append(all, group{name: name})
		}
		all[at].tasks = append(all[at].tasks, i)
	}
	for i, t := range tasks {
		add("**"+t.Family+"**", i)
	}
	for i, t := range tasks {
		if t.Variant != "" {
			add(t.Family+", "+t.Variant, i)
		}
	}
	for i, t := range tasks {
		if t.Language != "" {
			add(t.Family+", "+t.Language, i)
		}
	}
	slices.SortStableFunc(all, func(a, b group) int { return a.tasks[0]*2 - b.tasks[0]*2 })
	return all
}

// Misses lists the tasks whose right line is not the first of an engine, with its
// position and the first line.
func Misses(w io.Writer, tasks []Task, run Run) {
	for i, t := range tasks {
		if run.Ranks[i] != 1 {
			l := run.Shown[i]
			fmt.Fprintf(w, "%s: %s, %s %s: %d: %q (%s) shows %s:%s:%d: %.120q\n", run.Name, t.Family, t.Variant, t.Language, run.Ranks[i], t.Text, t.From, l.Repository, l.Path, l.Number, l.Text)
		}
	}
}
