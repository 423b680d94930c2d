package answers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
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

// TestTasksHaveARightLine checks that the line from which a task was drawn is right, and
// that a seed always draws the same tasks.
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
			if task.Right(Line{Repository: "sample", Path: "sample.go", Number: n + 1, Text: text}) {
				right++
			}
		}
		if right != 1 || again[i].Text != task.Text {
			t.Errorf("%s: %q has %d right lines, and is %q the second time", task.Family, task.Text, right, again[i].Text)
		}
	}
	run, err := Measure(t.Context(), "engine", tasks, func(_ context.Context, task *Task) ([]Line, error) {
		return []Line{{}, {Repository: "sample", Path: "sample.go", Number: 7, Text: strings.Split(sample, "\n")[6]}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := Report(tasks, []Run{run}).Markdown(); !strings.Contains(got, "| **error message** | 2 | 1.00 | 0.00 |") {
		t.Errorf("%s", got)
	}
}

// nameSample contains definitions of every kind from which tasks are drawn.
const nameSample = `package sample

// ReadFrameHeader decodes the header of a compressed frame, which begins with a magic number,
// checks its checksum and leaves the reader behind the bytes.
func (r *Reader) ReadFrameHeader() error { return nil }

// NewReader wraps buffered input streams without copying: callers close underlying files afterwards.
func NewReader() *Reader { return nil }

type Reader struct{}

type OtherFrameReader struct{}

func (o *OtherFrameReader) NewReader() {}

func (o *Reader) NewReader() {}
`

// TestNameTasksHaveARightLine checks that every family of names draws tasks whose right
// lines are in the original file.
func TestNameTasksHaveARightLine(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "frames"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := "frames/frame_reader_sample.go"
	if err := os.WriteFile(filepath.Join(dir, file), []byte(nameSample), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := OpenSource("sample", dir)
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := Tasks(NameFamilies(Sources{s}), 5, 3)
	if err != nil {
		t.Fatal(err)
	}
	families := map[string]int{}
	for _, task := range tasks {
		families[task.Family]++
		right := 0
		for n, text := range strings.Split(nameSample, "\n") {
			if task.Right(Line{Repository: "sample", Path: file, Number: n + 1, Text: text}) {
				right++
			}
		}
		if right == 0 || task.Files != (task.Family == "abbreviated file name") {
			t.Errorf("%s, %s: %q has %d right lines", task.Family, task.Variant, task.Text, right)
		}
	}
	if len(families) != 7 {
		t.Errorf("families %v", families)
	}
}

// TestAgentsDoWhatAnswersSuggest checks that an agent follows suggestions, and that the
// tokens of all its answers are counted.
func TestAgentsDoWhatAnswersSuggest(t *testing.T) {
	answers := map[string]string{
		"wirte":        "Found no matches.\nwirte has no match. Did you mean write or wire?\n",
		"write":        "Found 2 matches in 2 files.\n\n[r]\na.go:\n1: other\n\n1 more file: offset=1 goes on.\n",
		"write 1":      "Found 2 matches in 2 files.\n\n[r]\nb.go (main):\n7: write\n",
		"nothing":      "Found no matches.\n",
		"kind:x wirte": "Found no matches.\n\nNot counted, another spelling (query kind:x write):\n[r]\nb.go:\n7: write\n",
	}
	tasks := []Task{{Family: "f", Text: "wirte"}, {Family: "f", Text: "nothing"}, {Family: "f", Text: "kind:x wirte"}, {Family: "files", Text: "w", Files: true}}
	for i := range tasks {
		tasks[i].Right = func(l Line) bool { return l == Line{Repository: "r", Path: "b.go", Number: 7, Text: "write"} }
	}
	run, err := MeasureAgent(t.Context(), tasks, func(_ context.Context, tool string, arguments map[string]any) (string, error) {
		key := arguments["query"].(string)
		if offset, ok := arguments["offset"]; ok {
			key = fmt.Sprintf("%s %v", key, offset)
		}
		answer, ok := answers[key]
		if !ok || tool != "search" {
			t.Errorf("the agent calls %s with %v", tool, arguments)
		}
		return answer, nil
	})
	if err != nil || !slices.Equal(run.Calls, []int{3, 0, 1, 0}) {
		t.Fatalf("calls %v, %v", run.Calls, err)
	}
	if got := ReportAgent(tasks, run).Markdown(); !strings.Contains(got, "| **f** | 3 | 0.33 | 0.67 |") || strings.Contains(got, "files") {
		t.Errorf("%s", got)
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

// TestFramesAreLocated checks that the file of a trace line is found by the longest
// suffix of its path.
func TestFramesAreLocated(t *testing.T) {
	l := locator{Sources{{Name: "a", Files: []string{"x/main.py", "y/main.py"}}, {Name: "b", Files: []string{"main.py"}}}}
	frames := l.findFrames(&trace{language: "Python", text: "Traceback\n  File \"/srv/y/main.py\", line 12, in f\n    f()\n  File \"/usr/none.py\", line 3, in g\n"})
	if len(frames) != 1 || frames[0].repository != "a" || frames[0].path != "y/main.py" || frames[0].line != 12 {
		t.Errorf("%+v", frames)
	}
}

// TestQuestionsAreAnswered checks answers that are any line, the first line, or a
// suggestion.
func TestQuestionsAreAnswered(t *testing.T) {
	questions, err := ParseQuestions([]byte(`[{"ask": "a", "repository": "r", "path": "a.go", "line": "^a"},
		{"ask": "b", "first": true, "line": "b"}, {"ask": "c", "says": "write c:x"}, {"ask": "d", "find": true, "path": "(^|/)d\\.go$"}]`))
	if err != nil {
		t.Fatal(err)
	}
	outputs := map[string]string{
		"a": "r:b.go:1:a\nr:a.go:7:a b\n", "b": "r:a.go:1:a\nr:a.go:2:b\n", "c": "quarry: c has no match: write c:x\n", "d": "r:x/d.go\n",
	}
	right, err := AskCommandLine(t.Context(), questions, func(_ context.Context, q *Question) (string, error) { return outputs[q.Ask], nil })
	if err != nil || !slices.Equal(right, []bool{true, false, true, true}) {
		t.Fatalf("%v, %v", right, err)
	}
	if got := ReportQuestions(questions, []string{"x"}, [][]bool{right}).Markdown(); !strings.Contains(got, "| **all** | 4 | **3** |") {
		t.Errorf("%s", got)
	}
	for _, bad := range []string{"{", `[{"ask": "a"}]`, `[{"ask": "a", "line": "("}]`} {
		if _, err := ParseQuestions([]byte(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
