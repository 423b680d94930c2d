package apigen

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/quarrysearch/quarry/schemas/openapi"
)

const root = "../../../"

// documentFile is quarry.yaml in the form that servers read.
const documentFile = "schemas/openapi/quarry.gen.json"

// TestGeneratedCodeIsCurrent compares the generated files with the document.
// QUARRY_GENERATE=1 (make generate) writes them.
func TestGeneratedCodeIsCurrent(t *testing.T) {
	source, err := os.ReadFile(root + "schemas/openapi/quarry.yaml")
	if err != nil {
		t.Fatal(err)
	}
	document, err := yaml.YAMLToJSON(source)
	if err != nil {
		t.Fatal(err)
	}
	d, err := openapi.Read(document)
	if err != nil {
		t.Fatal(err)
	}
	compareGenerated(t, documentFile, document)
	compareGenerated(t, "schemas/openapi/wire/models.gen.go", runGenerator(t, "models.yaml", reduceDocument(t, d, false)))
	compareGenerated(t, "query/client/operations.gen.go", runGenerator(t, "operations.yaml", reduceDocument(t, d, true)))
}

// compareGenerated compares a file with what is generated, or writes it.
func compareGenerated(t *testing.T, file string, got []byte) {
	t.Helper()
	if os.Getenv("QUARRY_GENERATE") == "1" {
		if err := os.WriteFile(root+file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(root + file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what schemas/openapi/quarry.yaml says: make generate", file)
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
