package search

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/quarrysearch/quarry/query/syntax"
)

// brokenShard changes what a session returns.
type brokenShard struct {
	Shard
	change func(c *ShardCall, r *ShardReply) *ShardReply
}

func (s *brokenShard) Call(ctx context.Context, c *ShardCall) (*ShardReply, error) {
	r, err := s.Shard.Call(ctx, c)
	if err != nil {
		return nil, err
	}
	return s.change(c, r), nil
}

// TestBrokenReplies checks that a reply that does not answer its call loses the shard, and
// does not end the front.
func TestBrokenReplies(t *testing.T) {
	front := newSearcher(Options{})
	w := newShardWorld(t, rand.New(rand.NewPCG(1, 44)), 2, 60)
	empty := func(answered func(c *ShardCall) bool) func(*ShardCall, *ShardReply) *ShardReply {
		return func(c *ShardCall, r *ShardReply) *ShardReply {
			if answered(c) {
				return &ShardReply{}
			}
			return r
		}
	}
	hits := func(change func(h *ShardHit)) func(*ShardCall, *ShardReply) *ShardReply {
		return func(_ *ShardCall, r *ShardReply) *ShardReply {
			if r.Visit != nil {
				for _, task := range r.Visit.Tasks {
					for i := range task.Hits {
						change(&task.Hits[i])
					}
				}
			}
			return r
		}
	}
	for name, change := range map[string]func(*ShardCall, *ShardReply) *ShardReply{
		"no reply":  func(c *ShardCall, r *ShardReply) *ShardReply { return nil },
		"no state":  empty(func(c *ShardCall) bool { return c.Open }),
		"no plan":   empty(func(c *ShardCall) bool { return c.Begin != nil }),
		"no survey": empty(func(c *ShardCall) bool { return c.Survey != nil }),
		"no hits":   empty(func(c *ShardCall) bool { return c.Visit != nil }),
		"no files":  empty(func(c *ShardCall) bool { return c.Render != nil || c.Score != nil }),
		"no near":   empty(func(c *ShardCall) bool { return c.Names != nil }),
		"no places": empty(func(c *ShardCall) bool { return c.Places != nil }),
		"few lists": func(_ *ShardCall, r *ShardReply) *ShardReply {
			if r.Begin != nil {
				for i := range r.Begin.Segments {
					r.Begin.Segments[i].Lists = []int{1}
				}
			}
			return r
		},
		"few matches":      hits(func(h *ShardHit) { h.Matches = -1 }),
		"too many matches": hits(func(h *ShardHit) { h.Matches = 1 << 48 }),
		"no file":          hits(func(h *ShardHit) { h.File = nil }),
	} {
		incomplete := 0
		for _, text := range []string{"return kmalloc", "kmaloc", "lang:nothing kmalloc", "type:repo repo:host", "kmalloc f:src"} {
			for _, facets := range []bool{false, true} {
				sessions := w.sessions(2, func(v View) View { return v })
				sessions[1] = &brokenShard{sessions[1], change}
				v, err := NewShards(t.Context(), sessions)
				if err != nil {
					t.Fatal(err)
				}
				r, err := front.Search(t.Context(), v, Request{Query: parse(t, text), Matches: 1 << 20, Display: 3, Facets: facets, Related: true})
				if err != nil {
					t.Errorf("%s: %s: %v", name, text, err)
				} else {
					if !r.Exhaustive && r.Stopped != StopMatchLimit {
						incomplete++
					}
					r.Release()
				}
				v.Release()
			}
		}
		isAdvice := name == "no near" || name == "no places" || name == "few lists"
		if incomplete == 0 && !isAdvice {
			t.Errorf("%s: no answer says that it is incomplete", name)
		}
	}
}

// TestSilentShard checks that a shard that does not answer is lost after some time, at steps
// outside of a search too.
func TestSilentShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := &silentShard{}
		_, err := NewShards(t.Context(), []Shard{silent})
		if !errors.Is(err, ErrUnavailable) || !errors.Is(err, ErrShardLost) {
			t.Errorf("a shard that does not answer: %v, want ErrUnavailable", err)
		}
	})
}

// silentShard answers no call.
type silentShard struct{}

func (*silentShard) Partitions() []int32 { return []int32{0} }
func (*silentShard) Close()              {}
func (*silentShard) Call(ctx context.Context, _ *ShardCall) (*ShardReply, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestBrokenCalls checks that a session refuses calls that no front sends, and survives.
func TestBrokenCalls(t *testing.T) {
	w := newShardWorld(t, rand.New(rand.NewPCG(1, 45)), 1, 60)
	query := parse(t, "return kmalloc")
	begin := func(change func(b *ShardBegin)) []*ShardCall {
		b := &ShardBegin{Query: query, Matches: 10}
		change(b)
		return []*ShardCall{{Begin: b}, {Survey: &ShardSurvey{}}, {Visit: &ShardVisit{}}, {Render: []ShardQuota{{}}}}
	}
	for name, calls := range map[string][]*ShardCall{
		"no query":          begin(func(b *ShardBegin) { b.Query = nil }),
		"an empty query":    begin(func(b *ShardBegin) { b.Query = &syntax.Parsed{} }),
		"an operand is nil": begin(func(b *ShardBegin) { b.Query = &syntax.Parsed{Root: &syntax.And{Children: []syntax.Query{nil}}} }),
		"few matches":       begin(func(b *ShardBegin) { b.Matches = -1 }),
		"few lines":         begin(func(b *ShardBegin) { b.ContextLines = -1 }),
		"no time":           begin(func(b *ShardBegin) { b.TimeLimit = -1 }),
		"few shown": {
			{Begin: &ShardBegin{Query: query, Matches: 10}}, {Survey: &ShardSurvey{Threshold: -1, Segments: -1, Rarity: []float64{1}}}, {Visit: &ShardVisit{Candidates: -1}},
			{Render: []ShardQuota{{Matches: -1}}}, {Render: []ShardQuota{{ID: ShardHitID{-1, -1}}}}, {Score: []ShardHitID{{1 << 40, 0}}},
		},
		"places without a query": {{Places: &ShardPlaces{}}},
		"frames without a query": {{Frames: &ShardFrames{}}},
		"a name without letters": {{Names: &ShardNames{MaxErrors: -1}}, {Names: &ShardNames{Word: strings.Repeat("x", 1<<16), MaxErrors: 1 << 20}}},
	} {
		s := newSearcher(Options{}).NewShardSession(w, []int32{0}, isEven)
		refused := 0
		for _, c := range calls {
			if _, err := s.Call(t.Context(), c); err != nil {
				refused++
			}
		}
		if s.Close(); refused == 0 {
			t.Errorf("%s: no call is refused", name)
		}
	}
}
