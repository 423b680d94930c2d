package relevance

import (
	"os"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
)

func TestBuiltInSuite(t *testing.T) {
	data, err := os.ReadFile("../../testdata/relevance/queries.json")
	if err != nil {
		t.Fatal(err)
	}
	queries, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	halves, repositories := map[Half]int{}, map[string]bool{}
	for i := range queries {
		halves[queries[i].Half()]++
		for _, w := range queries[i].Want {
			repository, _, _ := strings.Cut(w, ":")
			repositories[repository] = true
		}
	}
	if len(queries) < 150 || len(repositories) < 25 || halves[Tune] < len(queries)/3 || halves[Test] < len(queries)/3 {
		t.Fatalf("%d queries over %d repositories, halves %v", len(queries), len(repositories), halves)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, bad := range []string{
		`{`, `{"queries": []}`, `{"queries": [{"category": "a", "query": "b"}]}`, `{"queries": [{"category": "a", "query": "b", "want": ["c"]}]}`,
		`{"queries": [{"category": "a", "query": "b", "want": ["c:d"]}, {"category": "a", "query": "b", "want": ["c:d"]}]}`,
	} {
		if _, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

func TestTranslation(t *testing.T) {
	for text, want := range map[string]string{
		`foo bar`: `"foo" "bar"`, `"a (b)"`: `"a \\(b\\)"`, `file:x.c$ a.b`: `file:x.c$ "a\\.b"`, `-- x`: `"--" "x"`,
	} {
		if got := (&Query{Text: text}).Zoekt(); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestFigures(t *testing.T) {
	places := []engine.Place{{Repository: "r", Path: "a"}, {Repository: "r", Path: "b"}}
	if findRank(places, []string{"r:b", "r:c"}) != 2 || findRank(places, []string{"s:a"}) != 0 {
		t.Fatal("rank")
	}
	queries := []Query{{Text: "a"}, {Text: "b"}, {Text: "c"}}
	f := figuresOf(queries, &Run{Ranks: []int{1, 0, 4}}, func(*Query) bool { return true })
	if f.queries != 3 || f.first != 1 || f.five != 2 || f.reciprocal != 1.25 {
		t.Fatalf("got %+v", f)
	}
	halves, categories := Report(queries, []Run{{Name: "x", Ranks: []int{1, 0, 4}}})
	if got := halves.Markdown() + categories.Markdown(); !strings.Contains(got, "x: MRR") {
		t.Fatalf("%s", got)
	}
}
