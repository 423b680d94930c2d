package views

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/projections/store/storetest"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// A worldIndex is an index of a world, to which the events of the world are applied.
type worldIndex struct {
	t       *testing.T
	world   *projectiontest.World
	catalog *catalog.Catalog
	places  *places.Places
	objects segmentstore.Store
	records []event.Record // records applied so far
	applier *projectiontest.Applier
}

// historyPartitions is the number of partitions of the worlds.
const historyPartitions = 2

func newWorldIndex(t *testing.T, seed uint64) *worldIndex {
	t.Helper()
	objects, err := segmentstore.OpenDirectory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := store.Open("store", store.Options{FileSystem: storetest.NewMemory().FileSystem()})
	if err != nil {
		t.Fatal(err)
	}
	decoder := projections.NewDecoder(objects)
	p, err := places.Open(t.Context(), places.Options{Store: rows, Decoder: decoder, Objects: objects})
	if err != nil {
		t.Fatal(err)
	}
	known, err := catalog.Open(catalog.Options{Store: rows, Decoder: decoder})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Close()
		known.Close()
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	})
	world := projectiontest.NewWorld(t, seed, historyPartitions, objects)
	world.Faithful = true
	return &worldIndex{t, world, known, p, objects, nil, &projectiontest.Applier{Store: rows, Decoder: decoder, Projections: []projections.Projection{known, p}}}
}

func (x *worldIndex) applyRecords(records ...event.Record) {
	x.t.Helper()
	for _, rec := range records {
		if err := x.applier.Apply(x.t.Context(), rec); err != nil {
			x.t.Fatalf("apply %s: %v", rec.Position, err)
		}
		x.records = append(x.records, rec)
	}
}

// mergeSegments merges some segments of a partition into one of their live documents.
func (x *worldIndex) mergeSegments() {
	v := x.places.Acquire()
	defer v.Release()
	partition := int32(x.world.Rand.IntN(historyPartitions))
	var inputs []segment.ID
	var documents []code.DocumentKey
	for _, info := range v.SegmentInfos() {
		if info.Partition != partition || x.world.Rand.IntN(3) == 0 || len(inputs) == 6 {
			continue
		}
		live, _, err := v.Liveness(info.ID)
		if err != nil {
			x.t.Fatal(err)
		}
		for d, k := range x.world.Segments[info.ID] {
			if live[d/64]>>(d%64)&1 != 0 && !slices.Contains(documents, k) {
				documents = append(documents, k)
			}
		}
		inputs = append(inputs, info.ID)
	}
	if len(inputs) < 2 {
		return
	}
	ev, rec := x.world.Merge(partition, inputs, documents)
	x.applyRecords(rec)
	x.world.Merged(ev)
}

// rebuildIndex returns an index of the current state of the world, in which each ref was
// pushed once.
func (x *worldIndex) rebuildIndex(seed uint64, documents int) *worldIndex {
	y := newWorldIndex(x.t, seed)
	for n := range documents {
		y.world.Document(n)
	}
	for _, id := range slices.Sorted(maps.Keys(x.world.Repositories)) {
		old := x.world.Repositories[id]
		n, err := strconv.Atoi(old.Name[strings.LastIndexByte(old.Name, '-')+1:])
		if err != nil {
			x.t.Fatal(err)
		}
		y.applyRecords(y.world.Register(n))
		r := y.world.Repositories[id]
		for _, ref := range slices.Sorted(maps.Keys(old.Refs)) {
			y.applyRecords(y.world.Index(r, ref, old.Refs[ref].Files, nil, func(k code.DocumentKey) bool { return y.world.Held[r.Partition][k] > 0 })...)
		}
		if old.DefaultBranch != "" {
			y.applyRecords(y.world.ChangeDefault(r, old.DefaultBranch))
		}
	}
	return y
}

// runQuery lists the results of a query in a fixed order.
func (x *worldIndex) runQuery(q *syntax.Parsed) []string {
	x.t.Helper()
	opened := openView(x.t, x.catalog, x.places)
	defer opened.Release()
	return listResults(x.t, opened, q)
}

// openView returns the view of projections whose repositories all have a number.
func openView(t *testing.T, c *catalog.Catalog, p *places.Places) corpus.View {
	t.Helper()
	opened, err := New(func() *versions.Version { return &versions.Version{Catalog: c, Places: p} }, func(code.RepositoryID) bool { return true }).View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

// listResults lists the results of a query in a fixed order.
func listResults(t *testing.T, opened corpus.View, q *syntax.Parsed) []string {
	t.Helper()
	r, err := search.New(search.Options{MaxDuration: 10 * time.Hour}).Search(t.Context(), opened, search.Request{Query: q, Matches: 1 << 20, Whole: true})
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	defer r.Release()
	lines := []string{fmt.Sprintf("%d matches, exhaustive %v", r.Stats.Matches, r.Exhaustive)}
	for _, repo := range r.Repositories {
		lines = append(lines, repo.Name)
	}
	for i := range r.Files {
		f := &r.Files[i]
		var spots []string
		for _, c := range f.Chunks {
			for _, at := range c.Ranges {
				spots = append(spots, fmt.Sprint(at.Start.ByteOffset, "-", at.End.ByteOffset))
			}
		}
		refs := slices.Sorted(slices.Values(f.Refs))
		lines = append(lines, fmt.Sprintf("%s %q %s %s %v %q", f.Repo.Name, f.Path, f.Language, refs, spots, f.Content))
	}
	slices.Sort(lines)
	return lines
}

// countMatchingFiles counts the files of the model that are on matching refs and contain
// a text. A file on several refs counts once.
func (x *worldIndex) countMatchingFiles(text string, match func(r *projectiontest.Repository, ref code.Ref) bool) int {
	type file struct {
		repo code.RepositoryID
		path string
		key  code.DocumentKey
	}
	found := map[file]bool{}
	for _, r := range x.world.Repositories {
		for name, ref := range r.Refs {
			for path, f := range ref.Files {
				if f.Skipped == "" && match(r, name) && strings.Contains(string(x.world.Text(f.Key)), text) {
					found[file{r.ID, path, f.Key}] = true
				}
			}
		}
	}
	return len(found)
}

var historyQueries = []string{
	"func", "return 4", "regex:f\\d+\\(\\)", "-func", "lang:go return", "lang:c -file:dir p1", "file:^dir/ package", "file:go$", "file:feed",
	"rev:* func", "rev:branch-1 package", "rev:tags", "-rev:heads package", "rev:HEAD return", "rev:main or rev:branch-2",
	"repo:repository-1 func", "repo:repository-[02] rev:* f2", "type:file a", "type:repo repository", "type:repo content:f7",
	"select:repo return", "select:file rev:* package", "select:content (p3 or file:readme)", "p1 p2", "package return (f1 or f2)",
}

// TestPushByPushIsARebuild creates random histories of pushes, renames, deletions, moved
// and deleted refs and merges of segments. It compares the results with those of an index
// of the final state, and with a scan of that state. QUARRY_SEED repeats a run.
func TestPushByPushIsARebuild(t *testing.T) {
	const (
		histories, steps, every = 3, 90, 30
		documents               = 50 // same as in projectiontest
	)
	first, _ := strconv.ParseUint(os.Getenv("QUARRY_SEED"), 10, 64)
	for seed := first; seed < first+histories; seed++ {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			x := newWorldIndex(t, seed)
			rng := rand.New(rand.NewPCG(seed, 9))
			for i := 1; i <= steps; i++ {
				if rng.IntN(6) == 0 {
					x.mergeSegments()
				} else {
					_, records := x.world.Step()
					x.applyRecords(records...)
				}
				if i%every == 0 {
					x.compareAnswers(x.rebuildIndex(seed+1000, documents))
				}
			}
		})
	}
}

func (x *worldIndex) compareAnswers(y *worldIndex) {
	x.t.Helper()
	for _, text := range historyQueries {
		q, err := syntax.Parse(text, syntax.Options{})
		if err != nil {
			x.t.Fatal(err)
		}
		if got, want := x.runQuery(q), y.runQuery(q); !slices.Equal(got, want) {
			x.t.Fatalf("%s\npush by push:\n%s\nrebuilt:\n%s", text, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	for text, match := range map[string]func(r *projectiontest.Repository, ref code.Ref) bool{
		"func":       func(r *projectiontest.Repository, ref code.Ref) bool { return ref == code.BranchRef(r.DefaultBranch) },
		"rev:* func": func(*projectiontest.Repository, code.Ref) bool { return true },
	} {
		q, err := syntax.Parse(text, syntax.Options{})
		if err != nil {
			x.t.Fatal(err)
		}
		if got, want := len(x.runQuery(q))-1, x.countMatchingFiles("func", match); got != want {
			x.t.Fatalf("%s finds %d files, the model has %d", text, got, want)
		}
	}
}
