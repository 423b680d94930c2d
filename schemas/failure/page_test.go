package failure

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestFailuresPageIsCurrent compares the table of docs/operations.md and the enumeration
// of the OpenAPI document with the table in code. QUARRY_GENERATE=1 (make generate)
// writes the former.
func TestFailuresPageIsCurrent(t *testing.T) {
	const page, head = "../../docs/operations.md", "| Code | Meaning | Remedy |\n| --- | --- | --- |\n"
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(raw), head)
	if !ok {
		t.Fatalf("%s has no table of codes", page)
	}
	var table, enum strings.Builder
	for _, d := range Codes() {
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", d.Code, d.Meaning, d.Remedy)
		fmt.Fprintf(&enum, "        - %s\n", d.Code)
	}
	after := rest[strings.Index("\n"+rest, "\n\n"):]
	if want := before + head + table.String() + after; os.Getenv("QUARRY_GENERATE") == "1" {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(raw) {
		t.Errorf("%s does not show the codes of this version: run make generate", page)
	}
	settings, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile(`\b[a-z]+\.[a-z]+[A-Z][A-Za-z]+`).FindAllString(table.String(), -1) {
		if !strings.Contains(string(settings), "`"+name+"`") {
			t.Errorf("a remedy names %s, which is no setting", name)
		}
	}
	document, err := os.ReadFile("../openapi/quarry.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, schema, _ := strings.Cut(string(document), "    FailureCode:\n")
	if _, list, _ := strings.Cut(schema, "      enum:\n"); !strings.HasPrefix(list, enum.String()+"    ") || strings.HasPrefix(list, enum.String()+"        ") {
		t.Errorf("FailureCode of the OpenAPI document: want\n%s", enum.String())
	}
}
