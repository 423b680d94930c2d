package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCanceledSearchReturnsTheError(t *testing.T) {
	m := searchtest.NewModel(t, rand.New(rand.NewPCG(1, 1)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newSearcher(Options{}).Search(ctx, m, Request{Query: searchtest.Parse(t, "if"), Matches: 10}); !errors.Is(err, context.Canceled) {
		t.Fatalf("Search with a canceled context = %v, want %v", err, context.Canceled)
	}
}

func TestTimeLimitIsSaid(t *testing.T) {
	m := searchtest.NewModel(t, rand.New(rand.NewPCG(1, 1)))
	s := newSearcher(Options{MaxDuration: time.Nanosecond})
	r, err := s.Search(t.Context(), m, Request{Query: searchtest.Parse(t, "if"), Matches: 1 << 20})
	if err != nil || r.Exhaustive || r.Stopped != StopTimeLimit {
		t.Fatalf("got %+v, %v", r, err)
	}
}

func TestPlacesForSearchesAreBounded(t *testing.T) {
	m := searchtest.NewModel(t, rand.New(rand.NewPCG(1, 1)))
	s := newSearcher(Options{MaxConcurrent: 1, MaxWait: time.Millisecond})
	ticket, err := s.admission.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer ticket.Leave()
	if _, err := s.Search(t.Context(), m, Request{Query: searchtest.Parse(t, "if"), Matches: 1}); !errors.Is(err, ErrBusy) {
		t.Fatalf("Search while the only slot is taken = %v, want %v", err, ErrBusy)
	}
}

func TestUnknownContextIsNotFound(t *testing.T) {
	m := searchtest.NewModel(t, rand.New(rand.NewPCG(1, 1)))
	_, err := newSearcher(Options{}).Search(t.Context(), m, Request{Query: searchtest.Parse(t, "context:nowhere if"), Matches: 1})
	if !errors.Is(err, code.ErrNotFound) {
		t.Fatalf("Search in an unknown context = %v, want %v", err, code.ErrNotFound)
	}
}

func TestContextIsASetOfRepositories(t *testing.T) {
	m := searchtest.NewModel(t, rand.New(rand.NewPCG(3, 1)))
	s := newSearcher(Options{Contexts: map[string]corpus.Context{"first": func(name string) bool { return name == "host/repo0" }}})
	of := func(query string) (in, all int) {
		r, err := s.Search(t.Context(), m, Request{Query: searchtest.Parse(t, query), Matches: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Files {
			if f.Repo.Name == "host/repo0" {
				in++
			}
		}
		return in, len(r.Files)
	}
	in, all := of("a")
	if with, n := of("context:first a"); with != in || n != in {
		t.Errorf("%d of %d files are in the context, want %d", with, n, in)
	}
	if with, n := of("-scope:first a"); with != 0 || n != all-in {
		t.Errorf("%d of %d files are in the context, want 0 of %d", with, n, all-in)
	}
}

// TestContextOfFilters searches in contexts that stand for filters: the files are those of the
// filters written out, and a context of the configuration goes before one of the same name.
func TestContextOfFilters(t *testing.T) {
	m := searchtest.NewModel(t, rand.New(rand.NewPCG(3, 1)))
	s := newSearcher(Options{Contexts: map[string]corpus.Context{"first": func(name string) bool { return name == "host/repo0" }}})
	filesOf := func(query, means string) (out []string) {
		q := searchtest.Parse(t, query)
		for _, c := range syntax.Contexts(q.Root) {
			c.Means = searchtest.Parse(t, means).Root
		}
		s.ChooseContexts(m, q)
		r, err := s.Search(t.Context(), m, Request{Query: q, Matches: 1 << 20})
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		for _, f := range r.Files {
			out = append(out, f.Repo.Name+" "+f.Path)
		}
		slices.Sort(out)
		return out
	}
	for _, means := range []string{"repo:repo0", "repo:repo0 or repo:repo1", "-repo:repo0 (fork:yes or repo:repo)", "-(repo:repo0 or archived:only)", "repo:nosuch", "context:first"} {
		for query, plain := range map[string]string{"context:mine a": "(" + means + ") a", "-context:mine a": "-(" + means + ") a", "context:first a": "repo:^host/repo0$ a"} {
			if got, want := filesOf(query, means), filesOf(plain, means); !slices.Equal(got, want) {
				t.Errorf("%s with %s: files %v, want %v", query, means, got, want)
			}
		}
	}
}

func TestTypes(t *testing.T) {
	m := searchtest.NewModel(t, rand.New(rand.NewPCG(2, 1)))
	s := newSearcher(Options{Registerer: prometheus.NewRegistry()})
	r, err := s.Search(t.Context(), m, Request{Query: searchtest.Parse(t, "type:repo repo0"), Matches: 10})
	if err != nil || len(r.Repositories) != 1 || r.Repositories[0].Name != "host/repo0" || !r.Exhaustive {
		t.Fatalf("type:repo: %+v, %v", r, err)
	}
	r, err = s.Search(t.Context(), m, Request{Query: searchtest.Parse(t, "type:file .c"), Matches: 1000, Explain: true})
	if err != nil || len(r.Files) == 0 || len(r.Files[0].PathRanges) == 0 || len(r.Files[0].Chunks) != 0 {
		t.Fatalf("type:file: %+v, %v", r, err)
	}
	if len(r.Explain.Segments) == 0 || len(r.Files[0].Reasons) == 0 {
		t.Fatalf("explain: %+v", r.Explain)
	}
	r, err = s.Search(t.Context(), m, Request{Query: searchtest.Parse(t, "type:symbol kmalloc"), Matches: 1000})
	if err != nil || len(r.Files) == 0 {
		t.Fatalf("type:symbol: %+v, %v", r, err)
	}
	for _, f := range r.Files {
		for _, c := range f.Chunks {
			for i := range c.Ranges {
				if c.Symbols[i] == nil {
					t.Fatalf("%s: a match that is no symbol", f.Path)
				}
			}
		}
	}
}

// TestRedundantFilterSelectsRefs checks that a filter selects refs even if it does not
// decide the result.
func TestRedundantFilterSelectsRefs(t *testing.T) {
	m := searchtest.NewModel(t, rand.New(rand.NewPCG(4, 1)))
	s := newSearcher(Options{})
	files := func(query string) int {
		r, err := s.Search(t.Context(), m, Request{Query: searchtest.Parse(t, query), Matches: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		return r.Stats.Files
	}
	if want := files("rev:dev"); want == 0 || files("rev:dev or -()") != want {
		t.Errorf("rev:dev finds %d files, rev:dev or -() finds %d", want, files("rev:dev or -()"))
	}
}

// TestSymbolCountsAsOneMatch checks that a symbol counts once, however often its name
// contains the pattern and wherever the scanned pieces of text begin, including inside a
// name.
func TestSymbolCountsAsOneMatch(t *testing.T) {
	m := &searchtest.Model{Refs: []code.Ref{"refs/heads/main"}, Repos: []*corpus.Repository{{Repository: code.Repository{ID: 1, Name: "host/r", DefaultBranch: "main"}}}}
	const documents, symbols = 40, 90
	for d := range documents {
		doc := &searchtest.ModelDocument{Lang: "C"}
		for i := range symbols {
			name := fmt.Sprintf("Needle%0*dNeedle", 1+d+i%7, i)
			doc.Symbols = append(doc.Symbols, code.Symbol{Name: name, Kind: "function", Offset: uint32(len(doc.Text)), Line: uint32(i + 1)})
			doc.Text = append(append(doc.Text, name...), '\n')
		}
		m.Documents = append(m.Documents, doc)
		m.Places = append(m.Places, searchtest.ModelPlace{Repo: 0, Path: fmt.Sprintf("%d.c", d), Ref: "refs/heads/main", Doc: doc})
	}
	m.BuildIndex(t, 1)
	for _, query := range []string{"sym:needle", "sym:Needle case:yes"} {
		r, err := newSearcher(Options{}).Search(t.Context(), m, Request{Query: searchtest.Parse(t, query), Matches: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if r.Stats.Matches != documents*symbols {
			t.Errorf("%s: %d matches in %d symbols", query, r.Stats.Matches, documents*symbols)
		}
	}
}

// newSearcher returns a Searcher whose answers do not depend on the speed of the machine:
// its limits on time, which are shares of MaxDuration, are minutes.
func newSearcher(o Options) *Searcher {
	o.MaxDuration = cmp.Or(o.MaxDuration, 10*time.Hour)
	o.MaxWait = cmp.Or(o.MaxWait, time.Hour)
	return New(o)
}

// TestReadingsAreBounded checks that a search for a reading ends at its time limit, and
// that the literal reading is the answer then.
func TestReadingsAreBounded(t *testing.T) {
	r := Request{TimeLimit: 1}
	if r.maxDuration(5) != 1 || (&Request{}).maxDuration(5) != 5 || (&Request{TimeLimit: 9}).maxDuration(5) != 5 {
		t.Error("the bound of a reading is not the least")
	}
}
