package syntax

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const languagePage = "../../docs/query-language.md"

func readPage(t *testing.T) string {
	page, err := os.ReadFile(languagePage)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// TestDocumentedExamples parses every line of every query block of
// docs/query-language.md. Words after "query" on the fence set options: regexp for the
// mode, error if the query must be refused, and read-as-established if it is accepted
// only because the established server accepts it.
func TestDocumentedExamples(t *testing.T) {
	examples, fence := 0, ""
	for line := range strings.SplitSeq(readPage(t), "\n") {
		if info, ok := strings.CutPrefix(line, "```"); ok {
			fence = info
			continue
		}
		if !strings.HasPrefix(fence, "query") {
			continue
		}
		examples++
		o := Options{Regexp: strings.Contains(fence, "regexp")}
		parsed, err := Parse(line, o)
		if refused := err != nil; refused != strings.Contains(fence, "error") {
			t.Errorf("%s (%s): %v", line, fence, err)
		}
		if err == nil && isReadAsEstablished(line, o) != strings.Contains(fence, "read-as-established") {
			t.Errorf("%s (%s): notices %v", line, fence, parsed.Notices)
		}
	}
	if examples < 50 {
		t.Errorf("only %d examples found", examples)
	}
}

// isReadAsEstablished reports whether only the established server accepts a text.
func isReadAsEstablished(text string, o Options) bool {
	p := &parser{scanner: newScanner(text, o.Regexp), o: o}
	_, err := p.parse()
	return err != nil
}

var (
	rowCell  = regexp.MustCompile(`(?:[^|\\]|\\.)+`)
	codeSpan = regexp.MustCompile("`([^`]+)`( rx)?")
)

// TestDocumentedDifferences checks the tables of differences: each query of the first
// column must have the notice in the last one. The table about matching concerns more
// than parsing, so package search tests its notices.
func TestDocumentedDifferences(t *testing.T) {
	_, section, _ := strings.Cut(readPage(t), "## Differences from the established server")
	section, _, _ = strings.Cut(section, "### What is matched")
	queries := 0
	for line := range strings.SplitSeq(section, "\n") {
		cells := rowCell.FindAllString(line, -1)
		if !strings.HasPrefix(line, "| `") || len(cells) != 4 {
			continue
		}
		for _, span := range codeSpan.FindAllStringSubmatch(cells[0], -1) {
			queries++
			checkDifference(t, span[1], Options{Regexp: span[2] != ""}, strings.TrimSpace(cells[3]))
		}
	}
	if queries < 60 {
		t.Errorf("only %d queries found", queries)
	}
}

func checkDifference(t *testing.T, text string, o Options, notice string) {
	t.Helper()
	parsed, err := Parse(text, o)
	if err != nil {
		if notice != "–" || readEstablished(text, o) != nil {
			t.Errorf("%s is refused: %v", text, err)
		}
		return
	}
	have := "–"
	switch {
	case isReadAsEstablished(text, o):
		have = "read as there"
	case slices.ContainsFunc(parsed.Notices, func(n Notice) bool { return n.Code == DifferentMeaning }):
		have = "yes"
	}
	if have != notice {
		t.Errorf("%s: the page says %q, the answer %q (%v)", text, notice, have, parsed.Notices)
	}
}

// TestDocumentedBounds checks the table of bounds.
func TestDocumentedBounds(t *testing.T) {
	page := readPage(t)
	for name, bound := range map[string]string{
		"length": fmt.Sprintf("%d KiB", MaxQueryBytes>>10), "terms and filters": formatThousands(MaxTerms),
		"depth of parentheses and negations": fmt.Sprint(MaxDepth), "regular expressions, together": formatThousands(MaxRegexpInstructions) + " instructions",
		"`\\p` classes": fmt.Sprint(MaxUnicodeClasses), "predicates on repositories and owners": fmt.Sprint(MaxPredicates),
	} {
		if !strings.Contains(page, "| "+name+" | "+bound) {
			t.Errorf("the page does not say that the bound of %s is %s", name, bound)
		}
	}
}

func formatThousands(n int) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }

// TestDocumentedKeywords checks that the page names every keyword.
func TestDocumentedKeywords(t *testing.T) {
	page := readPage(t)
	for keyword := range keywords {
		if !strings.Contains(page, "`"+keyword+":`") {
			t.Errorf("%s: is not documented", keyword)
		}
	}
}
