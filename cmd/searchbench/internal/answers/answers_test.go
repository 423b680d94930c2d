package answers

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const sample = `package sample

import "fmt"

func Load(path string, limit int) error {
	if limit <= 0 && strict(path) {
		return fmt.Errorf("cannot load file %s with limit %d: %w", path, limit, errLimit)
	}
	return load(path, min(limit, maxLimit))
}
`

func sampleSources(t *testing.T) Sources {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "sample.go"), []byte(sample), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := OpenSource("sample", dir)
	if err != nil {
		t.Fatal(err)
	}
	return Sources{s}
}

// The line that a task was drawn from is right, and a seed gives the same tasks again.
func TestTasksHaveARightLine(t *testing.T) {
	sources := sampleSources(t)
	tasks, err := Tasks(Families(sources), 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Tasks(Families(sources), 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	for i, task := range tasks {
		right := 0
		for n, text := range strings.Split(sample, "\n") {
			if task.Right(Line{"sample", "sample.go", n + 1, text}) {
				right++
			}
		}
		if right != 1 || again[i].Text != task.Text {
			t.Errorf("%s: %q has %d right lines, and is %q the second time", task.Family, task.Text, right, again[i].Text)
		}
	}
	run, err := Measure(t.Context(), "engine", tasks, func(_ context.Context, task *Task) ([]Line, error) {
		return []Line{{}, {"sample", "sample.go", 7, strings.Split(sample, "\n")[6]}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Report(&b, tasks, []Run{run}); err != nil || !strings.Contains(b.String(), "| **error message** | 2 | 1.00 | 0.00 |") {
		t.Errorf("%s, %v", &b, err)
	}
}

func TestChangedBlanksAreNoOtherText(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		for line := range strings.SplitSeq(sample, "\n") {
			changed := changeBlanks(r, line, 0.5, 0.5)
			if withoutBlanks(changed) != withoutBlanks(line) || strings.Contains(changed, "ifl") || strings.Contains(changed, "returnl") {
				t.Errorf("%q became %q", line, changed)
			}
		}
	}
}

// The line of a trace is found by the longest suffix of its path.
func TestFramesAreLocated(t *testing.T) {
	l := locator{Sources{{Name: "a", Files: []string{"x/main.py", "y/main.py"}}, {Name: "b", Files: []string{"main.py"}}}}
	frames := l.frames(&trace{language: "Python", text: "Traceback\n  File \"/srv/y/main.py\", line 12, in f\n    f()\n  File \"/usr/none.py\", line 3, in g\n"})
	if len(frames) != 1 || frames[0].repository != "a" || frames[0].path != "y/main.py" || frames[0].line != 12 {
		t.Errorf("%+v", frames)
	}
}
