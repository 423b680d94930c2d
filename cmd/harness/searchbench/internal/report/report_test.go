package report

import (
	"strings"
	"testing"
	"time"
)

func TestMarkdown(t *testing.T) {
	r := Report{
		Title:   "Run",
		Machine: Machine{Cores: 2, MemoryBytes: 24 << 30, CPU: "C", OS: "O", Kernel: "6", Go: "go1", Load: "0.1"},
		Inputs:  []string{"linux: 1009 MB"},
		Rows:    []Row{{"`a|b`", "1 s", "2 s", "0.50 ×", "≥ 2 ×", "missed"}},
		Missing: []string{"zoekt: no binaries"},
		Tables:  []Table{{Title: "Classes", Header: []string{"class"}, Rows: [][]string{{"x"}}}},
	}
	const want = "## Run\n\nMachine: 2 cores (C), 24 GiB of memory, O, kernel 6, go1; load before the run 0.1.\n\n- linux: 1009 MB\n\n" +
		"| figure | zoekt | quarry | ratio | reach |  |\n| --- | --- | --- | --- | --- | --- |\n| `a\\|b` | 1 s | 2 s | 0.50 × | ≥ 2 × | missed |\n" +
		"\nNot measured or not compared:\n\n- zoekt: no binaries\n\n### Classes\n\n| class |\n| --- |\n| x |\n"
	if got := r.Markdown(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMilliseconds(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "", 123 * time.Microsecond: "0.12 ms", 12340 * time.Microsecond: "12.3 ms", 123 * time.Millisecond: "123 ms", 1234 * time.Millisecond: "1.23 s", 12340 * time.Millisecond: "12.3 s",
	} {
		if got := Milliseconds(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestDescribeKnowsThisMachine(t *testing.T) {
	if s := Describe().String(); strings.Contains(s, "kernel unknown") || strings.HasPrefix(s, "Machine: 0 cores") {
		t.Error(s)
	}
}
