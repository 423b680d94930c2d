package search

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/match"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/schemas/code"
)

func TestAllot(t *testing.T) {
	hits := func(shows ...int) (out []*hit) {
		for i, n := range shows {
			out = append(out, &hit{estimatedScore: float32(10 - i), Hit: match.Hit{Matches: make([]match.Match, n)}})
		}
		return out
	}
	for _, c := range []struct {
		hits []*hit
		room int
		want []int
	}{
		{hits(3, 2), 10, []int{3, 2}},
		{hits(50, 2), 10, []int{10}},
		{hits(50, 2), 12, []int{10, 2}},
		{hits(50, 20, 0), 40, []int{29, 10, 1}},
		{hits(50, 20), 100, []int{50, 20}},
		{hits(1, 1, 1), 2, []int{1, 1}},
	} {
		var got []int
		for _, a := range allotMatches(c.hits, c.room, firstShare) {
			got = append(got, a.matches)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("room %d: got %v, want %v", c.room, got, c.want)
		}
	}
}

// Early pruning drops only matches that would not be shown, and bounds the rest.
func TestPruneDropsWhatCannotBeShown(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 200 {
		room := 1 + rng.IntN(60)
		var all, some []hit
		for i := range 1 + rng.IntN(100) {
			h := hit{Hit: match.Hit{Place: i, Matches: make([]match.Match, rng.IntN(min(room, 30))+1)}, estimatedScore: float32(rng.IntN(20))}
			all = append(all, h)
			if some = append(some, h); rng.IntN(10) == 0 {
				if kept, _ := pruneMatches(some, room); kept > room {
					t.Fatalf("%d kept, room %d", kept, room)
				}
			}
		}
		want, got := allottedMatches(all, room), allottedMatches(some, room)
		if !slices.Equal(got, want) {
			t.Fatalf("room %d: got %v, want %v", room, got, want)
		}
		for _, a := range allotMatches(hitPointers(some), room, firstShare) {
			if len(a.hit.Matches) < a.matches {
				t.Fatalf("room %d: a hit that is shown with %d matches has %d", room, a.matches, len(a.hit.Matches))
			}
		}
	}
}

func hitPointers(hits []hit) (out []*hit) {
	for i := range hits {
		out = append(out, &hits[i])
	}
	return out
}

func allottedMatches(hits []hit, room int) (out []string) {
	for _, a := range allotMatches(hitPointers(hits), room, firstShare) {
		out = append(out, fmt.Sprint(a.hit.Place, a.matches))
	}
	return out
}

// The best files are shown, not the first ones, no matter what is dropped on the way, and
// a hit whose matches were dropped gets them back.
func TestDisplayShowsBestFiles(t *testing.T) {
	m := searchtest.NewModel(t, rand.New(rand.NewPCG(9, 9)))
	request := Request{Query: searchtest.Parse(t, "kmalloc"), Matches: 1 << 20}
	all, err := newSearcher(Options{}).Search(t.Context(), m, request)
	if err != nil || len(all.Files) < 4 {
		t.Fatalf("%d files, %v", len(all.Files), err)
	}
	request.Display = 2
	few, err := newSearcher(Options{}).Search(t.Context(), m, request)
	if err != nil || few.Stats.Matches != all.Stats.Matches || few.Stats.Files != all.Stats.Files || few.Stats.Displayed != 2 {
		t.Fatalf("%+v, %v", few.Stats, err)
	}
	run := newTestRun(t, m, request)
	v := newSegmentSearcher(run.plan.scope, 1<<20, 1<<20, func() bool { return false }, nil)
	v.bestOnly = true
	t.Cleanup(func() { _ = v.close() })
	visit := v.startTask(0, m.OnDefault[0])
	err = visit.visitSegment(nil)
	hits := visit.hits
	if err != nil || len(hits) == 0 {
		t.Fatalf("%d hits, %v", len(hits), err)
	}
	h := hits[0]
	want := h.Matches
	h.Matches, h.dropped = nil, int32(len(want))
	a := newResultBuilder(run, nil, 1<<20)
	run.plan.display = 1 << 20
	if err := a.refindMatches(&h); err != nil || !slices.Equal(h.Matches, want) {
		t.Fatalf("got %v, want %v: %v", h.Matches, want, err)
	}
}

// TestMatchesOfFiles checks that an answer cut by a limit says how many matches each file
// has: as many as an answer without a limit shows, or that there are more.
func TestMatchesOfFiles(t *testing.T) {
	cut, more := 0, 0
	for seed := range uint64(20) {
		m := searchtest.NewModel(t, rand.New(rand.NewPCG(seed, 7)))
		s := newSearcher(Options{})
		for _, text := range []string{"kmalloc", "struct", "unique1", "e", "kmalloc or struct", "STRASSE"} {
			whole := map[string]int{}
			nameOf := func(f *FileMatch) string { return f.Repo.Name + " " + f.Path + " " + string(f.Ref) }
			for _, matches := range []int{1 << 20, 1000, 10} {
				r, err := s.Search(t.Context(), m, Request{Query: searchtest.Parse(t, text), Matches: matches})
				if err != nil {
					t.Fatal(err)
				}
				for i := range r.Files {
					f := &r.Files[i]
					if matches == 1<<20 {
						whole[nameOf(f)] = countRanges(f)
					}
					if want := whole[nameOf(f)]; f.Matches != want && !(f.MoreMatches && f.Matches < want) {
						t.Errorf("seed %d, %s, %d matches: %s has %d matches (more: %v), want %d", seed, text, matches, nameOf(f), f.Matches, f.MoreMatches, want)
					}
					if f.MoreMatches {
						more++
					} else if countRanges(f) < f.Matches {
						cut++
					}
				}
				r.Release()
			}
		}
	}
	if cut < 10 || more == 0 {
		t.Errorf("%d files are cut and %d have more matches than are counted, want some of both", cut, more)
	}
}

// A limit does not change which files are best if all files are scored in full before
// they are chosen: the files of a small limit are the first ones of a larger limit, with
// the same best line. The test does not compare answers that score files with more
// matches than their first share by the matches on their best lines, and only the
// maxRescored likeliest files.
func TestLimitKeepsTheBestFiles(t *testing.T) {
	compared := 0
	for seed := range uint64(40) {
		m := searchtest.NewModel(t, rand.New(rand.NewPCG(seed, 7)))
		s := newSearcher(Options{})
		for _, text := range []string{"kmalloc", "struct", "unique1", "unique2", "no line", "unique3 if", "const struct", "世界", "0123456789012345", "STRASSE"} {
			var larger []FileMatch
			for _, matches := range []int{1000, 100, 10, 1} {
				r, err := s.Search(t.Context(), m, Request{Query: searchtest.Parse(t, text), Matches: matches})
				if err != nil {
					t.Fatal(err)
				}
				if matches == 1000 && (len(r.Files) > maxRescored || slices.ContainsFunc(r.Files, func(f FileMatch) bool { return countRanges(&f) > firstShare })) {
					break
				}
				for i := range r.Files {
					if larger == nil {
						break
					}
					compared++
					have, want := &r.Files[i], &larger[i]
					if have.Repo != want.Repo || have.Path != want.Path || have.Ref != want.Ref || have.BestLines[0] != want.BestLines[0] {
						t.Errorf("seed %d, %s, %d matches: file %d is %s %s, best line %v, of more matches it is %s %s, %v",
							seed, text, matches, i, have.Repo.Name, have.Path, have.BestLines, want.Repo.Name, want.Path, want.BestLines)
						break
					}
				}
				larger = r.Files
			}
		}
	}
	if compared < 300 {
		t.Errorf("only %d files compared", compared)
	}
}

func countRanges(f *FileMatch) (n int) {
	for _, c := range f.Chunks {
		n += len(c.Ranges)
	}
	return n
}

// A small limit looks at a share of enoughDocuments, those with the most blocks that may
// match, and gives the same answer each time; the definition is among them wherever it is.
func TestSmallLimitLooksAtEnough(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	m := &searchtest.Model{Refs: []code.Ref{"refs/heads/main"}, Repos: []*corpus.Repository{{Repository: code.Repository{ID: 1, Name: "host/repo", DefaultBranch: "main"}}}}
	const documents = 900
	for i := range documents {
		d := &searchtest.ModelDocument{Text: fmt.Appendf(searchtest.FillerText(rng, 4<<10), "use quuxly(%d);\n", i), Lang: "C"}
		if i == 600 {
			for range 4 {
				d.Text = fmt.Appendf(append(d.Text, searchtest.FillerText(rng, 4<<10)...), "use quuxly(%d);\n", i)
			}
		}
		if i == documents-1 {
			d.Text = append(d.Text, "struct quuxly"...)
			d.Symbols = []code.Symbol{{Name: "quuxly", Kind: "struct", Offset: uint32(len(d.Text) - len("quuxly")), Line: uint32(bytes.Count(d.Text, newline) + 1)}}
		}
		m.Documents = append(m.Documents, d)
		m.Places = append(m.Places, searchtest.ModelPlace{Repo: 0, Path: fmt.Sprintf("src/file%03d.c", i), Ref: m.Refs[0], Doc: d})
	}
	m.BuildIndex(t, 3)
	for _, c := range []struct {
		query           string
		matches, atMost int
		first           string
	}{
		{"quuxly", 10, enoughDocuments + 1, "file899.c"}, {"quuxly", 50, 3*enoughDocuments + 1, "file899.c"}, {"quuxly", 2000, documents, "file899.c"},
		{`regex:use.quuxly`, 10, 3 * enoughDocuments / chosenShare, "file600.c"}, {"quuxly return", 10, 3 * enoughTogether, "file899.c"},
	} {
		var first []string
		for range 5 {
			r, err := newSearcher(Options{}).Search(t.Context(), m, Request{Query: searchtest.Parse(t, c.query), Matches: c.matches})
			if err != nil {
				t.Fatal(err)
			}
			if cut := c.matches < documents; r.Stats.FilesConsidered > c.atMost || r.Exhaustive == cut || cut && r.Stats.Matches != c.matches+1 || r.Evidence.Complete == cut {
				t.Fatalf("%s, %d matches: searched %d files, found %d, exhaustive %v, complete %v; want at most %d files", c.query, c.matches, r.Stats.FilesConsidered, r.Stats.Matches, r.Exhaustive, r.Evidence.Complete, c.atMost)
			}
			if names := fileNames(r); first == nil {
				first = names
			} else if !slices.Equal(names, first) {
				t.Fatalf("%s, %d matches: found %v, then %v", c.query, c.matches, first, names)
			}
			if !strings.HasSuffix(r.Files[0].Path, c.first) {
				t.Fatalf("%s, %d matches: the first file is %s, want %s", c.query, c.matches, r.Files[0].Path, c.first)
			}
		}
	}
}

// TestSegmentsShareEnough searches for an expression that a third of the candidates match. No
// segment has the requested matches, but the first ones have them together.
func TestSegmentsShareEnough(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	m := &searchtest.Model{Refs: []code.Ref{"refs/heads/main"}, Repos: []*corpus.Repository{{Repository: code.Repository{ID: 1, Name: "host/repo", DefaultBranch: "main"}}}}
	const segments, perSegment, matches = 60, 30, 40
	for i := range segments * perSegment {
		d := &searchtest.ModelDocument{Text: fmt.Appendf(searchtest.FillerText(rng, 4<<10), "rare %c fewly\n", "xyz"[i/segments%3]), Lang: "C"}
		m.Documents = append(m.Documents, d)
		m.Places = append(m.Places, searchtest.ModelPlace{Repo: 0, Path: fmt.Sprintf("src/file%03d.c", i), Ref: m.Refs[0], Doc: d})
	}
	m.BuildIndex(t, segments)
	var first []string
	for range 3 {
		searcher := newSearcher(Options{})
		searcher.helpers = nil // another worker would visit later segments meanwhile
		r, err := searcher.Search(t.Context(), m, Request{Query: searchtest.Parse(t, "regex:rare.x.fewly"), Matches: matches})
		if err != nil {
			t.Fatal(err)
		}
		names := fileNames(r)
		if first == nil {
			first = names
		}
		if most := (matches/(perSegment/3) + 1) * perSegment; r.Stats.FilesConsidered > most || r.Stats.Matches != matches+1 || !slices.Equal(names, first) {
			t.Fatalf("searched %d files, found %d matches in %v; want at most %d files of %d, and %d matches in %v", r.Stats.FilesConsidered, r.Stats.Matches, names, most, segments*perSegment, matches+1, first)
		}
	}
}

// fileNames returns the files of an answer.
func fileNames(r *Result) (out []string) {
	for _, repo := range r.Repositories {
		out = append(out, repo.Name)
	}
	for i := range r.Files {
		out = append(out, fmt.Sprint(r.Files[i].Repo.Name, " ", r.Files[i].Path, " ", r.Files[i].Matches))
	}
	return out
}
