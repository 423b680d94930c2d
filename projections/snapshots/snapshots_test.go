package snapshots

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/deliveries"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// contents are the rows of all projections.
var contents = Contents{
	Schemas: map[string]int{"catalog": catalog.SchemaVersion, "places": places.SchemaVersion, "deliveries": deliveries.SchemaVersion},
	Edit:    places.SnapshotRow, Segments: places.StoredSegments,
	Ranges: func(r store.Reader, n int32) (func(int32) []store.Range, error) {
		return places.PartitionRanges(r, func(id code.RepositoryID) int32 { return projectiontest.PartitionOf(id, n) })
	},
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// installation is a random world, its log, its segment store and the snapshots in it.
type installation struct {
	t       *testing.T
	dir     string // of the segment store
	objects segmentstore.Driver
	world   *projectiontest.World
	log     *projectiontest.Log
	archive *Archive
	now     time.Time
}

func newInstallation(t *testing.T, seed uint64, partitions int32) *installation {
	t.Helper()
	in := &installation{t: t, dir: t.TempDir(), now: time.Now()}
	var err error
	in.objects, err = segmentstore.OpenDirectory(in.dir)
	must(t, err)
	in.world, in.log = projectiontest.NewWorld(t, seed, partitions, in.objects), projectiontest.NewLog(partitions)
	in.archive = in.openArchive(in.objects)
	return in
}

func (in *installation) openArchive(objects segmentstore.Driver) *Archive {
	return New(Options{
		Store: objects, Log: in.log, TempDir: filepath.Join(in.t.TempDir(), "tmp"), Creator: "test", Logger: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return in.now },
	})
}

// node is a process with projections.
type node struct {
	*installation
	rows   *store.Store
	places *places.Places
	runner *projections.Runner
	close  func()
}

// openNode opens projections over the store in dir, and follows the log until close.
func (in *installation) openNode(dir string, o places.Options) *node {
	t := in.t
	t.Helper()
	rows, err := store.Open(dir, store.Options{})
	must(t, err)
	d := projections.NewDecoder(in.objects)
	c, err := catalog.Open(catalog.Options{Store: rows, Decoder: d})
	must(t, err)
	o.Store, o.Decoder = rows, d
	if o.Objects == nil {
		o.Objects = in.objects
	}
	p, err := places.Open(t.Context(), o)
	must(t, err)
	l, err := deliveries.Open(deliveries.Options{Store: rows, Decoder: d})
	must(t, err)
	n := &node{installation: in, rows: rows, places: p}
	n.runner, err = projections.New(projections.Options{Store: rows, Log: in.log, Decoder: d, Projections: []projections.Projection{c, p, l}})
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- n.runner.Run(ctx) }()
	go func() { ended <- p.Run(ctx) }()
	n.close = func() {
		cancel()
		must(t, errors.Join(<-ended, <-ended))
		l.Close()
		p.Close()
		c.Close()
		must(t, rows.Close())
	}
	n.awaitLog()
	return n
}

// awaitLog waits until the node has applied the log.
func (n *node) awaitLog() {
	n.t.Helper()
	high, err := n.log.HighWater(n.t.Context(), event.TopicEvents)
	must(n.t, err)
	var last []event.Position
	for p, end := range high {
		if end > 0 {
			last = append(last, event.Position{Topic: event.TopicEvents, Partition: int32(p), Offset: end - 1})
		}
	}
	must(n.t, n.runner.WaitFor(n.t.Context(), last...))
}

// change changes the world at random, with merges of the segments that the node has.
func (n *node) change(steps int) {
	for range steps {
		if n.world.Rand.IntN(6) > 0 {
			_, records := n.world.Step()
			n.log.Add(records...)
			continue
		}
		n.awaitLog()
		n.merge()
	}
	n.awaitLog()
}

// merge replaces up to three segments of a partition with one.
func (n *node) merge() {
	v := n.places.Acquire()
	partition := int32(n.world.Rand.IntN(int(n.world.Partitions)))
	var inputs []segment.ID
	var documents []code.DocumentKey
	for _, info := range v.SegmentInfos() {
		if info.Partition != partition || info.Absent || len(inputs) == 3 {
			continue
		}
		live, _, err := v.Liveness(info.ID)
		must(n.t, err)
		for d, k := range n.world.Segments[info.ID] {
			if live[d/64]>>(d%64)&1 != 0 && !slices.Contains(documents, k) {
				documents = append(documents, k)
			}
		}
		inputs = append(inputs, info.ID)
	}
	v.Release()
	if len(inputs) < 2 {
		return
	}
	ev, rec := n.world.Merge(partition, inputs, documents)
	n.log.Add(rec)
	n.world.Merged(ev)
	n.awaitLog()
}

// dump returns the rows of the node, without the keys of segments that wait to be excised.
func (n *node) dump() []projectiontest.Row {
	rows, err := projectiontest.Dump(n.rows)
	must(n.t, err)
	named, err := places.StoredSegments(n.rows)
	must(n.t, err)
	return slices.DeleteFunc(rows, func(r projectiontest.Row) bool {
		return r.Key[0] == segment.KeyPrefix && !named[segment.ID(r.Key[1:1+len(segment.ID{})])]
	})
}

// load loads a snapshot into a new directory and returns it.
func (in *installation) load(a *Archive, m *Manifest) (dir string, err error) {
	dir = filepath.Join(in.t.TempDir(), "loaded")
	rows, err := store.Open(dir, store.Options{})
	must(in.t, err)
	return dir, errors.Join(a.Load(in.t.Context(), WholePart(m), rows, contents), rows.Close())
}

// TestSnapshotsEqualReplays creates snapshots at random moments of random histories with
// merges, and compares each, after the rest of the log, with a replay from the first record:
// every row, in every byte.
func TestSnapshotsEqualReplays(t *testing.T) {
	t.Parallel()
	rows, merged := 0, 0
	for seed := range uint64(6) {
		in := newInstallation(t, seed, 1+int32(seed%3))
		n := in.openNode(filepath.Join(t.TempDir(), "live"), places.Options{})
		n.change(30 + int(seed)*10)
		var made []*Manifest
		for range 2 {
			m, err := in.archive.Create(t.Context(), n.rows, contents)
			must(t, err)
			_, err = in.archive.Verify(t.Context(), m.Name)
			must(t, err)
			made = append(made, m)
			n.change(40)
		}
		want := n.dump()
		replayed := in.openNode(filepath.Join(t.TempDir(), "replayed"), places.Options{})
		if diff := projectiontest.Difference(want, replayed.dump()); diff != "" {
			t.Fatalf("seed %d: a replay differs: %s", seed, diff)
		}
		replayed.close()
		for _, m := range made {
			dir, err := in.load(in.openArchive(in.objects), m)
			must(t, err)
			loaded := in.openNode(dir, places.Options{})
			if diff := projectiontest.Difference(want, loaded.dump()); diff != "" {
				t.Errorf("seed %d: a snapshot with the log behind it differs: %s", seed, diff)
			}
			rows += int(m.Rows())
			loaded.close()
		}
		for _, rec := range want {
			if strings.HasPrefix(string(rec.Key), "pg") {
				merged++
			}
		}
		n.close()
	}
	if rows < 1000 || merged < 10 {
		t.Errorf("%d rows, %d merged segments: the histories are too small", rows, merged)
	}
}

// TestSegmentsOfASnapshotStay checks that a merged segment stays as long as a snapshot names
// it, that other segments go meanwhile, and that text which must go takes the snapshot with
// it.
func TestSegmentsOfASnapshotStay(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, 4, 1)
	n := in.openNode(filepath.Join(t.TempDir(), "live"), places.Options{
		Objects: in.archive.Guard(), DeleteObjects: true, DeleteSnapshots: in.archive.ReleaseSegment,
	})
	defer n.close()
	n.change(60)
	m, err := in.archive.Create(t.Context(), n.rows, contents)
	must(t, err)
	held, err := in.archive.readSegments(t.Context(), m.Name)
	must(t, err)
	other := in.openArchive(in.objects) // that of another process
	for id := range held {
		if err := other.Guard().Delete(t.Context(), segmentstore.SegmentName(id)); !errors.Is(err, segmentstore.ErrKept) {
			t.Fatalf("delete of a segment of the snapshot: %v, want %v", err, segmentstore.ErrKept)
		}
	}
	unnamed := in.world.Segment(0, []code.DocumentKey{in.world.Document(1), in.world.Document(2), in.world.Document(3)})
	must(t, other.Guard().Delete(t.Context(), "segment-"+unnamed.ID))

	at := event.Position{Topic: event.TopicEvents, Partition: 0, Offset: m.Positions[0].Next - 1}
	must(t, other.DeleteBefore(t.Context(), at))
	if _, err := other.Verify(t.Context(), m.Name); err != nil {
		t.Fatalf("a snapshot with the erasure was deleted: %v", err)
	}
	at.Offset++
	must(t, other.DeleteBefore(t.Context(), at))
	if _, err := other.Verify(t.Context(), m.Name); !errors.Is(err, code.ErrNotFound) {
		t.Fatalf("a snapshot without the erasure: %v, want %v", err, code.ErrNotFound)
	}
	again, err := in.archive.Create(t.Context(), n.rows, contents)
	must(t, err)
	for id := range held {
		must(t, other.ReleaseSegment(t.Context(), id))
		break
	}
	if _, err := other.Find(t.Context(), again.Name); !errors.Is(err, code.ErrNotFound) {
		t.Fatalf("a snapshot that names a segment with text that must go: %v", err)
	}
	for id := range held {
		must(t, other.Guard().Delete(t.Context(), segmentstore.SegmentName(id)))
	}
}

// TestSegmentsAreDeletedByAnOldList creates a snapshot while another process deletes a segment of it by a
// list of the snapshots that is older: no snapshot is complete without its segments.
func TestSegmentsAreDeletedByAnOldList(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, 4, 1)
	n := in.openNode(filepath.Join(t.TempDir(), "live"), places.Options{})
	defer n.close()
	n.change(60)
	named, err := contents.Segments(n.rows)
	must(t, err)
	other := in.openArchive(in.objects).Guard()
	unnamed := in.world.Segment(0, []code.DocumentKey{in.world.Document(1), in.world.Document(2), in.world.Document(3)})
	must(t, other.Delete(t.Context(), "segment-"+unnamed.ID)) // it lists the snapshots for that
	in.archive.o.Settle = func(ctx context.Context) error {
		for id := range named {
			return other.Delete(ctx, segmentstore.SegmentName(id))
		}
		return errors.New("the snapshot has no segments")
	}
	if _, err := in.archive.Create(t.Context(), n.rows, contents); !errors.Is(err, errReleased) {
		t.Errorf("a snapshot that lost a segment: %v, want %v", err, errReleased)
	}
	if list, err := in.archive.List(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("%d snapshots are left: %v", len(list), err)
	}
}

// TestNoSnapshotBeforeAnErasure has a node that does not follow the log any more create a snapshot,
// after another process has deleted those that have not applied an erasure. Nothing would delete
// it, and it would keep the names of an erased repository.
func TestNoSnapshotBeforeAnErasure(t *testing.T) {
	t.Parallel()
	for _, erases := range []func(code.RepositoryID) event.Event{
		func(id code.RepositoryID) event.Event {
			return &event.ErasureRequested{Repository: id, Path: "a", At: time.Unix(1, 0)}
		},
		func(id code.RepositoryID) event.Event {
			return &event.RepositoryRemoved{Repository: id, Erase: true, At: time.Unix(1, 0)}
		},
	} {
		in := newInstallation(t, 4, 2)
		dir := filepath.Join(t.TempDir(), "late")
		n := in.openNode(dir, places.Options{})
		n.change(30)
		n.close()
		late, err := store.Open(dir, store.Options{})
		must(t, err)
		in.log.Add(in.world.Append(1, &event.RepositoryRemoved{Repository: 1 << 40, At: time.Unix(1, 0)}))
		if _, err := in.archive.Create(t.Context(), late, contents); err != nil {
			t.Fatalf("a snapshot without a removal that erases nothing: %v", err)
		}
		erasure := in.world.Append(0, erases(1<<40))
		in.log.Add(erasure)
		must(t, in.openArchive(in.objects).DeleteBefore(t.Context(), erasure.Position))
		if _, err := in.archive.Create(t.Context(), late, contents); !errors.Is(err, errBehind) {
			t.Errorf("a snapshot without %T: %v, want %v", erases(1), err, errBehind)
		}
		if list, err := in.archive.List(t.Context()); err != nil || len(list) > 0 {
			t.Errorf("%d snapshots without %T are left: %v", len(list), erases(1), err)
		}
		must(t, late.Close())
	}
}

// TestAllSnapshotsAreListed checks that the oldest of very many snapshots is found, which an erasure
// has to delete.
func TestAllSnapshotsAreListed(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, 1, 1)
	must(t, os.Mkdir(filepath.Join(in.dir, Folder), 0o700))
	const n = 1100 // more than the API lists
	for i := range n {
		name := newName(in.now.Add(time.Duration(i) * time.Second))
		must(t, os.WriteFile(filepath.Join(in.dir, Folder, name+segmentsSuffix), []byte("a"), 0o600))
	}
	if list, err := in.archive.List(t.Context()); err != nil || len(list) != n {
		t.Errorf("%d of %d snapshots are listed: %v", len(list), n, err)
	}
}

// errKilled ends a process in a test.
var errKilled = errors.New("the process was killed")

// killed is a segment store of a process that is killed before one of its requests.
type killed struct {
	segmentstore.Driver
	left atomic.Int64
}

func newKilled(objects segmentstore.Driver, left int) *killed {
	k := &killed{Driver: objects}
	k.left.Store(int64(left))
	return k
}

func (k *killed) spend() error {
	if k.left.Add(-1) < 0 {
		return errKilled
	}
	return nil
}

// Folder implements segmentstore.Driver.
func (k *killed) Folder(name string) segmentstore.Store {
	return &killedFolder{k.Driver.Folder(name), k}
}

// Fetch implements segmentstore.Store.
func (k *killed) Fetch(ctx context.Context, name, path string) error {
	if err := k.spend(); err != nil {
		return err
	}
	return k.Driver.Fetch(ctx, name, path)
}

type killedFolder struct {
	segmentstore.Store
	k *killed
}

// Put implements segmentstore.Store.
func (f *killedFolder) Put(ctx context.Context, name, path string) error {
	if err := f.k.spend(); err != nil {
		return err
	}
	return f.Store.Put(ctx, name, path)
}

// PutBytes implements segmentstore.Store.
func (f *killedFolder) PutBytes(ctx context.Context, name string, b []byte) error {
	if err := f.k.spend(); err != nil {
		return err
	}
	return f.Store.PutBytes(ctx, name, b)
}

// Fetch implements segmentstore.Store.
func (f *killedFolder) Fetch(ctx context.Context, name, path string) error {
	if err := f.k.spend(); err != nil {
		return err
	}
	return f.Store.Fetch(ctx, name, path)
}

// Delete implements segmentstore.Store.
func (f *killedFolder) Delete(ctx context.Context, name string) error {
	if err := f.k.spend(); err != nil {
		return err
	}
	return f.Store.Delete(ctx, name)
}

// TestKilledAtEachStep kills a process at each request to the segment store, of a creation
// and of a deletion: no list ever has a snapshot that is not complete, and the next process
// removes what is left. It then kills one at each step of a load, which fails.
func TestKilledAtEachStep(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, 11, 2)
	n := in.openNode(filepath.Join(t.TempDir(), "live"), places.Options{})
	defer n.close()
	n.change(60)
	steps := 0
	for done := false; !done; steps++ {
		m, err := in.openArchive(newKilled(in.objects, steps)).Create(t.Context(), n.rows, contents)
		if done = err == nil; !done && !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		list, err := in.archive.List(t.Context())
		must(t, err)
		for _, s := range list {
			if (s.Manifest != nil) != (m != nil && s.Name == m.Name) {
				t.Fatalf("killed after %d requests: %s has the manifest %v, %q", steps, s.Name, s.Manifest, s.Problem)
			}
		}
	}
	if steps < 6 {
		t.Fatalf("a snapshot takes %d requests", steps)
	}
	list, err := in.archive.List(t.Context())
	must(t, err)
	whole := list[slices.IndexFunc(list, func(s Snapshot) bool { return s.Manifest != nil })].Manifest

	for left := 0; ; left++ {
		dir, err := in.load(in.openArchive(newKilled(in.objects, left)), whole)
		if err == nil {
			loaded := in.openNode(dir, places.Options{})
			if diff := projectiontest.Difference(n.dump(), loaded.dump()); diff != "" {
				t.Error(diff)
			}
			loaded.close()
			break
		}
		if !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
	}
	for left := 0; ; left++ {
		err := in.openArchive(newKilled(in.objects, left)).Delete(t.Context(), whole.Name)
		if err == nil || errors.Is(err, code.ErrNotFound) {
			break
		}
		if s, err := in.archive.Find(t.Context(), whole.Name); left > 0 && (err != nil || s.Manifest != nil) {
			t.Fatalf("killed after %d deletions: %+v, %v", left, s, err)
		}
	}
	in.now = in.now.Add(unfinishedAge + time.Minute)
	_, err = in.archive.Prune(t.Context(), 2)
	must(t, err)
	if left, err := filepath.Glob(filepath.Join(in.dir, Folder, "*")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// TestDamagedSnapshots flips, cuts, adds and removes bytes of the objects of a snapshot at
// random: none is loaded, and Verify tells why.
func TestDamagedSnapshots(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, 21, 2)
	n := in.openNode(filepath.Join(t.TempDir(), "live"), places.Options{})
	defer n.close()
	n.change(60)
	m, err := in.archive.Create(t.Context(), n.rows, contents)
	must(t, err)
	files, err := filepath.Glob(filepath.Join(in.dir, Folder, "*"))
	must(t, err)
	for round := range 120 {
		path := files[in.world.Rand.IntN(len(files))]
		good, err := os.ReadFile(path)
		must(t, err)
		bad, at := slices.Clone(good), in.world.Rand.IntN(len(good))
		what := ""
		switch round % 4 {
		case 0:
			what = fmt.Sprintf("bit %d flipped", at)
			bad[at] ^= 1 << in.world.Rand.IntN(8)
		case 1:
			what = fmt.Sprintf("cut after %d of %d bytes", at, len(good))
			bad = bad[:at]
		case 2:
			what, bad = "a byte more", append(bad, 'x')
		case 3:
			what, bad = "missing", nil
		}
		must(t, os.Remove(path))
		if bad != nil {
			must(t, os.WriteFile(path, bad, 0o600))
		}
		what += " in " + filepath.Base(path)
		reader := in.openArchive(in.objects)
		s, err := reader.Find(t.Context(), m.Name)
		must(t, err)
		if s.Manifest == nil {
			if !strings.Contains(s.Problem, "damaged") {
				t.Errorf("%s: %q", what, s.Problem)
			}
		} else if _, err := in.load(reader, s.Manifest); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: load: %v, want %v", what, err, ErrDamaged)
		}
		if _, err := reader.Verify(t.Context(), m.Name); err == nil {
			t.Errorf("%s: the snapshot was verified", what)
		}
		must(t, errors.Join(os.RemoveAll(path), os.WriteFile(path, good, 0o600)))
	}
	_, err = in.openArchive(in.objects).Verify(t.Context(), m.Name)
	must(t, err)
}

// TestUnsuitableSnapshots loads a snapshot that is intact and must not be used.
func TestUnsuitableSnapshots(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, 31, 2)
	n := in.openNode(filepath.Join(t.TempDir(), "live"), places.Options{})
	defer n.close()
	if _, err := in.archive.Create(t.Context(), n.rows, contents); !errors.Is(err, ErrEmpty) {
		t.Fatalf("a snapshot of nothing: %v, want %v", err, ErrEmpty)
	}
	n.change(40)
	m, err := in.archive.Create(t.Context(), n.rows, contents)
	must(t, err)
	otherLog := func(partitions int32, seed uint64, steps int) *projectiontest.Log {
		log := projectiontest.NewLog(partitions)
		w := projectiontest.NewWorld(t, seed, partitions, in.objects)
		for range steps {
			_, records := w.Step()
			log.Add(records...)
		}
		return log
	}
	for _, c := range []struct {
		name, want string
		log        *projectiontest.Log
		change     func(*Manifest)
	}{
		{"another log", "it is of another log", otherLog(2, 32, 80), nil},
		{"a shorter log", "the log ends at", otherLog(2, 31, 3), nil},
		{"another number of partitions", "a log with 2 partitions", otherLog(3, 31, 60), nil},
		{"other rows", "schema versions", in.log, func(m *Manifest) { m.Schemas = map[string]int{"places": 1} }},
		{"another layout", "format version 7", in.log, func(m *Manifest) { m.StoreFormat = 7 }},
	} {
		a, changed := in.openArchive(in.objects), *m
		a.o.Log = c.log
		if c.change != nil {
			c.change(&changed)
		}
		if _, err := in.load(a, &changed); !errors.Is(err, ErrUnsuitable) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	later := "v3" + strings.TrimPrefix(m.Name, "v2")
	must(t, in.objects.Folder(Folder).PutBytes(t.Context(), later+manifestSuffix, []byte("a later format")))
	s, err := in.archive.Find(t.Context(), later)
	if err != nil || s.Manifest != nil || !strings.Contains(s.Problem, "format version 3, this program reads up to 2") {
		t.Errorf("a later format: %+v, %v", s, err)
	}
	in.now = in.now.Add(2 * unfinishedAge)
	if deleted, err := in.archive.Prune(t.Context(), 1); err != nil || len(deleted) > 0 {
		t.Errorf("pruned %v, %v", deleted, err)
	}
}

// TestFirstVersionIsLoaded loads a snapshot of version 1, which has no tables by partition, as a
// whole and not for a partition.
func TestFirstVersionIsLoaded(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, 41, 1) // of one partition, whose tables do not overlap in any version
	n := in.openNode(filepath.Join(t.TempDir(), "live"), places.Options{})
	defer n.close()
	n.change(60)
	m, err := in.archive.Create(t.Context(), n.rows, contents)
	must(t, err)
	first := *m
	first.Name, first.Partitions, first.Tables = "v1"+strings.TrimPrefix(m.Name, "v2"), nil, slices.Clone(m.Tables)
	folder := filepath.Join(in.dir, Folder)
	for i := range first.Tables {
		first.Tables[i].Partition, first.Tables[i].Object = nil, tableObject(first.Name, i)
		must(t, os.Link(filepath.Join(folder, m.Tables[i].Object), filepath.Join(folder, first.Tables[i].Object)))
	}
	must(t, os.Link(filepath.Join(folder, m.Name+segmentsSuffix), filepath.Join(folder, first.Name+segmentsSuffix)))
	encoded, err := encodeManifest(&first)
	must(t, err)
	must(t, in.objects.Folder(Folder).PutBytes(t.Context(), first.Name+manifestSuffix, encoded))
	s, err := in.archive.Find(t.Context(), first.Name)
	must(t, err)
	if s.Manifest == nil || !s.Manifest.IsWhole() || s.Manifest.Has(0) {
		t.Fatalf("a snapshot of version 1: %+v, %s", s.Manifest, s.Problem)
	}
	dir, err := in.load(in.archive, s.Manifest)
	must(t, err)
	loaded := in.openNode(dir, places.Options{})
	defer loaded.close()
	if diff := projectiontest.Difference(n.dump(), loaded.dump()); diff != "" {
		t.Error(diff)
	}
}

// TestPrunedByPartition checks that the newest snapshots of each partition stay, and those of all.
func TestPrunedByPartition(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, 51, 2)
	n := in.openNode(filepath.Join(t.TempDir(), "live"), places.Options{})
	defer n.close()
	n.change(20)
	create := func(partitions ...int32) string {
		in.now = in.now.Add(time.Second)
		some := contents
		some.Holds = func(p int32) bool { return slices.Contains(partitions, p) }
		if len(partitions) == 1 {
			some.Share = fmt.Sprint(partitions[0])
		}
		m, err := in.archive.Create(t.Context(), n.rows, some)
		must(t, err)
		if !slices.Equal(m.Partitions, partitions) || m.IsWhole() != (len(partitions) == 2) {
			t.Fatalf("a snapshot of %v, want %v", m.Partitions, partitions)
		}
		return m.Name
	}
	prune := func(want ...string) {
		t.Helper()
		deleted, err := in.archive.Prune(t.Context(), 1)
		must(t, err)
		if slices.Sort(deleted); !slices.Equal(deleted, want) {
			t.Errorf("pruned %v, want %v", deleted, want)
		}
	}
	whole, zero, one := create(0, 1), create(0), create(1)
	prune()
	again := create(0)
	prune(zero)
	create(0, 1)
	prune(whole, one, again)
}

// FuzzDecodeManifest checks that no bytes make a manifest panic, and that one that is
// accepted has bounds.
func FuzzDecodeManifest(f *testing.F) {
	name := newName(time.Unix(1e9, 0))
	good, err := encodeManifest(&Manifest{Name: name, Positions: []Position{{Next: 1}}, Tables: []Table{{Object: tableObject(name, 0), SizeBytes: 1, Rows: 1}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good[sealBytes:])
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := decodeManifest(name, sealBody(body))
		if err == nil && (m.Name != name || len(m.Tables) == 0 || len(m.Positions) == 0) {
			t.Errorf("accepted %s", body)
		}
	})
}
