package assist

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/search/searchtest"
)

// replicaShard is a session with replicas, of which each but the last is lost at some call.
type replicaShard struct {
	search.Shard
	others []search.Shard
	moves  int
}

func (s *replicaShard) MoveSession(_ context.Context, reason error) error {
	if len(s.others) == 0 {
		return fmt.Errorf("%w: no other replica: %w", search.ErrShardLost, reason)
	}
	s.Shard.Close()
	s.Shard, s.others = s.others[0], s.others[1:]
	s.moves++
	return nil
}

// newReplicas returns a session with the first shard of the sessions, which are replicas. Each but
// the last is lost after a number of calls.
func newReplicas(calls []int, sessions ...search.Shard) *replicaShard {
	for i, n := range calls {
		r := sessions[i].(*encodedShard)
		r.lost, r.left = true, n
	}
	return &replicaShard{Shard: sessions[0], others: sessions[1:]}
}

// TestReplicasAnswerAsOne compares the answers of two shards, of which one loses two replicas at
// all steps, with those of shards that lose none: they are the same, and lack nothing.
func TestReplicasAnswerAsOne(t *testing.T) {
	front := newSearcher(search.Options{})
	rng := rand.New(rand.NewPCG(searchtest.FirstSeed(t), 47))
	w := newShardWorld(t, rng, 4, 60)
	ask := searchtest.Asker{Rand: rng, Model: w.Model}
	moves := 0
	for n := range 60 {
		r, hide := randomRequest(ask, t, 0), ask.HideSome()
		want := printResult(front.Search(t.Context(), openShards(t, w.sessions(2, hide)), r))
		sessions := w.sessions(2, hide)
		replicas := newReplicas([]int{n % 12, n / 12}, sessions[1], w.sessions(2, hide)[1], w.sessions(2, hide)[1])
		view := openShards(t, []search.Shard{sessions[0], replicas})
		if n%2 == 0 {
			if got := printResult(front.Search(t.Context(), view, r)); got != want {
				t.Fatalf("%s, calls %d and %d are lost:\n%s", r.Query.Text, n%12, n/12, differingLines(want, got))
			}
		} else {
			var streamed []search.FileMatch
			result, err := front.Stream(t.Context(), view, r, func(files []search.FileMatch, _ search.Stats) error {
				streamed = append(streamed, files...)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			result.Files = streamed
			if got := printResult(result, nil); got != want {
				t.Fatalf("%s, a stream, calls %d and %d are lost:\n%s", r.Query.Text, n%12, n/12, differingLines(want, got))
			}
		}
		moves += replicas.moves
	}
	if moves < 60 {
		t.Errorf("%d moves in 60 searches", moves)
	}
}

// TestReplicaOfAnotherState checks that a view does not continue at a replica that shows other
// repositories or lacks documents, and that its partitions are lost if there is no other one.
func TestReplicaOfAnotherState(t *testing.T) {
	front := newSearcher(search.Options{})
	w := newShardWorld(t, rand.New(rand.NewPCG(1, 48)), 2, 60)
	all := func(v corpus.View) corpus.View { return v }
	r := search.Request{Query: searchtest.Parse(t, "return"), Matches: 1 << 20}
	for name, change := range map[string]func(s *search.ShardState){
		"a repository more":    func(s *search.ShardState) { s.Repositories = append(s.Repositories, &corpus.Repository{}) },
		"another repository":   func(s *search.ShardState) { s.Repositories[0].ID = 1 << 20 },
		"a repository less":    func(s *search.ShardState) { s.Repositories = s.Repositories[1:] },
		"another caller":       func(s *search.ShardState) { s.Restricted = !s.Restricted },
		"the past":             func(s *search.ShardState) { s.AsOf = "2020" },
		"more missing":         func(s *search.ShardState) { s.Missing++ },
		"another commit":       func(s *search.ShardState) { s.Repositories[0].IndexedCommit = "c2" },
		"nothing is different": func(*search.ShardState) {},
	} {
		for i := range 4 {
			hasThird := i%2 == 1
			r.NewView = i >= 2
			sessions := w.sessions(2, all)
			other := &brokenShard{w.sessions(2, all)[1], func(c *search.ShardCall, r *search.ShardReply) *search.ShardReply {
				if c.Open {
					change(r.Open)
				}
				return r
			}}
			replicas := newReplicas([]int{2}, sessions[1], other)
			if hasThird {
				replicas.others = append(replicas.others, w.sessions(2, all)[1])
			}
			got, err := front.Search(t.Context(), openShards(t, []search.Shard{sessions[0], replicas}), r)
			if err != nil {
				t.Fatal(err)
			}
			complete := hasThird || name == "nothing is different" || name == "another commit" && r.NewView
			if complete && (!got.Exhaustive || got.LostPartitions != nil) || !complete && (got.Stopped != search.StopShardLost || !slices.Equal(got.LostPartitions, []int32{1})) {
				t.Errorf("%s, third replica %v, new view %v: %v, stopped %q, lost %v", name, hasThird, r.NewView, got.Exhaustive, got.Stopped, got.LostPartitions)
			}
		}
	}
}
