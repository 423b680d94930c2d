package repartition_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/compactor"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/pipeline/repartition"
	"github.com/quarrysearch/quarry/pipeline/worker"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/snapshots"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/erasure"
	"github.com/quarrysearch/quarry/schemas/event"
)

var logger = slog.New(slog.DiscardHandler)

// oldLog is the log of a world, whose workers have handled the records below committed.
type oldLog struct {
	eventlog.Log
	records   *projectiontest.Log
	accounts  *projectiontest.Log
	committed []event.Offset
}

// of returns the records of a topic.
func (l *oldLog) of(topic event.Topic) *projectiontest.Log {
	if topic == event.TopicEvents {
		return l.records
	}
	return l.accounts
}

func (l *oldLog) Partitions(ctx context.Context, topic event.Topic) (int32, error) {
	return l.of(topic).Partitions(ctx, topic)
}

func (l *oldLog) HighWater(ctx context.Context, topic event.Topic) ([]event.Offset, error) {
	return l.of(topic).HighWater(ctx, topic)
}

func (l *oldLog) Tail(ctx context.Context, topic event.Topic, partition int32, from event.Offset) (event.Reader, error) {
	return l.of(topic).Tail(ctx, topic, partition, from)
}

func (l *oldLog) Committed(ctx context.Context, _ string, topic event.Topic) ([]event.Offset, error) {
	if l.committed != nil {
		return l.committed, nil
	}
	return l.records.HighWater(ctx, topic)
}

// installation is a world with a random history, its log and segment store, and a data
// directory.
type installation struct {
	t       *testing.T
	world   *projectiontest.World
	log     *oldLog
	objects segmentstore.Store
	home    *projections.Home
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newInstallation returns an installation with a history of random steps, some of which
// merge segments.
func newInstallation(t *testing.T, seed uint64, partitions int32, steps int) *installation {
	t.Helper()
	objects := must[segmentstore.Driver](t)(segmentstore.OpenDirectory(filepath.Join(t.TempDir(), "segments")))
	in := &installation{
		t: t, world: projectiontest.NewWorld(t, seed, partitions, objects), log: &oldLog{records: projectiontest.NewLog(partitions), accounts: projectiontest.NewLog(1)}, objects: objects,
		home: must[*projections.Home](t)(projections.OpenHome(filepath.Join(t.TempDir(), "projections"))),
	}
	for n := range 6 {
		in.log.records.Add(in.world.Register(n))
	}
	for i := range steps {
		_, records := in.world.Step()
		in.log.records.Add(records...)
		in.addExtras(i)
		if i%20 == 19 {
			in.merge()
		}
	}
	in.repair()
	in.apply()
	return in
}

// addExtras sets the submodules, the pins or a precise index of a repository, at step i.
func (in *installation) addExtras(i int) {
	ids := slices.Sorted(maps.Keys(in.world.Repositories))
	if len(ids) == 0 || i%3 > 0 {
		return
	}
	r := in.world.Repositories[ids[i%len(ids)]]
	commit, at := code.CommitID(fmt.Sprintf("%040x", i+1)), time.Unix(int64(1_800_000_000+i), 0).UTC()
	extras := []event.Event{
		&event.SubmodulesListed{
			Repository: r.ID, Submodules: []code.Submodule{{CloneURL: fmt.Sprintf("https://host/sub%d.git", i), Commit: commit}},
			Cause: event.Position{Topic: event.TopicEvents, Partition: r.Partition, Offset: 1}, At: at,
		},
		&event.PinsChanged{Repository: r.ID, Commits: []code.CommitID{commit}, At: at},
		&event.ScipUploaded{
			Repository: r.ID, Commit: commit, Path: fmt.Sprint("p", i%5), Object: segmentstore.ScipName(r.ID, string(commit[8:])), SizeBytes: 7, Documents: 1,
			Tool: "scip-go", ToolVersion: "1", Keep: 3, At: at,
		},
	}
	in.log.records.Add(in.world.Append(r.Partition, extras[i/3%len(extras)]))
}

// repair announces every ref in full, because some events of a world cannot be applied.
func (in *installation) repair() {
	for _, id := range slices.Sorted(maps.Keys(in.world.Repositories)) {
		r := in.world.Repositories[id]
		for _, ref := range slices.Sorted(maps.Keys(r.Refs)) {
			in.log.records.Add(in.world.Index(r, ref, r.Refs[ref].Files, nil, func(k code.DocumentKey) bool { return in.world.Held[r.Partition][k] > 0 })...)
		}
	}
}

// apply applies the log to new projections.
func (in *installation) apply() {
	in.t.Helper()
	must[string](in.t)(projections.Replay(in.t.Context(), projections.ReplayOptions{Home: in.home, Log: in.log, Objects: in.objects, Open: in.openRows}))
	check(in.t, in.home.Clean())
}

func (in *installation) openRows(ctx context.Context, s *store.Store, d *projections.Decoder) ([]projections.Projection, func(), error) {
	return versions.OpenRows(ctx, s, in.objects, d, logger)
}

// withView calls use with the projections in a directory.
func (in *installation) withView(dir string, use func(*catalog.Snapshot, *places.View)) {
	in.t.Helper()
	rows := must[*store.Store](in.t)(store.Open(dir, store.Options{}))
	all, closeRows, err := in.openRows(in.t.Context(), rows, projections.NewDecoder(in.objects))
	check(in.t, err)
	view := all[1].(*places.Places).Acquire()
	use(all[0].(*catalog.Catalog).Snapshot(), view)
	view.Release()
	closeRows()
	check(in.t, rows.Close())
}

// merge merges two segments of a partition, without their dead documents.
func (in *installation) merge() {
	in.apply()
	partition := int32(in.world.Rand.IntN(int(in.world.Partitions)))
	var inputs []segment.ID
	var documents []code.DocumentKey
	in.withView(must[string](in.t)(in.home.Current()), func(_ *catalog.Snapshot, view *places.View) {
		for _, info := range view.SegmentInfos() {
			if info.Partition != partition || info.Absent || len(inputs) == 2 {
				continue
			}
			live, _, err := view.Liveness(info.ID)
			check(in.t, err)
			for d, k := range in.world.Segments[info.ID] {
				if live[d/64]>>(d%64)&1 != 0 && !slices.Contains(documents, k) {
					documents = append(documents, k)
				}
			}
			inputs = append(inputs, info.ID)
		}
	})
	if len(inputs) == 2 && len(documents) > 0 {
		ev, rec := in.world.Merge(partition, inputs, documents)
		in.log.records.Add(rec)
		in.world.Merged(ev)
	}
}

func (in *installation) open() (*repartition.Source, error) {
	return repartition.Open(in.t.Context(), repartition.SourceOptions{Home: in.home, Log: in.log, Objects: in.objects, PartitionOf: projectiontest.PartitionOf, Logger: logger})
}

// write writes the state as a new log.
func (in *installation) write(partitions int32) (*embeddedlog.Log, repartition.Result) {
	in.t.Helper()
	source := must[*repartition.Source](in.t)(in.open())
	log := in.newLog(partitions)
	result := must[repartition.Result](in.t)(source.Write(in.t.Context(), repartition.Options{Log: log, TempDir: in.t.TempDir()}))
	check(in.t, source.Close())
	return log, result
}

// build applies a new log to projections, and compares them.
func (in *installation) build(log eventlog.Log) (dir string, err error) {
	source := must[*repartition.Source](in.t)(in.open())
	defer func() { check(in.t, source.Close()) }()
	return source.Build(in.t.Context(), log, nil)
}

func (in *installation) newLog(partitions int32) *embeddedlog.Log {
	in.t.Helper()
	log := must[*embeddedlog.Log](in.t)(embeddedlog.Open(filepath.Join(in.t.TempDir(), "log"), embeddedlog.Options{Partitions: partitions, MinFreeBytes: 1}))
	in.t.Cleanup(func() { check(in.t, log.Close()) })
	return log
}

// readAll returns the records of a log.
func readAll(t *testing.T, log eventlog.Log) (all []event.Record) {
	t.Helper()
	for p, end := range must[[]event.Offset](t)(log.HighWater(t.Context(), event.TopicEvents)) {
		for rec, err := range event.ReadRange(t.Context(), log, event.TopicEvents, int32(p), 0, end) {
			check(t, err)
			all = append(all, rec)
		}
	}
	return all
}

func sameRecord(a, b event.Record) bool {
	return a.Position == b.Position && a.Time.Equal(b.Time) && bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Value, b.Value) &&
		slices.EqualFunc(a.Headers, b.Headers, func(a, b event.Header) bool { return a.Name == b.Name && bytes.Equal(a.Value, b.Value) })
}

// TestWrite writes the states of random histories as logs with more and fewer partitions, and
// compares the projections of each with the model of the world: repositories, refs, files and
// texts. A second Write of the same state gives the same records.
func TestWrite(t *testing.T) {
	for seed, c := range []struct{ from, to int32 }{{1, 4}, {4, 3}, {3, 1}, {2, 5}} {
		t.Run(fmt.Sprintf("%d to %d", c.from, c.to), func(t *testing.T) {
			t.Parallel()
			in := newInstallation(t, uint64(seed), c.from, 120)
			log, result := in.write(c.to)
			dir := must[string](t)(in.build(log))
			again, _ := in.write(c.to)
			if !slices.EqualFunc(readAll(t, log), readAll(t, again), sameRecord) {
				t.Error("a second log of the same state has other records")
			}
			files, extras := 0, [3]int{}
			in.withView(dir, func(known *catalog.Snapshot, view *places.View) {
				for _, r := range known.ByName() {
					extras[0] += len(r.ListedSubmodules)
					extras[1] += len(r.Pins)
					extras[2] += len(r.ScipUploads)
				}
				if known.Len() != len(in.world.Repositories) || result.Repositories != known.Len() {
					t.Errorf("%d repositories, %d written, want %d", known.Len(), result.Repositories, len(in.world.Repositories))
				}
				for id, want := range in.world.Repositories {
					files += in.compareRepository(want, view.Repository(id), view, c.to)
				}
			})
			if slices.Contains(extras[:], 0) {
				t.Errorf("%v submodules, pins and precise indexes: the history is too small", extras)
			}
			if files < 50 || result.Documents < 20 || result.Refs < 8 {
				t.Errorf("%d files, %+v: the history is too small", files, result)
			}
			ends := must[[]event.Offset](t)(log.HighWater(t.Context(), event.TopicEvents))
			for _, group := range []string{worker.DefaultGroup, compactor.DefaultGroup, projections.Group} {
				if got := must[[]event.Offset](t)(log.Committed(t.Context(), group, event.TopicEvents)); !slices.Equal(got, ends) {
					t.Errorf("%s has committed %v, want the ends %v", group, got, ends)
				}
			}
		})
	}
}

// compareRepository compares a repository with that of the world, and returns the number of
// its files.
func (in *installation) compareRepository(want *projectiontest.Repository, got *places.Repository, view *places.View, partitions int32) (files int) {
	t := in.t
	if got == nil || got.Partition != eventlog.PartitionOf(event.RecordKey(want.ID), partitions) || got.Name != want.Name ||
		got.DisplayName != want.DisplayName || got.DefaultBranch != want.DefaultBranch || len(got.Refs) != len(want.Refs) {
		t.Fatalf("%+v, want %+v", got, want)
	}
	for name, ref := range want.Refs {
		left := maps.Clone(ref.Files)
		err := view.Files(t.Context(), want.ID, name, "", func(p places.Place) bool {
			f := left[p.Path]
			delete(left, p.Path)
			files++
			if f.Key != p.Document || f.Flags != p.Flags || f.Size != p.SizeBytes || f.Skipped != p.Skipped {
				t.Errorf("%s of %s: %+v, want %+v", p.Path, name, p, f)
			}
			check(t, view.Locate(want.ID, &p))
			if p.Reader != nil {
				if text := must[[]byte](t)(p.Reader.Text(p.Number, nil)); !bytes.Equal(text, in.world.Text(f.Key)) {
					t.Errorf("%s of %s has the text %q", p.Path, name, text)
				}
			} else if p.Skipped == "" {
				t.Errorf("no segment holds %s of %s", p.Path, name)
			}
			return true
		})
		check(t, err)
		if len(left) > 0 || got.Ref(name).Commit != ref.Commit {
			t.Errorf("%s is at %s without %v, want %s", name, got.Ref(name).Commit, left, ref.Commit)
		}
	}
	return files
}

// deletingStore sends the names of deleted objects, and the errors of those that stay.
type deletingStore struct {
	segmentstore.Store
	deleted chan string
}

func (d *deletingStore) Delete(ctx context.Context, name string) error {
	err := d.Store.Delete(ctx, name)
	if err != nil {
		name = err.Error()
	}
	d.deleted <- name
	return err
}

// TestOldSegmentsAreDeleted opens the new projections as a server does. It deletes the objects
// of the old segments, which a snapshot named, and no new ones. Until then, an erasure in any
// partition waits for them. No mark of a merge of the old log is left.
func TestOldSegmentsAreDeleted(t *testing.T) {
	in := newInstallation(t, 11, 1, 40)
	in.addLargeRevision()
	old := map[string]bool{}
	current := must[string](t)(in.home.Current())
	in.withView(current, func(_ *catalog.Snapshot, view *places.View) {
		for _, info := range view.SegmentInfos() {
			old[segmentstore.SegmentName(info.ID)] = true
		}
	})
	if len(old) < 5 {
		t.Fatalf("%d old segments: the history is too small", len(old))
	}
	archive := snapshots.New(snapshots.Options{
		Store: in.objects.(segmentstore.Driver), Log: in.log, TempDir: t.TempDir(), Creator: "test", Logger: logger, Now: time.Now,
	})
	rows := must[*store.Store](t)(store.Open(current, store.Options{}))
	must[*snapshots.Manifest](t)(archive.Create(t.Context(), rows, snapshots.Contents{
		Edit: places.SnapshotRow, Segments: places.StoredSegments,
		Ranges: func(r store.Reader, n int32) (func(int32) []store.Range, error) {
			return places.PartitionRanges(r, func(id code.RepositoryID) int32 { return projectiontest.PartitionOf(id, n) })
		},
	}))
	check(t, rows.Close())
	mark := segmentstore.MergeName(event.Position{Topic: event.TopicEvents, Partition: 1, Offset: 7})
	check(t, in.objects.PutBytes(t.Context(), mark, []byte("applied\n")))
	manifest := segmentstore.ManifestName(strings.Repeat("a", 32))
	check(t, in.objects.PutBytes(t.Context(), manifest, []byte("paths")))

	source, log := must[*repartition.Source](t)(in.open()), in.newLog(2)
	result := must[repartition.Result](t)(source.Write(t.Context(), repartition.Options{Log: log, TempDir: t.TempDir()}))
	dir := must[string](t)(source.Build(t.Context(), log, nil))
	check(t, source.ForgetOldLog(t.Context(), archive))
	check(t, source.Close())
	for _, name := range []string{mark, manifest} {
		if _, err := in.objects.GetBytes(t.Context(), name, 100); !errors.Is(err, code.ErrNotFound) {
			t.Errorf("%s of the old log: %v, want ErrNotFound", name, err)
		}
	}
	manifests := 0
	for _, rec := range readAll(t, log) {
		if _, ev, err := event.Decode(rec); err == nil && event.TypeOf(rec) == event.TypeRevisionIndexed && ev.(*event.RevisionIndexed).ChangesObject != "" {
			manifests++
			must[[]byte](t)(in.objects.GetBytes(t.Context(), ev.(*event.RevisionIndexed).ChangesObject, segmentstore.MaxEncodedChangesBytes))
		}
	}
	if manifests == 0 {
		t.Error("the new log names no list of changes")
	}
	rows = must[*store.Store](t)(store.Open(dir, store.Options{}))
	objects := &deletingStore{Store: archive.Guard(), deleted: make(chan string, 1000)}
	p := must[*places.Places](t)(places.Open(t.Context(), places.Options{Store: rows, Decoder: projections.NewDecoder(in.objects), Objects: objects, DeleteObjects: true}))
	for partition := range int32(2) {
		asked := erasure.Erasure{At: event.Position{Topic: event.TopicEvents, Partition: partition, Offset: 1000}, RequestedAt: time.Now()}
		if n := p.ErasureSegments(asked); n < len(old) {
			t.Errorf("an erasure in partition %d waits for %d segments, want the %d old ones", partition, n, len(old))
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	for len(old) > 0 {
		name := <-objects.deleted
		if !old[name] && !segmentstore.IsMergeName(name) {
			t.Fatalf("%s is no old segment that was deleted", name)
		}
		delete(old, name)
	}
	stop()
	check(t, <-ended)
	named := must[map[segment.ID]bool](t)(p.NamedSegments())
	if len(named) != result.Segments {
		t.Errorf("%d segments are named, want the %d new ones", len(named), result.Segments)
	}
	p.Close()
	check(t, rows.Close())
}

// addLargeRevision indexes a revision whose list of changes is an object.
func (in *installation) addLargeRevision() {
	files := map[string]projectiontest.File{}
	for i := range event.MaxInlineChanges + 1 {
		files[fmt.Sprintf("many/%d", i)] = projectiontest.File{Key: in.world.Document(i % 20)}
	}
	largest := in.world.Repositories[slices.Min(slices.Collect(maps.Keys(in.world.Repositories)))]
	in.log.records.Add(in.world.Index(largest, "refs/heads/many", files, nil, func(code.DocumentKey) bool { return false })...)
	in.apply()
}

var errKilled = errors.New("killed")

// dyingStore fails from its nth write on, in place of it or after it.
type dyingStore struct {
	segmentstore.Store
	left  int
	after bool
}

func (d *dyingStore) write(do func() error) error {
	if d.left--; d.left < 0 && !d.after {
		return errKilled
	}
	err := do()
	if d.left < 0 {
		return errKilled
	}
	return err
}

func (d *dyingStore) Put(ctx context.Context, name, path string) error {
	return d.write(func() error { return d.Store.Put(ctx, name, path) })
}

func (d *dyingStore) PutBytes(ctx context.Context, name string, b []byte) error {
	return d.write(func() error { return d.Store.PutBytes(ctx, name, b) })
}

// TestKilledAtEveryWrite ends Write at each object that it stores. Another Write gives the
// records of one that was never interrupted, and the source is as before.
func TestKilledAtEveryWrite(t *testing.T) {
	in := newInstallation(t, 7, 1, 60)
	in.addLargeRevision()
	log, _ := in.write(4)
	want := readAll(t, log)
	objects := in.objects
	for _, after := range []bool{false, true} {
		kills := 0
		for ; ; kills++ {
			in.objects = &dyingStore{Store: objects, left: kills, after: after}
			source := must[*repartition.Source](t)(in.open())
			_, err := source.Write(t.Context(), repartition.Options{Log: in.newLog(4), TempDir: t.TempDir()})
			check(t, source.Close())
			if err == nil {
				break
			}
			if !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
		}
		if kills < 4 { // segments, and the list of changes
			t.Errorf("killed at %d objects: the history is too small", kills)
		}
	}
	in.objects = objects
	log, _ = in.write(4)
	if !slices.EqualFunc(readAll(t, log), want, sameRecord) {
		t.Error("the log after kills has other records")
	}
	must[string](t)(in.build(log))
}

// TestDifferences expects a log that lacks a record, or whose segment lacks a document, not to
// pass for the state of the source.
func TestDifferences(t *testing.T) {
	in := newInstallation(t, 3, 2, 60)
	log, _ := in.write(3)
	all := readAll(t, log)
	for _, kind := range []event.Type{event.TypeRepositoryRegistered, event.TypeRevisionIndexed} {
		lacking := in.newLog(3)
		skip := slices.IndexFunc(all, func(rec event.Record) bool { return event.TypeOf(rec) == kind })
		for i, rec := range all {
			if i == skip {
				rec = event.Record{Key: rec.Key, Time: rec.Time} // keeps the offsets of the others
			}
			must[[]event.Position](t)(lacking.Import(t.Context(), event.TopicEvents, rec.Position.Partition, rec))
		}
		if _, err := in.build(lacking); !errors.Is(err, repartition.ErrDifferent) {
			t.Errorf("without a %s: %v, want ErrDifferent", kind, err)
		}
	}
	for object, err := range in.objects.List(t.Context()) {
		check(t, err)
		id, isSegment := segmentstore.ParseSegmentName(object.Name)
		if isSegment && slices.ContainsFunc(all, func(rec event.Record) bool { return bytes.Contains(rec.Value, []byte(id.String())) }) {
			check(t, in.objects.Delete(t.Context(), object.Name))
		}
	}
	if _, err := in.build(log); !errors.Is(err, repartition.ErrDifferent) {
		t.Errorf("without segments: %v, want ErrDifferent", err)
	}
}

// TestPending expects pushes that no worker has handled at the end of the new log, after the
// committed offset of the workers, and other work to be refused.
func TestPending(t *testing.T) {
	in := newInstallation(t, 5, 1, 40)
	ends := must[[]event.Offset](t)(in.log.HighWater(t.Context(), event.TopicEvents))
	var pushes []event.Record
	for _, id := range slices.Sorted(maps.Keys(in.world.Repositories)) {
		rec := in.world.Append(0, &event.Push{Repository: id, Ref: "refs/heads/new", Action: event.ActionUpdated, ReceivedAt: time.Unix(1, 0)})
		in.log.records.Add(rec)
		pushes = append(pushes, rec)
	}
	if _, err := in.open(); !errors.Is(err, repartition.ErrNotReady) || !strings.Contains(err.Error(), "start a server with this data directory") {
		t.Errorf("projections that lag: %v", err)
	}
	in.apply()
	in.log.committed = ends
	log, result := in.write(4)
	if result.Pushes != len(pushes) {
		t.Errorf("%d pushes, want %d", result.Pushes, len(pushes))
	}
	from := must[[]event.Offset](t)(log.Committed(t.Context(), worker.DefaultGroup, event.TopicEvents))
	for _, rec := range readAll(t, log) {
		isPush := event.TypeOf(rec) == event.TypePush
		if isPush != (rec.Position.Offset >= from[rec.Position.Partition]) {
			t.Errorf("%s at %s, and the workers begin at %v", event.TypeOf(rec), rec.Position, from)
		}
		if isPush && !slices.ContainsFunc(pushes, func(p event.Record) bool {
			return bytes.Equal(p.Key, rec.Key) && bytes.Equal(p.Value, rec.Value) && rec.Position.Partition == eventlog.PartitionOf(p.Key, 4)
		}) {
			t.Errorf("%s is no push of the old log", rec.Position)
		}
	}
	in.log.records.Add(in.world.Register(0))
	in.apply()
	const refused = "the workers have not handled the record"
	if _, err := in.open(); !errors.Is(err, repartition.ErrNotReady) || !strings.Contains(err.Error(), refused) {
		t.Errorf("a registration that waits: %v", err)
	}
	in.log.committed = must[[]event.Offset](t)(in.log.HighWater(t.Context(), event.TopicEvents))
	large := make([]byte, 1<<20)
	for range 70 { // 70 MiB
		rec := in.world.Append(0, &event.Push{Repository: 1, Ref: "refs/heads/new", Action: event.ActionUpdated, ReceivedAt: time.Unix(1, 0)})
		rec.Value = large
		in.log.records.Add(rec)
	}
	in.apply()
	if _, err := in.open(); !errors.Is(err, repartition.ErrNotReady) || !strings.Contains(err.Error(), refused) {
		t.Errorf("pushes of 70 MiB that wait: %v", err)
	}
}

// TestSecondMove expects the projections of a move that is complete to be refused with the old
// log.
func TestSecondMove(t *testing.T) {
	in := newInstallation(t, 6, 1, 40)
	log, _ := in.write(4)
	dir := must[string](t)(in.build(log))
	check(t, in.home.Switch(dir))
	if meta := must[projections.Meta](t)(projections.ReadMeta(dir)); meta.Partitions != 4 {
		t.Errorf("%+v, want 4 partitions", meta)
	}
	if _, err := in.open(); !errors.Is(err, repartition.ErrNotReady) || !strings.Contains(err.Error(), "the new log is complete") {
		t.Errorf("%v, want ErrNotReady", err)
	}
}

// TestGrownSource expects a record that comes into the old log during a move to be noticed,
// before the copy and after it.
func TestGrownSource(t *testing.T) {
	in := newInstallation(t, 8, 1, 40)
	source := must[*repartition.Source](t)(in.open())
	log := in.newLog(4)
	must[repartition.Result](t)(source.Write(t.Context(), repartition.Options{Log: log, TempDir: t.TempDir()}))
	in.log.records.Add(in.world.Register(0))
	if _, err := source.Build(t.Context(), log, nil); !errors.Is(err, repartition.ErrNotReady) || !strings.Contains(err.Error(), "the old log has grown") {
		t.Errorf("before the copy: %v, want ErrNotReady", err)
	}
	if err := source.ForgetOldLog(t.Context(), nil); !errors.Is(err, repartition.ErrNotReady) {
		t.Errorf("after the copy: %v, want ErrNotReady", err)
	}
	check(t, source.Close())
}

// TestGrownAccounts expects the same records after other topics of the old log have grown, so that
// a move that was interrupted goes on.
func TestGrownAccounts(t *testing.T) {
	in := newInstallation(t, 8, 1, 40)
	before, _ := in.write(4)
	in.log.accounts.Add(event.Record{Position: event.Position{Topic: event.TopicAccounts}, Time: time.Now()})
	after, _ := in.write(4)
	if !slices.EqualFunc(readAll(t, before), readAll(t, after), sameRecord) {
		t.Error("the new log has other records after a record about accounts")
	}
}

// TestSourceIsNotReady expects projections whose state is not that of the log to be refused.
func TestSourceIsNotReady(t *testing.T) {
	in := newInstallation(t, 9, 1, 30)
	repositories := slices.Sorted(maps.Keys(in.world.Repositories))
	broken := in.world.Repositories[repositories[slices.IndexFunc(repositories, func(id code.RepositoryID) bool { return len(in.world.Repositories[id].Refs) > 0 })]]
	in.log.records.Add(in.world.WrongBase(broken, slices.Sorted(maps.Keys(broken.Refs))[0])...)
	in.apply()
	if _, err := in.open(); !errors.Is(err, repartition.ErrNotReady) || !strings.Contains(err.Error(), "refs have an event that could not be applied") {
		t.Errorf("a broken ref: %v", err)
	}
	in.repair()
	in.log.records.Add(in.world.Append(0, &event.ErasureRequested{Repository: repositories[0], Path: "a", At: time.Unix(1, 0)}))
	in.apply()
	if _, err := in.open(); !errors.Is(err, repartition.ErrNotReady) || !strings.Contains(err.Error(), "is in progress") {
		t.Errorf("an erasure in progress: %v", err)
	}
}
