package assist

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// shardWorld is an index of some partitions, each of which holds some of the repositories.
type shardWorld struct {
	*searchtest.Model
	partitions int
}

// newShardWorld generates a corpus and one to three segments for each partition. Documents
// may be in several partitions.
func newShardWorld(t *testing.T, rng *rand.Rand, partitions, documents int) *shardWorld {
	m := &searchtest.Model{Refs: []code.Ref{"refs/heads/main", "refs/heads/dev", "refs/tags/v1", code.PinRef(searchtest.PinnedCommit)}}
	for i := range partitions + rng.IntN(4) {
		m.Repos = append(m.Repos, &corpus.Repository{Repository: code.Repository{
			ID: code.RepositoryID(i + 1), Name: fmt.Sprintf("host/repo%d", i), DefaultBranch: "main", Archived: i == 1, Fork: i == 2, Private: i%3 == 0,
		}})
	}
	for i := range documents {
		m.AddDocument(rng, fmt.Appendf(searchtest.RandomText(rng), "unique%d", i))
	}
	m.BuildIndex(t, 1)
	w := &shardWorld{m, partitions}
	all := m.Places
	m.OnDefault, m.OnRefs = nil, nil
	for p := range partitions {
		m.Places = slices.DeleteFunc(slices.Clone(all), func(x searchtest.ModelPlace) bool { return w.partitionOf(x.Repo) != p })
		of := map[*searchtest.ModelDocument]bool{}
		for _, x := range m.Places {
			of[x.Doc] = true
		}
		parts := make([][]*searchtest.ModelDocument, 1+rng.IntN(3))
		for _, d := range m.Documents {
			if of[d] {
				i := rng.IntN(len(parts))
				parts[i] = append(parts[i], d)
			}
		}
		for _, documents := range parts {
			if len(documents) > 0 {
				m.AddSegment(t, documents)
				m.OnDefault[len(m.OnDefault)-1].Partition, m.OnRefs[len(m.OnRefs)-1].Partition = int32(p), int32(p)
			}
		}
	}
	m.Places = all
	return w
}

func (w *shardWorld) partitionOf(repo int) int { return repo % w.partitions }

// shard returns the view of shard i of n, and its partitions.
func (w *shardWorld) shard(i, n int) (*searchtest.Model, []int32) {
	m := &searchtest.Model{Refs: w.Refs, Repos: make([]*corpus.Repository, len(w.Repos))}
	var partitions []int32
	for p := i; p < w.partitions; p += n {
		partitions = append(partitions, int32(p))
	}
	for k, seg := range w.OnDefault {
		if int(seg.Partition)%n == i {
			m.OnDefault, m.OnRefs = append(m.OnDefault, seg), append(m.OnRefs, w.OnRefs[k])
		}
	}
	for r := range w.Repos {
		if w.partitionOf(r)%n == i {
			m.Repos[r] = w.Repos[r]
		}
	}
	return m, partitions
}

// encodedShard encodes all that a session is called with, and all that it returns. A lost
// one does not answer, from the call on after which left is 0.
type encodedShard struct {
	search.Shard
	calls, replies transcoder
	lost           bool
	left           int
}

func newEncodedShard(s search.Shard) *encodedShard {
	search.RegisterShardTypes()
	return &encodedShard{Shard: s, calls: newTranscoder(), replies: newTranscoder()}
}

func (s *encodedShard) Call(ctx context.Context, c *search.ShardCall) (*search.ShardReply, error) {
	if s.left--; s.lost && s.left < 0 {
		return nil, fmt.Errorf("%w: connection refused", search.ErrShardLost)
	}
	call, reply := &search.ShardCall{}, &search.ShardReply{}
	if err := s.calls.copyValue(c, call); err != nil {
		return nil, err
	}
	r, err := s.Shard.Call(ctx, call)
	if err != nil {
		return nil, err
	}
	return reply, s.replies.copyValue(r, reply)
}

// transcoder copies values through package gob.
type transcoder struct {
	*gob.Encoder
	*gob.Decoder
}

func newTranscoder() transcoder {
	b := &bytes.Buffer{}
	return transcoder{gob.NewEncoder(b), gob.NewDecoder(b)}
}

func (c transcoder) copyValue(from, to any) error { return errors.Join(c.Encode(from), c.Decode(to)) }

func randomRequest(a searchtest.Asker, t *testing.T, seed uint64) search.Request {
	text := a.RandomQuery().String()
	if a.IntN(2) == 0 {
		text = a.TypedQuery()
	}
	if a.IntN(5) == 0 {
		text = "rev:" + a.PickOne("*", "HEAD", "e", "dev") + " " + text
	}
	q, err := syntax.Parse(text, syntax.Options{})
	if err != nil {
		t.Logf("seed %d: %q: %v", seed, text, err)
		q = searchtest.Parse(t, "kmalloc")
	}
	sizes := []int{1, 2, 7, 40, 300, 2000, 1 << 20}
	r := search.Request{Query: q, Public: isEven, Matches: sizes[a.IntN(len(sizes))], ContextLines: a.IntN(3), JoinLines: a.IntN(4), Whole: a.IntN(4) == 0, Explain: a.IntN(3) == 0, Facets: a.IntN(2) == 0, Related: a.IntN(2) == 0}
	if a.IntN(3) > 0 {
		r.Display = sizes[a.IntN(5)]
	}
	return r
}

// printResult prints a result without the work that it took.
func printResult(r *search.Result, err error) string {
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d matches in %d files, %d shown, exhaustive %v, stopped %q, lost %v, %+v\n", r.Stats.Matches, r.Stats.Files, r.Stats.Displayed, r.Exhaustive, r.Stopped, r.LostPartitions,
		r.Evidence)
	for _, repo := range r.Repositories {
		fmt.Fprintln(&b, "repository", repo.Name)
	}
	files := func(name string, files []search.FileMatch) {
		for i := range files {
			f := &files[i]
			fmt.Fprintf(&b, "%s %s %s %s %q %v %s %d %v %v %q %s %v %q %v\n", name, f.Repo.Name, f.Ref, f.Refs, f.Path, f.PathRanges, f.Language, f.Matches, f.MoreMatches,
				f.BestLines, f.Content, f.Blob, f.Score, f.Reasons, f.Document())
			for _, c := range f.Chunks {
				fmt.Fprintf(&b, "  %q %v %v", c.Content, c.Start, c.Ranges)
				for _, s := range c.Symbols {
					if s != nil {
						fmt.Fprintf(&b, " %+v", *s)
					}
				}
				b.WriteByte('\n')
			}
		}
	}
	files("file", r.Files)
	for _, g := range r.Related {
		files(fmt.Sprintf("related %s %q", g.Reason, g.Query), g.Files)
	}
	for _, f := range r.Facets {
		fmt.Fprintf(&b, "facet %+v\n", f)
	}
	for _, n := range r.Notices {
		fmt.Fprintf(&b, "notice %+v\n", n)
	}
	if e := r.Explain; e != nil {
		fmt.Fprintf(&b, "explain %s %q %s %+v\n", e.Query, e.Atoms, e.AsOf, e.Files)
		for _, p := range e.Probes {
			fmt.Fprintf(&b, "probe %s %d\n", p.Query, p.Matches)
		}
	}
	return b.String()
}

// isEven is the visibility of the repositories.
func isEven(r *code.Repository) bool { return r.ID%2 == 0 }

// sessions returns sessions of n shards.
func (w *shardWorld) sessions(n int, hide func(v corpus.View) corpus.View) (all []search.Shard) {
	for i := range n {
		m, partitions := w.shard(i, n)
		all = append(all, newEncodedShard(newEngine(search.Options{}).NewShardSession(hide(m), partitions, isEven)))
	}
	return all
}

func openShards(t *testing.T, sessions []search.Shard) corpus.View {
	t.Helper()
	v, err := search.NewShards(t.Context(), sessions)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Release)
	return v
}

// TestShardsAnswerAsOne compares the answers of 1, 2 or 4 shards, and their streams, with those
// of one process that holds everything, for random corpora, callers and requests.
func TestShardsAnswerAsOne(t *testing.T) {
	one, front := newSearcher(search.Options{}), newSearcher(search.Options{})
	for round := range *roundsFlag {
		seed := searchtest.FirstSeed(t) + uint64(round)
		rng := rand.New(rand.NewPCG(seed, 40))
		w := newShardWorld(t, rng, 4, 20+rng.IntN(100))
		ask := searchtest.Asker{Rand: rng, Model: w.Model}
		for i := range 40 {
			r, hide := randomRequest(ask, t, seed), ask.HideSome()
			want := printResult(one.Search(t.Context(), hide(w), r))
			t.Run(fmt.Sprintf("seed=%d/%s", seed, r.Query.Text), func(t *testing.T) {
				n := []int{4, 2, 4, 1}[i%4]
				view := openShards(t, w.sessions(n, hide))
				if i%8 < 4 {
					if got := printResult(front.Search(t.Context(), view, r)); got != want {
						t.Fatalf("%d shards: %+v\n%s", n, r, differingLines(want, got))
					}
					return
				}
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
					t.Fatalf("a stream of %d shards: %+v\n%s", n, r, differingLines(want, got))
				}
			})
		}
	}
}

// TestLostShards checks that an answer without all shards says so, at whichever call a shard
// is lost, and has only files that the whole answer has.
func TestLostShards(t *testing.T) {
	one, front := newSearcher(search.Options{}), newSearcher(search.Options{})
	rng := rand.New(rand.NewPCG(searchtest.FirstSeed(t), 41))
	w := newShardWorld(t, rng, 4, 60)
	ask := searchtest.Asker{Rand: rng, Model: w.Model}
	lost := 0
	for n := range 60 {
		r := randomRequest(ask, t, 0)
		r.Matches, r.Display, r.Related = 1<<20, 0, false
		whole, err := one.Search(t.Context(), w, r)
		if err != nil {
			t.Fatal(err)
		}
		sessions := w.sessions(4, func(v corpus.View) corpus.View { return v })
		gone := sessions[1].(*encodedShard)
		gone.lost, gone.left = true, n%8
		got, err := front.Search(t.Context(), openShards(t, sessions), r)
		if err != nil {
			t.Fatal(err)
		}
		if gone.left >= 0 {
			continue // it was not called so often
		}
		known := n%8 > 0 // its repositories
		if known && len(whole.Repositories) > 0 && len(got.Repositories) == len(whole.Repositories) {
			continue // no text is needed
		}
		lost++
		if got.Exhaustive && len(got.Files) < len(whole.Files) || !got.Exhaustive && !slices.Equal(got.LostPartitions, []int32{1}) && got.LostPartitions != nil {
			t.Fatalf("%s: shard 1 is lost at call %d: exhaustive %v, lost partitions %v, %d of %d files", r.Query.Text, n%8, got.Exhaustive, got.LostPartitions, len(got.Files), len(whole.Files))
		}
		for _, notice := range got.Notices {
			if notice.Code == syntax.FilterSelectsNothing {
				t.Errorf("%s: shard 1 is lost: %s", r.Query.Text, notice.Message)
			}
		}
	}
	if lost < 20 {
		t.Fatalf("only %d of 60 searches lost the shard", lost)
	}
}

// TestShardsThatCannotBeOpened checks that a view refuses two owners of a partition, and
// that it needs a shard that answers.
func TestShardsThatCannotBeOpened(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 42))
	w := newShardWorld(t, rng, 2, 20)
	all := func(v corpus.View) corpus.View { return v }
	_, err := search.NewShards(t.Context(), append(w.sessions(1, all), w.sessions(2, all)...))
	if err == nil || !strings.Contains(err.Error(), "both have partition 0") {
		t.Errorf("partition 0 in two shards: %v", err)
	}
	gone := w.sessions(2, all)
	for _, s := range gone {
		s.(*encodedShard).lost = true
	}
	if _, err := search.NewShards(t.Context(), gone); !errors.Is(err, search.ErrUnavailable) {
		t.Errorf("no shard answers: %v, want ErrUnavailable", err)
	}
	if _, err := search.NewShards(t.Context(), nil); !errors.Is(err, search.ErrUnavailable) {
		t.Errorf("no shards: %v, want ErrUnavailable", err)
	}
}

// TestShardsHoldNoSlots runs two searches that reach two shards in opposite order, each of
// which has one slot: neither search waits for the other.
func TestShardsHoldNoSlots(t *testing.T) {
	w := newShardWorld(t, rand.New(rand.NewPCG(1, 46)), 1, 60)
	shards := []*search.Searcher{newEngine(search.Options{MaxConcurrent: 1, MaxWait: 1}), newEngine(search.Options{MaxConcurrent: 1, MaxWait: 1})}
	sessions := [2][2]*search.ShardSession{} // by search and shard
	for i := range sessions {
		for k, shard := range shards {
			sessions[i][k] = shard.NewShardSession(w, []int32{0}, isEven)
			defer sessions[i][k].Close()
		}
	}
	for _, c := range []*search.ShardCall{{Begin: &search.ShardBegin{Query: searchtest.Parse(t, "return kmalloc"), Matches: 10}}, {Survey: &search.ShardSurvey{}}, {Visit: &search.ShardVisit{}}} {
		for _, at := range [][2]int{{0, 0}, {1, 1}, {0, 1}, {1, 0}} {
			if _, err := sessions[at[0]][at[1]].Call(t.Context(), c); err != nil {
				t.Fatalf("search %d at shard %d: %s: %v", at[0], at[1], c.Step(), err)
			}
		}
	}
}

// TestShardsFindFilesAsOne compares the files found by letters.
func TestShardsFindFilesAsOne(t *testing.T) {
	s := newEngine(search.Options{})
	rng := rand.New(rand.NewPCG(searchtest.FirstSeed(t), 43))
	w := newShardWorld(t, rng, 4, 100)
	ask := searchtest.Asker{Rand: rng, Model: w.Model}
	printFiles := func(v corpus.View, r search.FileRequest) string {
		found, err := s.FindFiles(t.Context(), v, r)
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintln(found.Total, search.LostPartitions(v))
		for _, f := range found.Files {
			text += fmt.Sprintln(f.Repo.Name, f.Path, f.Score, f.Positions)
		}
		return text
	}
	for range 40 {
		r := search.FileRequest{Letters: ask.PickOne("f", "file1", "srcfile", "le9", "test c", "zz", "docs2"), Limit: 1 + rng.IntN(20)}
		if rng.IntN(3) == 0 {
			r.Repository = ask.PickOne("host/repo1", "host/repo2")
		}
		hide := ask.HideSome()
		want := printFiles(hide(w), r)
		for _, n := range []int{1, 2, 4} {
			if got := printFiles(openShards(t, w.sessions(n, hide)), r); got != want {
				t.Fatalf("%d shards: %+v\n%s", n, r, differingLines(want, got))
			}
		}
	}
	sessions := w.sessions(2, func(v corpus.View) corpus.View { return v })
	v := openShards(t, sessions)
	sessions[1].(*encodedShard).lost = true
	if got := printFiles(v, search.FileRequest{Letters: "f", Limit: 1}); !strings.Contains(got, "[1 3]") {
		t.Errorf("without shard 1: %s, want lost partitions 1 and 3", got)
	}
}

// differingLines returns the first lines that differ.
func differingLines(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d: got\n%.1500s\nwant\n%.1500s", i, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}
