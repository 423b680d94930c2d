package search

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/search/searchtest"
)

// TestDamagedSegment flips bits of one of several segments while it is searched. The
// answer must contain the matches of the other segments, and report that something is
// missing.
func TestDamagedSegment(t *testing.T) {
	m := searchtest.NewModel(t, rand.New(rand.NewPCG(7, 8)))
	m.BuildIndex(t, 4)
	s, request := newSearcher(Options{}), Request{Query: searchtest.Parse(t, "i"), Matches: 1 << 20}
	all, err := s.Search(t.Context(), m, request)
	if err != nil || !all.Exhaustive {
		t.Fatal(err, all)
	}
	files := segmentFiles(t)
	if len(files) < 2 {
		t.Fatal(files)
	}
	// The last files are those of the segments that are searched; damage one.
	damageFile(t, files[len(files)-1])
	r, err := newSearcher(Options{}).Search(t.Context(), m, request)
	if err != nil {
		t.Fatal(err)
	}
	if r.Exhaustive || r.Stopped != StopDamaged || len(r.Files) == 0 || len(r.Files) >= len(all.Files) {
		t.Errorf("%d files of %d, exhaustive %v, stopped %q", len(r.Files), len(all.Files), r.Exhaustive, r.Stopped)
	}
}

// TestDamageDuringTheChoice damages a segment after its hits were found. The choice of the best,
// for which the matches that were dropped are found again, goes on without it.
func TestDamageDuringTheChoice(t *testing.T) {
	m := searchtest.NewModel(t, rand.New(rand.NewPCG(9, 9)))
	run := newTestRun(t, m, Request{Query: searchtest.Parse(t, "kmalloc"), Matches: 1 << 20, Display: 2})
	v := newSegmentSearcher(run.plan.scope, 1<<20, 1<<20, func() bool { return false }, nil)
	v.bestOnly = true
	visit := v.startTask(0, m.OnDefault[0])
	if err := errors.Join(visit.visitSegment(nil), v.close()); err != nil || len(visit.hits) == 0 {
		t.Fatalf("%d hits, %v", len(visit.hits), err)
	}
	h := visit.hits[0]
	h.Matches, h.dropped = nil, int32(len(h.Matches))
	for _, path := range segmentFiles(t) {
		f, err := segment.OpenFile(path, nil) // without the frames that are in the cache
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if f.ID() == m.OnDefault[0].Reader.ID() {
			run.plan.segments[0].Reader = f.Reader
		}
		damageFile(t, path)
	}
	ticket, err := newSearcher(Options{}).admission.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer ticket.Leave()
	a := newResultBuilder(run, ticket.Worker(t.Context().Done()), 1<<20)
	defer a.worker.End()
	files, err := a.scoreHits(t.Context(), []*hit{&h})
	if err != nil || len(files) != 1 || files[0] != nil || !run.damaged.Load() {
		t.Errorf("scores: %v, damaged %v, %v", files, run.damaged.Load(), err)
	}
	run.damaged.Store(false)
	if err := a.cutMatches(&h, 1); err != nil || !run.damaged.Load() {
		t.Errorf("matches: damaged %v, %v", run.damaged.Load(), err)
	}
}

// segmentFiles returns the files of the segments of a test, in the order in which they were written.
func segmentFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(t.TempDir()), "*", "segment"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// damageFile flips a bit of each byte of a file.
func damageFile(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		b[i] ^= 0x10
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestMalformedListIsDamage checks that a search does not fail because of a posting list that no
// checksum shows to be wrong.
func TestMalformedListIsDamage(t *testing.T) {
	_, err := postings.ParseList([]byte{0xff, 1, 1})
	run := &searchRun{}
	if run.skipDamaged(noSegment, nil) || !run.skipDamaged(noSegment, fmt.Errorf("list: %w", err)) || !run.damaged.Load() {
		t.Errorf("%v is not taken for damage of the segment", err)
	}
}
