package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
