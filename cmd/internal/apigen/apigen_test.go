package apigen

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

const root = "../../../"

// TestGeneratedCodeIsCurrent compares the generated files with the document.
// QUARRY_GENERATE=1 (make generate) writes them.
func TestGeneratedCodeIsCurrent(t *testing.T) {
	for _, tc := range []struct {
		config, file string
		operations   bool
	}{
		{"models.yaml", "schemas/openapi/wire/models.gen.go", false},
		{"operations.yaml", "query/client/operations.gen.go", true},
	} {
		got := runGenerator(t, tc.config, reduceDocument(t, tc.operations))
		if os.Getenv("QUARRY_GENERATE") == "1" {
			if err := os.WriteFile(root+tc.file, got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(root + tc.file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what schemas/openapi/quarry.yaml says: make generate", tc.file)
		}
	}
}

// runGenerator runs oapi-codegen on a document.
func runGenerator(t *testing.T, config string, document []byte) []byte {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "document.json"), filepath.Join(dir, "out.go")
	if err := os.WriteFile(in, document, 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "go", "tool", "oapi-codegen", "-config", config, "-o", out, in)
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("oapi-codegen: %v\n%s", err, said)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	// The package is documented in its doc.go.
	return regexp.MustCompile(`(?m)\A// Package .*\n//\n`).ReplaceAll(b, nil)
}
