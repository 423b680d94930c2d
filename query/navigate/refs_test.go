package navigate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/query/navigate"
	"github.com/quarrysearch/quarry/query/search"
)

// TestReferencesOnAnotherRef checks that the uses on one ref are resolved in the text of that
// ref, not in that of the position.
func TestReferencesOnAnotherRef(t *testing.T) {
	onMain := "package p\ntype A struct{}\ntype B struct{}\nfunc (A) tilt() {}\nfunc (B) tilt() {}\nfunc f(a A, b B) { a.tilt(); b.tilt() }\n"
	older := strings.NewReplacer("(A)", "(B)", "(B)", "(A)", "a A, b B", "a B, b A").Replace(onMain)
	former := sources
	t.Cleanup(func() { sources = former })
	names := []string{"A", "B", "tilt", "tilt", "f"}
	sources = append(sources[:len(sources):len(sources)], source{0, "refs/heads/main", "tilt.go", "Go", onMain, names}, source{0, "refs/heads/mainline", "tilt.go", "Go", older, names})
	n := navigate.New(search.New(search.Options{MaxDuration: 10 * time.Hour}), analyze.Outline{Timeout: -1})
	found, err := n.References(t.Context(), newCorpus(t), navigate.Request{
		Symbol: "tilt", Position: &navigate.Position{Repository: "host/kettle", Revision: "mainline", Path: "tilt.go", Line: 4}, // B.tilt
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found.Files {
		for _, m := range f.Matches {
			at := m.Range.Start.ByteOffset
			isB := strings.LastIndex(onMain[:at], "(B)") > strings.LastIndex(onMain[:at], "(A)") && at < strings.Index(onMain, "a.tilt") || at > strings.Index(onMain, "b.tilt")
			if isB == (m.Relation == navigate.RelationNamesake) {
				t.Errorf("the match at %d has the relation %s", at, m.Relation)
			}
		}
	}
}
