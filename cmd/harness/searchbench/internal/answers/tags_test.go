package answers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestQuestionsFromComments checks the sentences of comments above and below a definition.
func TestQuestionsFromComments(t *testing.T) {
	for text, want := range map[string]string{
		"// Load reads the file into memory. It fails otherwise.\nfunc Load()":            "where is the code that reads the file into memory?",
		"/**\n * Return {@code true} when a value\n * is present.\n */\n@Test\nvoid load": "how does it return true when a value is present?",
		"func load():\n    \"\"\"Collects all the open files.\"\"\"\n":                    "where is the code that collects all the open files?",
		"x := 1\nfunc Load()": "",
	} {
		lines := strings.Split(text, "\n")
		at := 0
		for i, l := range lines {
			if strings.Contains(strings.ToLower(l), "load") && !strings.HasPrefix(l, "//") {
				at = i
			}
		}
		got := firstSentence(lines, at, "Load")
		if got != "" {
			got = asQuestion(got)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestTagsAndHistory checks the tasks that are drawn from a small repository with a
// history.
func TestTagsAndHistory(t *testing.T) {
	for _, program := range []string{"git", "ctags"} {
		if _, err := exec.LookPath(program); err != nil && os.Getenv("QUARRY_REQUIRE_ALL") != "1" {
			t.Skipf("%s is not installed", program)
		}
	}
	root := t.TempDir()
	dir := filepath.Join(root, "sample")
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("reader.go", nameSample)
	write("reader_test.go", "package sample\n\ntype Hidden struct{}\n\nvar _, _ = Hidden{}, Hidden{}\n")
	for _, arguments := range [][]string{
		{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "reader: decode compressed frame headers (#12)"},
	} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, arguments...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", arguments, err, out)
		}
	}
	sources, err := OpenSources(root)
	if err != nil {
		t.Fatal(err)
	}
	families, err := TagFamilies(t.Context(), sources)
	if err != nil {
		t.Fatal(err)
	}
	history, err := HistoryFamilies(t.Context(), sources)
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := Tasks(append(families, history...), 7, 3)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]bool{}
	for _, task := range tasks {
		texts[task.Text] = true
		right := 0
		for n, text := range strings.Split(nameSample, "\n") {
			if task.Right(Line{Repository: "sample", Path: "reader.go", Number: n + 1, Text: text}) {
				right++
			}
		}
		if right == 0 {
			t.Errorf("%s: %q has no right line", task.Family, task.Text)
		}
	}
	for _, want := range []string{
		"Reader repo:sample", "Reader", "Reader.ReadFrameHeader", "reader: decode compressed frame headers", "reader or decode or compressed or frame or headers",
	} {
		if !texts[want] {
			t.Errorf("no task %q in %v", want, texts)
		}
	}
	if texts["Hidden"] {
		t.Error("a type of a test is a task")
	}
}
