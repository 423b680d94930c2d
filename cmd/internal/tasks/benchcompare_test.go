package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBenchCompare measures a commit of a module and its work tree. Without benchstat, a tool
// of this module only, the results of both remain.
func TestBenchCompare(t *testing.T) {
	t.Chdir(t.TempDir())
	benchmark := "package m\n\nimport \"testing\"\n\nfunc BenchmarkNAME(b *testing.B) {\n\tfor b.Loop() {\n\t}\n}\n"
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.25\n", "a_test.go": strings.Replace(benchmark, "NAME", "Before", 1)} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "m"}} {
		if out, err := runOutput(t.Context(), ".", "git", args...); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	if err := os.WriteFile("a_test.go", []byte(strings.Replace(benchmark, "NAME", "After", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := (&benchCompareTask{Ref: "HEAD", Bench: ".", Packages: "./...", Count: 1}).Run(t.Context()); err == nil {
		t.Error("results are compared without benchstat")
	}
	for file, want := range map[string]string{"before.txt": "BenchmarkBefore", "after.txt": "BenchmarkAfter"} {
		if text, err := os.ReadFile(filepath.Join(".cache", "bench-compare", file)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, want %s in it:\n%s", file, err, want, text)
		}
	}
}

// TestMeasureBenchmarks checks how often the benchmark of a module runs.
func TestMeasureBenchmarks(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module m\n\ngo 1.25\n",
		"a_test.go": "package m\n\nimport \"testing\"\n\nfunc BenchmarkNothing(b *testing.B) {\n\tfor b.Loop() {\n\t}\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	result := filepath.Join(dir, "result.txt")
	task := &benchCompareTask{Bench: ".", Packages: "./...", Count: 2}
	if err := task.measureBenchmarks(t.Context(), dir, result); err != nil {
		t.Fatalf("measure a module with one benchmark: %v", err)
	}
	text, err := os.ReadFile(result)
	if n := strings.Count(string(text), "BenchmarkNothing"); err != nil || n != task.Count {
		t.Errorf("%d results of the benchmark, %v; want %d, in\n%s", n, err, task.Count, text)
	}
	task.Bench = "("
	if err := task.measureBenchmarks(t.Context(), dir, result); err == nil {
		t.Error("a pattern that does not compile is measured")
	}
}
