package growth

import (
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/corpus"
)

func TestHistoryIsMadeOnceAndKnownAgain(t *testing.T) {
	g := &growth{base: writeTree(t, 20), Options: Options{Work: t.TempDir(), Reuse: true}}
	made, err := g.writeHistory(t.Context(), 7, 5)
	if err != nil {
		t.Fatal(err)
	}
	if len(made.commits) != 8 || len(made.words) != 7 || made.changedBytes == 0 {
		t.Fatalf("%d commits, %d words, %d bytes", len(made.commits), len(made.words), made.changedBytes)
	}
	if err := made.moveBranch(3); err != nil {
		t.Fatal(err)
	}
	if ids, err := corpus.History(t.Context(), made.dir, "refs/heads/"+corpus.Branch); err != nil || !slices.Equal(ids, made.commits[:4]) {
		t.Errorf("the branch has %v, %v after a move to %v", ids, err, made.commits[:4])
	}
	again, err := g.writeHistory(t.Context(), 7, 5)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(again.commits, made.commits) || !slices.Equal(again.words, made.words) || again.changedBytes != made.changedBytes {
		t.Errorf("an earlier run's history is known as %+v, was %+v", again, made)
	}
	if _, err := g.writeHistory(t.Context(), 9, 5); err == nil || !strings.Contains(err.Error(), "want 10") {
		t.Errorf("a history of another length: %v", err)
	}
}
