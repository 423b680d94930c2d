package answers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
)

// Depth is the number of lines of an answer that count. LinesOfFile bounds how many of
// them may be of one file.
const (
	Depth       = 10
	LinesOfFile = 5
)

// Line is a line of a file that an engine shows.
type Line = engine.ShownLine

// Task is a text to search for.
type Task struct {
	Family string
	// Variant describes how the text was derived.
	Variant string
	Text    string
	// Files is set if the text contains letters of a file's path, for the file finder of
	// an engine.
	Files bool
	// From is the origin of the text, for reports.
	From string
	// Right reports whether a line is the wanted one.
	Right func(Line) bool
}

// Family draws tasks. ok is false if the drawn text is unsuitable.
type Family struct {
	Name string
	Draw func(r *rand.Rand) (Task, bool)
}

// maxDraws bounds the attempts to draw one task.
const maxDraws = 5000

// Tasks returns n tasks of each family. The same seed and sources give the same tasks.
func Tasks(families []Family, seed uint64, n int) ([]Task, error) {
	var tasks []Task
	for i, f := range families {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		seen := map[string]bool{}
		for draws := 0; len(seen) < n; draws++ {
			if draws == maxDraws*n {
				return nil, fmt.Errorf("draw tasks: %s gives only %d of %d", f.Name, len(seen), n)
			}
			t, ok := f.Draw(r)
			if !ok || seen[t.Text] {
				continue
			}
			seen[t.Text] = true
			t.Family = f.Name
			tasks = append(tasks, t)
		}
	}
	return tasks, nil
}

// Show returns the first lines that an engine shows for a task.
type Show func(ctx context.Context, t *Task) ([]Line, error)

// Run holds the results of one engine: for each task the position of the first right
// line, from 1, or 0 if it is not among the first Depth, and the time.
type Run struct {
	Name  string
	Ranks []int
	Times []time.Duration
}

// Measure gives all tasks to an engine.
func Measure(ctx context.Context, name string, tasks []Task, show Show) (Run, error) {
	run := Run{Name: name}
	for i := range tasks {
		started := time.Now()
		lines, err := show(ctx, &tasks[i])
		if err != nil {
			return run, fmt.Errorf("%s: %q: %w", name, tasks[i].Text, err)
		}
		run.Times = append(run.Times, time.Since(started))
		run.Ranks = append(run.Ranks, 1+slices.IndexFunc(lines[:min(len(lines), Depth)], tasks[i].Right))
	}
	return run, nil
}
