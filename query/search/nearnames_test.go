package search

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// selectionCounter is a view that counts how often its refs are selected.
type selectionCounter struct {
	*searchtest.Model
	selections int
}

func (v *selectionCounter) Revisions(ctx context.Context, match func(*corpus.Repository, code.Ref) bool) ([]corpus.Segment, []code.Ref, error) {
	v.selections++
	return v.Model.Revisions(ctx, match)
}

// TestNamesAreSelectedOnce checks that the files that filters select are found once for all
// near names of a query, in this process and at a shard, and again for other filters.
func TestNamesAreSelectedOnce(t *testing.T) {
	s := newSearcher(Options{})
	m := searchtest.NewModel(t, rand.New(rand.NewPCG(13, 14)))
	calls := []ShardNames{{Word: "kmaloc", MaxErrors: 1}, {Word: "kmaloc", MaxErrors: 1, InText: true}, {Word: "retrun", MaxErrors: 1}}
	here := &selectionCounter{Model: m}
	n := s.NewNameSearch(here, searchtest.Parse(t, "rev:*"), nil)
	there := &selectionCounter{Model: m}
	session := s.NewShardSession(there, []int32{0}, nil)
	defer session.Close()
	for i := range calls {
		names, err := n.NearNames(t.Context(), &calls[i])
		if err != nil {
			t.Fatal(err)
		}
		call := calls[i]
		call.Filters = searchtest.Parse(t, "rev:*") // as decoded from each call
		reply, err := session.Call(t.Context(), &ShardCall{Names: &call})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 && !slices.Contains(names, "kmalloc") {
			t.Errorf("%+v: %v, want kmalloc", calls[i], names)
		}
		if len(reply.Names.Names) != len(names) {
			t.Errorf("%+v: the shard has %v, want %v", calls[i], reply.Names.Names, names)
		}
	}
	if here.selections != 1 || there.selections != 1 {
		t.Errorf("files are selected %d times here and %d times at a shard, want 1", here.selections, there.selections)
	}
	other := calls[0]
	other.Filters = searchtest.Parse(t, "rev:* file:nowhere")
	reply, err := session.Call(t.Context(), &ShardCall{Names: &other})
	if err != nil || len(reply.Names.Names) != 0 || there.selections != 2 {
		t.Errorf("other filters: %v, %v after %d selections, want no name after 2", reply.Names, err, there.selections)
	}
}
