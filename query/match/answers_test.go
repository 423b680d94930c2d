package match

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// evaluation evaluates a query on all candidates of some segments, without a limit.
type evaluation struct {
	segments []corpus.Segment
	scope    *Scope
	// before is called before each step.
	before func()
	hits   map[[2]int][]Match // by segment and place
}

// evaluate returns the hits of a query in some segments.
func evaluate(q *Query, repositories []*corpus.Repository, refs []code.Ref, segments []corpus.Segment, before func()) (_ map[[2]int][]Match, err error) {
	e := evaluation{segments, NewScope(q, repositories, refs), before, map[[2]int][]Match{}}
	v := NewMatcher(e.scope, 1<<30, func() bool { return false }, nil)
	defer func() { err = errors.Join(err, v.Close()) }()
	for i := range segments {
		e.before()
		v.OpenSegment(segments[i])
		if err := v.Finder.PrepareCandidates(); err != nil {
			return nil, err
		}
		if v.Finder.Candidates.Possible {
			if err := e.visitSegment(v, i); err != nil {
				return nil, err
			}
		}
	}
	return e.hits, nil
}

// visitSegment evaluates the query on the candidates of a segment.
func (e *evaluation) visitSegment(v *Matcher, number int) (err error) {
	defer v.StartMatching()()
	e.before()
	v.Finder.StartScan(nil)
	defer func() { err = errors.Join(err, v.Finder.EndScan()) }()
	places := e.segments[number].Places
	for d := v.Finder.NextAllowed(0); d >= 0; d = v.Finder.NextAllowed(d + 1) {
		if d != v.Finder.NextDocument(e.scope.Query.Root, d) {
			continue
		}
		e.before()
		v.ReleaseHeld()
		for i := int(places.First[d]); i < int(places.First[d+1]); i++ {
			if !v.Finder.Allows(i) {
				continue
			}
			h := Hit{Place: i, Doc: segment.DocID(d)}
			if ok, err := v.EvalQuery(h.Doc, i, 1<<30); err != nil {
				return err
			} else if !ok {
				continue
			}
			e.before()
			if err := errors.Join(v.CollectMatches(&h), v.SetRelevance(&h)); err != nil {
				return err
			}
			if h.mergeMatches(); e.scope.Query.choosesSymbols() && h.Count == 0 {
				continue
			}
			e.hits[[2]int{number, i}] = slices.Clone(h.Matches)
		}
	}
	return nil
}

// compileRandom compiles a random query for files, and parses it for an oracle.
func compileRandom(t *testing.T, ask searchtest.Asker) (*syntax.Parsed, *Query) {
	t.Helper()
	for {
		parsed := ask.RandomQuery()
		if parsed.Type == syntax.TypeRepo || parsed.Type == syntax.TypeSymbol || parsed.Select != syntax.SelectDefault {
			continue
		}
		q, err := Compile(Options{Query: parsed})
		if err == nil { // otherwise it has a predicate that query/search looks up first
			return parsed, q
		}
	}
}

// TestMatcherAgreesWithScan compares the files and matches of random queries with those of a plain
// scan.
func TestMatcherAgreesWithScan(t *testing.T) {
	for seed := searchtest.FirstSeed(t); seed < searchtest.FirstSeed(t)+4; seed++ {
		rng := rand.New(rand.NewPCG(seed, 361))
		m := searchtest.NewModel(t, rng)
		judge := &searchtest.Oracle{T: t, Model: m, Compiled: map[string]*regexp.Regexp{}}
		for range 40 {
			parsed, q := compileRandom(t, searchtest.Asker{Rand: rng, Model: m})
			segments, refs := m.Segments(), []code.Ref(nil)
			if q.Revisions {
				segments, refs, _ = m.Revisions(t.Context(), q.AnyRef)
			}
			judge.Query = parsed
			want := judge.WholeAnswer()
			hits, err := evaluate(q, m.Repositories(), refs, segments, func() {})
			if err != nil {
				t.Fatalf("seed %d: %s: %v", seed, parsed, err)
			}
			found := map[string]bool{}
			for at, matches := range hits {
				s := segments[at[0]]
				text, err := s.Reader.Text(s.Places.Doc[at[1]], nil)
				if err != nil {
					t.Fatal(err)
				}
				key := searchtest.FileKey(m.Repos[s.Places.Repo[at[1]]].Name, string(s.Places.Path(at[1])), text)
				found[key] = true
				spots, ok := want.Files[key]
				if !ok || len(spots) != len(matches) {
					t.Fatalf("seed %d: %s: %d matches in %q, want %d, in an expected file: %v", seed, parsed, len(matches), key, len(spots), ok)
				}
				for i, m := range matches {
					if m.Symbol < 0 && (int(m.Start) != spots[i].Start || int(m.End) != spots[i].End) { // that of a symbol is in its name
						t.Fatalf("seed %d: %s: match %d in %q is %d to %d, want %d to %d", seed, parsed, i, key, m.Start, m.End, spots[i].Start, spots[i].End)
					}
				}
			}
			if len(found) != len(want.Files) {
				t.Fatalf("seed %d: %s: %d files, want %d", seed, parsed, len(found), len(want.Files))
			}
		}
	}
}

// TestDamageIsNoAnswer cuts the files of segments off before one step of a query after another. The
// query fails, or it has all its hits: none is lost in silence.
func TestDamageIsNoAnswer(t *testing.T) {
	rng := rand.New(rand.NewPCG(searchtest.FirstSeed(t), 362))
	m := searchtest.NewModel(t, rng)
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(t.TempDir()), "*", "segment"))
	if err != nil || len(paths) < 2 {
		t.Fatalf("segments in %q: %v", paths, err)
	}
	failed := 0
	for range 60 {
		parsed, q := compileRandom(t, searchtest.Asker{Rand: rng, Model: m})
		if q.Revisions {
			continue
		}
		want, err := evaluate(q, m.Repositories(), nil, m.Segments(), func() {})
		if err != nil {
			t.Fatalf("%s: %v", parsed, err)
		}
		for at := range 12 {
			segments, cut := openCopies(t, m.Segments(), paths)
			step := 0
			got, err := evaluate(q, m.Repositories(), nil, segments, func() {
				if step++; step == at+1 {
					cut()
				}
			})
			if err != nil {
				failed++
			} else if !maps.EqualFunc(got, want, slices.Equal) {
				t.Fatalf("%s: %d hits and no error after the damage before step %d, want %d or an error", parsed, len(got), at, len(want))
			}
		}
	}
	if failed < 100 {
		t.Errorf("%d queries failed, want 100", failed)
	}
}

// TestDamageIsNoNearName does the same for the names near a word.
func TestDamageIsNoNearName(t *testing.T) {
	m := searchtest.NewModel(t, rand.New(rand.NewPCG(13, 14)))
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(t.TempDir()), "*", "segment"))
	if err != nil {
		t.Fatal(err)
	}
	for _, errs := range []int{1, 2} {
		want := NewNameFinder("kmaloc", false, errs)
		if err := want.SearchSymbols(func() bool { return true }, m.Segments()); err != nil || len(want.Found) == 0 {
			t.Fatalf("%d names: %v", len(want.Found), err)
		}
		failed := 0
		for at := range 4 {
			segments, cut := openCopies(t, m.Segments(), paths)
			step, f := 0, NewNameFinder("kmaloc", false, errs)
			err := f.SearchSymbols(func() bool {
				if step++; step == at+1 {
					cut()
				}
				return true
			}, segments)
			if err != nil {
				failed++
			} else if len(f.Found) != len(want.Found) {
				t.Errorf("%d errors: %d names and no error after the damage before step %d, want %d or an error", errs, len(f.Found), at, len(want.Found))
			}
		}
		if failed == 0 {
			t.Errorf("%d errors: no damage was noticed", errs)
		}
	}
}

// openCopies opens copies of segments without a cache. cut truncates them.
func openCopies(t *testing.T, segments []corpus.Segment, paths []string) (copies []corpus.Segment, cut func()) {
	t.Helper()
	copies = slices.Clone(segments)
	var made []string
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, filepath.Join(t.TempDir(), "copy"))
		if err := os.WriteFile(made[len(made)-1], b, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := segment.OpenFile(made[len(made)-1], nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		for i := range copies {
			if copies[i].Reader.ID() == f.ID() {
				copies[i].Reader = f.Reader
			}
		}
	}
	return copies, func() {
		for _, path := range made {
			if err := os.Truncate(path, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
}
