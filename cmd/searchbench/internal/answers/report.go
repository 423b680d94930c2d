package answers

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// Report prints for each family the share of tasks whose right line is among the first
// Depth, the share whose right line is the first, and the median time.
func Report(w io.Writer, tasks []Task, runs []Run) error {
	if _, err := fmt.Fprint(w, "| family | tasks |"); err != nil {
		return err
	}
	line := "|---|---:|"
	for _, run := range runs {
		fmt.Fprintf(w, " %s: in ten | first | median |", run.Name)
		line += "---:|---:|---:|"
	}
	fmt.Fprintln(w, "\n"+line)
	for _, group := range groupTasks(tasks) {
		fmt.Fprintf(w, "| %s | %d |", group.name, len(group.tasks))
		for _, run := range runs {
			ten, first := 0, 0
			var times []time.Duration
			for _, i := range group.tasks {
				if run.Ranks[i] > 0 {
					ten++
				}
				if run.Ranks[i] == 1 {
					first++
				}
				times = append(times, run.Times[i])
			}
			slices.Sort(times)
			n := float64(len(group.tasks))
			fmt.Fprintf(w, " %.2f | %.2f | %.1f ms |", float64(ten)/n, float64(first)/n, float64(times[len(times)/2].Microseconds())/1000)
		}
		fmt.Fprintln(w)
	}
	return nil
}

type group struct {
	name  string
	tasks []int
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
		add(t.Family+", "+t.Variant, i)
	}
	slices.SortStableFunc(all, func(a, b group) int { return a.tasks[0]*2 - b.tasks[0]*2 })
	return all
}

// Misses lists the tasks whose right line is not among the first Depth lines of an
// engine.
func Misses(w io.Writer, tasks []Task, run Run) {
	for i, t := range tasks {
		if run.Ranks[i] == 0 {
			fmt.Fprintf(w, "%s: %s, %s: %q (%s)\n", run.Name, t.Family, t.Variant, t.Text, t.From)
		}
	}
}
