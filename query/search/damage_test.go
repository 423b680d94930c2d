package search

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/quarrysearch/quarry/projections/postings"
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
	files, err := filepath.Glob(filepath.Join(filepath.Dir(t.TempDir()), "*", "segment"))
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	// The last files are those of the segments that are searched; damage one.
	path := files[len(files)-1]
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
	r, err := newSearcher(Options{}).Search(t.Context(), m, request)
	if err != nil {
		t.Fatal(err)
	}
	if r.Exhaustive || r.Stopped != StopDamaged || len(r.Files) == 0 || len(r.Files) >= len(all.Files) {
		t.Errorf("%d files of %d, exhaustive %v, stopped %q", len(r.Files), len(all.Files), r.Exhaustive, r.Stopped)
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
