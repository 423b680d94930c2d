package repolint

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func TestCommitMessages(t *testing.T) {
	base, err := os.ReadFile("testdata/base.txt")
	if err != nil {
		t.Fatal(err)
	}
	findings, err := CheckMessages(t.Context(), "../../..", strings.TrimSpace(string(base)))
	if errors.Is(err, ErrNoBase) && os.Getenv("QUARRY_REQUIRE_ALL") != "1" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		t.Error(f)
	}
}

func TestMessageRules(t *testing.T) {
	const body = "\n\nIt was one way before, and now it is another way, at no cost."
	for text, want := range map[string]string{
		"query/api: answer with 503 when the index is closed" + body: "",
		"docs: " + strings.Repeat("a", MaxSubject) + body:            "the subject has 78 characters",
		"Fix things" + body:          "the subject is not",
		"query/api: answer with 503": "the body has 0 words",
		"query/api, query/mcp: answer with 503 when it closes" + body: "",
	} {
		findings := checkMessage("c0ffee", text)
		if want == "" && len(findings) > 0 || want != "" && (len(findings) != 1 || !strings.HasPrefix(findings[0].What, want)) {
			t.Errorf("%q: found %v, want %q", text, findings, want)
		}
	}
}
