package assist

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/query/syntax"
)

// brokenShard changes what a session returns.
type brokenShard struct {
	search.Shard
	change func(c *search.ShardCall, r *search.ShardReply) *search.ShardReply
}

func (s *brokenShard) Call(ctx context.Context, c *search.ShardCall) (*search.ShardReply, error) {
	r, err := s.Shard.Call(ctx, c)
	if err != nil {
		return nil, err
	}
	return s.change(c, r), nil
}

// TestBrokenReplies checks that a reply that does not answer its call loses the shard, and
// does not end the front.
func TestBrokenReplies(t *testing.T) {
	front := newSearcher(search.Options{})
	w := newShardWorld(t, rand.New(rand.NewPCG(1, 44)), 2, 60)
	empty := func(answered func(c *search.ShardCall) bool) func(*search.ShardCall, *search.ShardReply) *search.ShardReply {
		return func(c *search.ShardCall, r *search.ShardReply) *search.ShardReply {
			if answered(c) {
				return &search.ShardReply{}
			}
			return r
		}
	}
	hits := func(change func(h *search.ShardHit)) func(*search.ShardCall, *search.ShardReply) *search.ShardReply {
		return func(_ *search.ShardCall, r *search.ShardReply) *search.ShardReply {
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
	for name, change := range map[string]func(*search.ShardCall, *search.ShardReply) *search.ShardReply{
		"no reply":  func(c *search.ShardCall, r *search.ShardReply) *search.ShardReply { return nil },
		"no state":  empty(func(c *search.ShardCall) bool { return c.Open }),
		"no plan":   empty(func(c *search.ShardCall) bool { return c.Begin != nil }),
		"no survey": empty(func(c *search.ShardCall) bool { return c.Survey != nil }),
		"no hits":   empty(func(c *search.ShardCall) bool { return c.Visit != nil }),
		"no files":  empty(func(c *search.ShardCall) bool { return c.Render != nil || c.Score != nil }),
		"no near":   empty(func(c *search.ShardCall) bool { return c.Names != nil }),
		"no places": empty(func(c *search.ShardCall) bool { return c.Places != nil }),
		"few lists": func(_ *search.ShardCall, r *search.ShardReply) *search.ShardReply {
			if r.Begin != nil {
				for i := range r.Begin.Segments {
					r.Begin.Segments[i].Lists = []int{1}
				}
			}
			return r
		},
		"few matches":      hits(func(h *search.ShardHit) { h.Matches = -1 }),
		"too many matches": hits(func(h *search.ShardHit) { h.Matches = 1 << 48 }),
		"no file":          hits(func(h *search.ShardHit) { h.File = nil }),
	} {
		incomplete := 0
		for _, text := range []string{"return kmalloc", "kmaloc", "lang:nothing kmalloc", "type:repo repo:host", "kmalloc f:src"} {
			for _, facets := range []bool{false, true} {
				sessions := w.sessions(2, func(v corpus.View) corpus.View { return v })
				sessions[1] = &brokenShard{sessions[1], change}
				v, err := search.NewShards(t.Context(), sessions)
				if err != nil {
					t.Fatal(err)
				}
				r, err := front.Search(t.Context(), v, search.Request{Query: searchtest.Parse(t, text), Matches: 1 << 20, Display: 3, Facets: facets, Related: true})
				if err != nil {
					t.Errorf("%s: %s: %v", name, text, err)
				} else {
					if !r.Exhaustive && r.Stopped != search.StopMatchLimit {
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
		_, err := search.NewShards(t.Context(), []search.Shard{silent})
		if !errors.Is(err, search.ErrUnavailable) || !errors.Is(err, search.ErrShardLost) {
			t.Errorf("a shard that does not answer: %v, want ErrUnavailable", err)
		}
	})
}

// silentShard answers no call.
type silentShard struct{}

func (*silentShard) Partitions() []int32 { return []int32{0} }
func (*silentShard) Close()              {}
func (*silentShard) Call(ctx context.Context, _ *search.ShardCall) (*search.ShardReply, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestBrokenCalls checks that a session refuses calls that no front sends, and survives.
func TestBrokenCalls(t *testing.T) {
	w := newShardWorld(t, rand.New(rand.NewPCG(1, 45)), 1, 60)
	query := searchtest.Parse(t, "return kmalloc")
	begin := func(change func(b *search.ShardBegin)) []*search.ShardCall {
		b := &search.ShardBegin{Query: query, Matches: 10}
		change(b)
		return []*search.ShardCall{{Begin: b}, {Survey: &search.ShardSurvey{}}, {Visit: &search.ShardVisit{}}, {Render: []search.ShardQuota{{}}}}
	}
	for name, calls := range map[string][]*search.ShardCall{
		"no query":          begin(func(b *search.ShardBegin) { b.Query = nil }),
		"an empty query":    begin(func(b *search.ShardBegin) { b.Query = &syntax.Parsed{} }),
		"an operand is nil": begin(func(b *search.ShardBegin) { b.Query = &syntax.Parsed{Root: &syntax.And{Children: []syntax.Query{nil}}} }),
		"few matches":       begin(func(b *search.ShardBegin) { b.Matches = -1 }),
		"few lines":         begin(func(b *search.ShardBegin) { b.ContextLines = -1 }),
		"no time":           begin(func(b *search.ShardBegin) { b.TimeLimit = -1 }),
		"few shown": {
			{Begin: &search.ShardBegin{Query: query, Matches: 10}}, {Survey: &search.ShardSurvey{Threshold: -1, Segments: -1, Rarity: []float64{1}}}, {Visit: &search.ShardVisit{Candidates: -1}},
			{Render: []search.ShardQuota{{Matches: -1}}}, {Render: []search.ShardQuota{{ID: search.ShardHitID{Task: -1, Hit: -1}}}}, {Score: []search.ShardHitID{{Task: 1 << 40}}},
		},
		"places without a query": {{Places: &search.ShardPlaces{}}},
		"frames without a query": {{Frames: &search.ShardFrames{}}},
		"a name without letters": {{Names: &search.ShardNames{MaxErrors: -1}}, {Names: &search.ShardNames{Word: strings.Repeat("x", 1<<16), MaxErrors: 1 << 20}}},
	} {
		s := newEngine(search.Options{}).NewShardSession(w, []int32{0}, isEven)
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
