package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/suite"
)

func TestBuiltInListIsValid(t *testing.T) {
	list, err := corpus.ParseList(defaultList)
	if err != nil {
		t.Fatal(err)
	}
	mixed := 0
	for _, r := range list.Repositories {
		if r.Set == "mixed" {
			mixed++
		}
	}
	if mixed < 38 {
		t.Errorf("%d repositories in the mixed set, want at least 38", mixed)
	}
}

// TestBuiltInQueriesAreExpressionsForBoth checks that both engines accept every
// expression, and that at least fifty queries are comparable.
func TestBuiltInQueriesAreExpressionsForBoth(t *testing.T) {
	needRipgrep(t)
	rg, err := engine.OpenRipgrep()
	if err != nil {
		t.Fatal(err)
	}
	queries, err := builtIn("queries-first.json", "queries.json", "scans.json", "verify.json")
	if err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(t.TempDir(), "tree")
	if err := os.MkdirAll(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	comparable := 0
	for _, q := range queries {
		plain, ok := q.Plain()
		if !ok {
			continue
		}
		comparable++
		for _, p := range plain.Patterns {
			if _, err := regexp.Compile(p); err != nil {
				t.Errorf("%s: %v", q.Name, err)
			}
		}
		if _, _, err := rg.Count(context.Background(), plain, map[string]string{"tree": tree}); err != nil {
			t.Errorf("%s: %v", q.Name, err)
		}
	}
	if comparable < 50 {
		t.Errorf("%d queries can be compared, want at least 50", comparable)
	}
	t.Logf("%d queries can be compared", comparable)
}

// TestBuiltInClasses checks that the slowest hundredth is more than one answer, and that
// it covers repositories of every kind.
func TestBuiltInClasses(t *testing.T) {
	queries, err := builtIn("queries-first.json", "queries.json", "scans.json", "classes.json") // rejects duplicate names
	if err != nil {
		t.Fatal(err)
	}
	extra, err := builtIn("classes.json")
	if err != nil {
		t.Fatal(err)
	}
	classes := make(map[string]int)
	for _, q := range queries {
		classes[q.Class]++
		if q.Class == suite.ClassRare && (q.Limit != 100 || q.Mix != suite.MixNone) {
			t.Errorf("%+v: want a limit of 100, and no part of the mix", q)
		}
	}
	for _, q := range extra {
		if q.Text != strings.ToLower(q.Text) {
			t.Errorf("%s: capitals are case-sensitive to zoekt, which would be another question", q.Text)
		}
	}
	if classes[suite.ClassRare] < 20 || classes[suite.ClassSymbolExact] == 0 || classes[suite.ClassSymbolRegex] == 0 || classes[suite.ClassSymbolCommon] == 0 {
		t.Errorf("%v, want 20 rare literals or more, and three classes of symbols", classes)
	}
}
