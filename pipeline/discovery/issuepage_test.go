package discovery

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
)

const (
	issuePage  = "../../docs/connections.md"
	issueBegin = "<!-- issues: written by make generate -->\n"
	issueEnd   = "<!-- end of issues -->\n"
)

func TestIssuePageIsCurrent(t *testing.T) {
	page, err := os.ReadFile(issuePage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), issueBegin)
	_, after, ok2 := strings.Cut(rest, issueEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has lost the marks around its table", issuePage)
	}
	var table strings.Builder
	table.WriteString("| code | meaning | remedy |\n| --- | --- | --- |\n")
	for _, d := range issueDescriptions {
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", d.Code, d.Meaning, d.Remedy)
	}
	want := before + issueBegin + "\n" + table.String() + "\n" + issueEnd + after
	if os.Getenv("QUARRY_GENERATE") == "1" {
		if err := os.WriteFile(issuePage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(page) {
		t.Errorf("%s does not follow from issueDescriptions: run make generate", issuePage)
	}
}

// TestCodesAreDescribed checks that every code of the transport has a meaning and a
// remedy.
func TestCodesAreDescribed(t *testing.T) {
	for _, code := range hostapi.Codes() {
		if d := (Issue{Code: IssueCode(code)}).Describe(); d.Remedy == "Check the server's log." {
			t.Errorf("%s has no description", code)
		}
	}
}
