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
	// Language is the programming language of the origin, or empty.
	Language string
	// Peer is the query for zoekt, if it is not Text in quotes.
	Peer PeerQuery
	// From is the origin of the text, for reports.
	From string
	// Right reports whether a line is the wanted one.
	Right func(Line) bool
}

// PeerQuery is a query in the syntax of zoekt.
type PeerQuery = engine.ZoektQuery

// Family draws tasks. ok is false if the drawn text is unsuitable.
type Family struct {
	Name string
	Draw func(r *rand.Rand) (Task, bool)
}

// maxDraws bounds the attempts to draw one task.
const maxDraws = 5000

// Tasks returns n tasks of each family, or as many as it has. The same seed and sources
// give the same tasks. A family without any task is an error.
func Tasks(families []Family, seed uint64, n int) ([]Task, error) {
	var tasks []Task
	for i, f := range families {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		seen := map[string]bool{}
		for draws := 0; len(seen) < n && draws < maxDraws; draws++ {
			t, ok := f.Draw(r)
			if !ok || seen[t.Text] {
				continue
			}
			seen[t.Text], draws = true, 0
			t.Family = f.Name
			tasks = append(tasks, t)
		}
		if len(seen) == 0 {
			return nil, fmt.Errorf("draw tasks: %s has none", f.Name)
		}
	}
	return tasks, nil
}

// Show returns the first lines that an engine shows for a task.
type Show func(ctx context.Context, t *Task) ([]Line, error)

// Run holds the results of one engine: for each task the position of the first right
// line, from 1, or 0 if it is not among the first Depth, the first line, and the time.
type Run struct {
	Name  string
	Ranks []int
	Shown []Line // the first line of each task
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
		run.Shown = append(run.Shown, append(lines, Line{})[0])
		run.Ranks = append(run.Ranks, 1+slices.IndexFunc(lines[:min(len(lines), Depth)], tasks[i].Right))
	}
	return run, nil
}
