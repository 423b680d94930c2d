package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFuzzGivesEachTargetItsTurn fuzzes a module in which the first target fails, and
// checks that the failure is returned and that the second target has run.
func TestFuzzGivesEachTargetItsTurn(t *testing.T) {
	dir := t.TempDir()
	reached := filepath.Join(dir, "reached")
	for name, text := range map[string]string{
		"go.mod":    "module m\n\ngo 1.25\n",
		"a_test.go": "package m\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc FuzzFails(f *testing.F) { f.Fatal(\"as it should\") }\n\nfunc FuzzPasses(f *testing.F) {\n\tif err := os.WriteFile(" + `"` + reached + `"` + ", nil, 0o644); err != nil {\n\t\tf.Fatal(err)\n\t}\n\tf.Fuzz(func(*testing.T, []byte) {})\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	err := (&fuzzTask{Time: 10 * time.Millisecond}).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "m FuzzFails") || strings.Contains(err.Error(), "FuzzPasses") {
		t.Errorf("fuzz a target that fails and one that passes: error %v, want one that names the first alone", err)
	}
	if _, err := os.Stat(reached); err != nil {
		t.Errorf("the second target had no turn after the first failed: %v", err)
	}
}

// TestFuzzEndsWithItsContext checks that no target is fuzzed after the context has ended.
func TestFuzzEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (&fuzzTask{Time: time.Hour}).Run(ctx); err == nil {
		t.Error("fuzzing succeeded without a target, want the end of the context")
	}
}
