package places_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// large is a repository with many files in a store on disk.
type large struct {
	*bench
	w    *projectiontest.World
	dir  string
	repo *projectiontest.Repository
	main code.Ref
}

const largeSegment = 12000

func newLarge(tb testing.TB) *large {
	dir := tb.TempDir()
	s, err := store.Open(filepath.Join(dir, "store"), store.Options{})
	must(tb, err)
	objects := newObjects(tb)
	return &large{bench: benchOver(tb, s, objects, places.Options{}), w: projectiontest.NewWorld(tb, 1, 1, objects), dir: dir, main: "refs/heads/main"}
}

// importRecords returns the records of a first import of n files.
func (l *large) importRecords(repository, n int) []event.Record {
	records := []event.Record{l.w.Register(repository)}
	for _, r := range l.w.Repositories {
		if r.Refs[l.main] == nil {
			l.repo = r
		}
	}
	files := make(map[string]projectiontest.File, n)
	var segments []event.SegmentRef
	var documents []code.DocumentKey
	for i := range n {
		k := l.w.Document(repository*1000000 + i)
		files[fmt.Sprintf("drivers/net/ethernet/vendor%04d/chip_%06d.c", i/40, i)] = projectiontest.File{Key: k, Size: 100}
		if documents = append(documents, k); len(documents) == largeSegment || i == n-1 {
			segments = append(segments, l.w.Segment(0, documents))
			documents = nil
		}
	}
	return append(records, l.w.IndexWith(l.repo, l.main, files, nil, segments)...)
}

// pushRecords returns the records of a push that changes one file.
func (l *large) pushRecords(i int) []event.Record {
	files := map[string]projectiontest.File{}
	for path, f := range l.repo.Refs[l.main].Files {
		files[path] = f
	}
	n := len(files)
	k := l.w.Document(500000000 + i)
	files[fmt.Sprintf("drivers/net/ethernet/vendor%04d/chip_%06d.c", i*37%n/40, i*37%n)] = projectiontest.File{Key: k, Size: 100}
	return l.w.IndexWith(l.repo, l.main, files, &l.main, []event.SegmentRef{l.w.Segment(0, []code.DocumentKey{k})})
}

func BenchmarkImport80000(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		l := newLarge(b)
		records := l.importRecords(1, 80000)
		b.StartTimer()
		l.apply(records...)
		b.StopTimer()
		l.close()
		b.StartTimer()
	}
}

func BenchmarkPushInto80000(b *testing.B) {
	l := newLarge(b)
	defer l.close()
	l.apply(l.importRecords(1, 80000)...)
	var pushes [][]event.Record
	for i := range 60 {
		pushes = append(pushes, l.pushRecords(i))
	}
	i := 0
	for b.Loop() {
		if i == len(pushes) {
			b.Fatal("run with -benchtime 50x")
		}
		l.apply(pushes[i]...)
		i++
	}
}

func BenchmarkOpen200000(b *testing.B) {
	l := newLarge(b)
	for i := range 3 {
		l.apply(l.importRecords(i, 67000)...)
	}
	l.close()
	for b.Loop() {
		b.StopTimer()
		s, err := store.Open(filepath.Join(l.dir, "store"), store.Options{})
		must(b, err)
		b.StartTimer()
		bench := benchOver(b, s, l.objects, places.Options{})
		b.StopTimer()
		bench.close()
		b.StartTimer()
	}
}

func BenchmarkRevision80000(b *testing.B) {
	l := newLarge(b)
	defer l.close()
	l.apply(l.importRecords(1, 80000)...)
	v := l.places.Acquire()
	defer v.Release()
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			l.places.DropRevisions()
			_, _, err := v.Revisions(context.Background(), func(*places.Repository, code.Ref) bool { return true })
			must(b, err)
		}
	})
	b.Run("kept", func(b *testing.B) {
		for b.Loop() {
			_, _, err := v.Revisions(context.Background(), func(*places.Repository, code.Ref) bool { return true })
			must(b, err)
		}
	})
}

// TestPushIsProportional checks that the work for a push of one file does not grow with
// the repository: it counts the written rows.
func TestPushIsProportional(t *testing.T) {
	l := newLarge(t)
	defer l.close()
	l.apply(l.importRecords(1, 20000)...)
	before := len(l.dump())
	records := l.pushRecords(1)
	start := time.Now()
	l.apply(records...)
	t.Logf("push of one file into 20,000: %v", time.Since(start))
	// One entry and one place change; a document, a segment with its ID, and the parts of
	// the segment are added.
	if grown := len(l.dump()) - before; grown > 12+int(postings.RunClasses) {
		t.Fatalf("a push of one file added %d rows", grown)
	}
}

// TestOpenReadsEveryPlace opens a store whose places are read in several ranges.
func TestOpenReadsEveryPlace(t *testing.T) {
	l := newLarge(t)
	l.apply(l.importRecords(1, 3*largeSegment+1)...)
	l.apply(l.importRecords(2, 1)...)
	list := func() []string {
		v := l.places.Acquire()
		defer v.Release()
		places, err := listPlaces(v, v.Segments(), nil)
		must(t, err)
		return places
	}
	want := list()
	l.close()
	s, err := store.Open(filepath.Join(l.dir, "store"), store.Options{})
	must(t, err)
	l.bench = benchOver(t, s, l.objects, places.Options{})
	defer l.close()
	if got := list(); len(want) != 3*largeSegment+2 || !slices.Equal(got, want) {
		t.Errorf("%d places after a restart, %d before it, want the same %d", len(got), len(want), 3*largeSegment+2)
	}
}
