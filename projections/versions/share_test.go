package versions

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/snapshots"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/replay"
	"github.com/quarrysearch/quarry/schemas/sharding"
)

// withShare returns the world for a process with its own projections and a share.
func (w *snapshotWorld) withShare(home, share string) *snapshotWorld {
	w.t.Helper()
	other := *w
	var err error
	other.share, err = sharding.ParseShare(share, "")
	w.must(err)
	other.home = home
	return &other
}

// TestShareIsKept opens projections of a share: they hold its places and no others, start from a
// snapshot, and delete no object of the segment store.
func TestShareIsKept(t *testing.T) {
	t.Parallel()
	w := newSnapshotWorld(t, 1)
	w.addRecords(30)
	w.createSnapshot()
	w.addRecords(30)
	for _, share := range []string{"0/1", "0", "none", ""} {
		p := w.withShare("share-"+strings.ReplaceAll(share, "/", "-"), share)
		for range 2 { // a new version, and one with rows
			from := p.follow(func(v *Versions, _ *snapshots.Archive) {
				i := v.Live()
				view := i.Places.Acquire()
				if segments, want := len(view.Segments()), share != "none"; segments > 0 != want {
					t.Errorf("share %q holds %d segments", share, segments)
				}
				view.Release()
				if i.Meta.Share != share || len(i.Catalog.Snapshot().ByName()) == 0 || (i.Eraser == nil) != (share == "none") {
					t.Errorf("share %q: a version of share %q, with %d repositories, eraser %v", share, i.Meta.Share, len(i.Catalog.Snapshot().ByName()), i.Eraser)
				}
				if deletes := v.newVersionOptions(i.Store, i.metrics).deletes; deletes != (share == "") {
					t.Errorf("share %q deletes objects: %v", share, deletes)
				}
			})
			if from == "" {
				t.Errorf("share %q started from no snapshot", share)
			}
		}
	}
}

// TestReplayOfShare replays the log in a process with a share: the rows are the same, and no previous
// version is left, in which text that is erased would stay. Moments of the past are refused.
func TestReplayOfShare(t *testing.T) {
	t.Parallel()
	w := newSnapshotWorld(t, 2)
	w.addRecords(60)
	p := w.withShare("share", "0/2")
	before, _ := p.dumpRows()
	v, _, err := p.open(t.Context(), p.objects)
	w.must(err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- v.Run(ctx) }()
	first := v.Live().Store.Dir()
	if _, err := v.Replays().Start(t.Context(), replay.Request{To: "0/1,1/1"}); !errors.Is(err, replay.ErrRefused) || !strings.Contains(err.Error(), "share") {
		t.Errorf("a moment of the past: %v, want ErrRefused for the share", err)
	}
	_, err = v.Replays().Start(t.Context(), replay.Request{})
	w.must(err)
	var list replay.List
	clocktest.WaitUntil(t, "the replay has ended", func() bool {
		list, err = v.Replays().List(t.Context())
		return err == nil && !list.Replays[0].EndedAt.IsZero()
	})
	if list.Replays[0].State != replay.Done || list.Previous != nil || v.Live().Meta.Share != "0/2" {
		t.Errorf("replay %+v, previous version %+v, of share %q", list.Replays[0], list.Previous, v.Live().Meta.Share)
	}
	if _, err := os.Stat(first); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the version before is still there: %v", err)
	}
	stop()
	w.must(<-ended)
	w.must(v.Close())
	after, _ := p.dumpRows()
	if diff := projectiontest.Difference(before, after); diff != "" {
		t.Errorf("after the replay: %s", diff)
	}
}

// createSnapshot follows the log and creates a snapshot.
func (w *snapshotWorld) createSnapshot() (m *snapshots.Manifest) {
	w.t.Helper()
	w.follow(func(v *Versions, archive *snapshots.Archive) {
		var err error
		m, err = archive.Create(w.t.Context(), v.Live().Store, v.SnapshotContents())
		w.must(err)
	})
	return m
}

// dumpRows follows the log and returns the rows, and the names of the snapshots from which the
// version has started.
func (w *snapshotWorld) dumpRows() (rows []projectiontest.Row, from string) {
	w.t.Helper()
	from = w.follow(func(v *Versions, _ *snapshots.Archive) {
		var err error
		rows, err = projectiontest.Dump(v.Live().Store)
		w.must(err)
		named, err := places.StoredSegments(v.Live().Store)
		w.must(err)
		rows = slices.DeleteFunc(rows, func(r projectiontest.Row) bool {
			return r.Key[0] == segment.KeyPrefix && !named[segment.ID(r.Key[1:1+len(segment.ID{})])]
		})
	})
	return rows, from
}

// checkReplay compares the projections with a replay of the log, row by row.
func (w *snapshotWorld) checkReplay(what string) (from string) {
	w.t.Helper()
	rows, from := w.dumpRows()
	replay := w.withShare("replay", w.share.String())
	replay.replays = true
	if w.share.IsAll() {
		replay.share = w.share
	}
	want, _ := replay.dumpRows()
	w.must(os.RemoveAll(replay.path("replay")))
	if diff := projectiontest.Difference(want, rows); diff != "" {
		w.t.Errorf("%s, share %s: differs from a replay: %s", what, w.share, diff)
	}
	if left, err := filepath.Glob(filepath.Join(w.path(w.home), "projections-*")); err != nil || len(left) != 1 {
		w.t.Errorf("%s, share %s: versions %v, %v", what, w.share, left, err)
	}
	return from
}

// movingWorld returns a world of 4 partitions with the shards 0/2 and 1/2, which have created
// snapshots at different positions.
func movingWorld(t *testing.T) (w *snapshotWorld, made []*snapshots.Manifest) {
	w = newSnapshotWorld(t, 4)
	for _, share := range []string{"0/2", "1/2"} {
		w.addRecords(40)
		made = append(made, w.withShare("shard-"+share[:1], share).createSnapshot())
	}
	w.addRecords(40)
	return w, made
}

// TestPartitionsMove starts shards of other shares, in empty directories and in those of the
// shares before, and compares each with a replay: from the snapshots of two shards at different
// positions, with and without what was kept, and without any.
func TestPartitionsMove(t *testing.T) {
	t.Parallel()
	w, made := movingWorld(t)
	if made[0].IsWhole() || made[0].Has(1) || !made[1].Has(1) {
		t.Fatalf("snapshots of %v and %v", made[0].Partitions, made[1].Partitions)
	}
	both, zero, one := made[1].Name+","+made[0].Name, made[0].Name, made[1].Name
	for _, c := range []struct{ share, from string }{
		{"0/3", both}, {"1/3", one}, {"2/3", both}, {"none", one}, {"0-3", both}, {"0/2", both}, {"", ""},
	} {
		if from := w.withShare("empty", c.share).checkReplay("an empty directory"); from != c.from {
			t.Errorf("share %q started from %q, want %q", c.share, from, c.from)
		}
		w.must(os.RemoveAll(w.path("empty")))
	}
	for _, c := range []struct{ share, from string }{
		{"0/3", one}, {"2", zero}, {"none", ""}, {"1,2", both}, {"", ""}, {"0/2", ""}, {"1/2", one}, {"0/1", zero},
	} {
		if from := w.withShare("shard-0", c.share).checkReplay("a share that has changed"); from != c.from {
			t.Errorf("share %q continued from %q, want %q", c.share, from, c.from)
		}
		w.addRecords(5)
	}
	behind := w.withShare("behind", "0/3")
	v, _, err := behind.open(t.Context(), w.objects)
	w.must(err)
	if _, err := v.Replays().Start(t.Context(), replay.Request{Projection: "places"}); err == nil || !strings.Contains(err.Error(), "has not caught up") {
		t.Errorf("the places are copied from a version whose parts have other positions: %v", err)
	}
	w.must(v.Close())
	behind.follow(func(v *Versions, _ *snapshots.Archive) {
		if ahead, err := v.Live().isAhead(); ahead || err != nil {
			t.Errorf("a version that has caught up is ahead: %v, %v", ahead, err)
		}
	})
	again := w.withShare("shard-1", "0/3")
	again.replays = true
	again.checkReplay("without snapshots")
}

// mergeSegments merges up to three segments of each partition, and has a process that holds
// everything delete those of some partitions, which no snapshot names.
func (w *snapshotWorld) mergeSegments(deleted ...int32) {
	w.t.Helper()
	w.follow(func(v *Versions, _ *snapshots.Archive) {
		var gone []segment.ID
		for p := range w.world.Partitions {
			view := v.Live().Places.Acquire()
			var inputs []segment.ID
			documents := map[code.DocumentKey]bool{}
			for _, info := range view.SegmentInfos() {
				if info.Partition != p || info.Absent || len(inputs) == 3 {
					continue
				}
				live, _, err := view.Liveness(info.ID)
				w.must(err)
				for d, k := range w.world.Segments[info.ID] {
					if live[d/64]>>(d%64)&1 != 0 {
						documents[k] = true
					}
				}
				inputs = append(inputs, info.ID)
			}
			view.Release()
			if len(inputs) == 0 {
				continue
			}
			ev, rec := w.world.Merge(p, inputs, slices.Collect(maps.Keys(documents)))
			_, err := w.log.Append(w.t.Context(), event.TopicEvents, p, rec)
			w.must(err)
			w.world.Merged(ev)
			if slices.Contains(deleted, p) {
				gone = append(gone, inputs...)
			}
		}
		w.must(v.WaitForLog(w.t.Context(), v.Live()))
		ctx, stop := context.WithCancel(w.t.Context())
		ended := make(chan error, 1)
		go func() { ended <- v.Live().Places.Run(ctx) }()
		clocktest.WaitUntil(w.t, "merged segments are deleted", func() bool {
			return !slices.ContainsFunc(gone, func(id segment.ID) bool {
				_, err := w.objects.GetBytes(ctx, segmentstore.SegmentName(id), 0)
				return !errors.Is(err, code.ErrNotFound)
			})
		})
		stop()
		w.must(<-ended)
	})
}

// TestMergedPartitionsMove moves partitions whose segments are merged, and deleted unless a snapshot
// names them.
func TestMergedPartitionsMove(t *testing.T) {
	t.Parallel()
	w := newSnapshotWorld(t, 4)
	w.addRecords(40)
	w.mergeSegments(0, 1, 2, 3)
	w.withShare("shard-0", "0/2").createSnapshot()
	w.addRecords(40)
	w.mergeSegments(1, 3)
	w.withShare("shard-1", "1/2").createSnapshot()
	w.addRecords(40)
	w.mergeSegments()
	w.addRecords(10)
	for _, c := range []struct{ home, share string }{
		{"empty", "0/3"}, {"shard-0", "0/3"}, {"shard-1", "0,1"}, {"shard-1", "2/3"}, {"shard-0", "none"}, {"shard-0", "1/2"}, {"shard-1", ""},
	} {
		w.withShare(c.home, c.share).checkReplay("merged segments")
	}
}

// TestLocalRowsAreInSnapshots checks that a snapshot of several partitions has the rows of a directory:
// the objects to delete, the segments with removed text, and the erasures.
func TestLocalRowsAreInSnapshots(t *testing.T) {
	t.Parallel()
	w := newSnapshotWorld(t, 3)
	w.addRecords(60)
	w.createSnapshot()
	w.mergeSegments() // the inputs stay for the snapshot
	for _, r := range w.world.Repositories {
		rec := w.world.Append(r.Partition, &event.ErasureRequested{Repository: r.ID, Path: "secret", At: time.Unix(1e9, 0)})
		_, err := w.log.Append(t.Context(), event.TopicEvents, r.Partition, rec)
		w.must(err)
	}
	w.addRecords(60)
	made := w.createSnapshot()
	readRows := func(home string) (rows map[string]string, kinds map[byte]int) {
		rows, kinds = map[string]string{}, map[byte]int{}
		from := w.withShare(home, "").follow(func(v *Versions, _ *snapshots.Archive) {
			it, err := v.Live().Store.Iter([]byte{byte(store.FamilyLocal)}, []byte{byte(store.FamilyLocal) + 1})
			w.must(err)
			for ok := it.First(); ok; ok = it.Next() {
				rows[string(it.Key())] = string(it.Value())
				kinds[it.Key()[1]]++
			}
			w.must(it.Close())
		})
		if home != w.home && from != made.Name {
			t.Errorf("started from %q, want %s", from, made.Name)
		}
		return rows, kinds
	}
	want, kinds := readRows(w.home)
	if kinds['e'] == 0 || kinds['r'] == 0 || kinds['x'] == 0 {
		t.Fatalf("rows by kind: %v", kinds)
	}
	if got, kinds := readRows("copy"); !maps.Equal(got, want) {
		t.Errorf("%d local rows, by kind %v, are not the %d of the process that created the snapshot", len(got), kinds, len(want))
	}
}

// TestPartitionsMoveOverFailures interrupts a change of the share at each object that it fetches,
// which leaves the old version live, and between the switch to the new version and the removal
// of the old one; and damages a snapshot, which is then not used.
func TestPartitionsMoveOverFailures(t *testing.T) {
	t.Parallel()
	w, made := movingWorld(t)
	moved := w.withShare("shard-0", "0/3")
	left := 0
	for ; ; left++ {
		ctx, cancel := context.WithCancel(t.Context())
		interrupted := &interruptedStore{Driver: w.objects, cancel: cancel}
		interrupted.left.Store(int64(left))
		home, err := projections.OpenHome(moved.path(moved.home))
		w.must(err)
		before, err := home.Current()
		w.must(err)
		killed, err := home.Next()
		w.must(err)
		w.must(projections.WriteMeta(killed, projections.Meta{Share: "0/3"}))
		v, _, err := moved.open(ctx, interrupted)
		cancel()
		if err == nil {
			w.must(v.Close())
			break
		}
		if _, err := os.Stat(killed); err == nil {
			t.Fatalf("after %d objects, %s of a process that was killed is left", left, killed)
		}
		current, err := home.Current()
		w.must(err)
		if meta, err := projections.ReadMeta(current); err != nil || current != before || meta.Share != "0/2" {
			t.Fatalf("after %d objects, the live version is %s of share %q: %v", left, current, meta.Share, err)
		}
	}
	if left < 2 {
		t.Errorf("the partition was fetched with %d objects", left)
	}
	if from := moved.checkReplay("after interruptions"); from != made[1].Name {
		t.Errorf("continued from %q, want %q", from, made[1].Name)
	}

	home, err := projections.OpenHome(moved.path(moved.home))
	w.must(err)
	next, err := home.Next()
	w.must(err)
	w.must(projections.WriteMeta(next, projections.Meta{Share: "0/2"}))
	current, err := home.Current()
	w.must(err)
	w.must(os.WriteFile(filepath.Join(home.Dir(), "CURRENT"), []byte(filepath.Base(current)+"\n"+filepath.Base(next)+"\n"), 0o600))
	moved.checkReplay("with the version of the share before")

	tables, err := filepath.Glob(filepath.Join(w.path("segments"), snapshots.Folder, made[1].Name+".table-*"))
	w.must(err)
	for _, table := range tables {
		w.must(os.Remove(table))
	}
	if from := w.withShare("new", "0/3").checkReplay("with a damaged snapshot"); from != made[0].Name {
		t.Errorf("started from %q, want %q", from, made[0].Name)
	}
}

// TestWholeProcessUsesNoSnapshotOfAShare has a shard of all partitions create a snapshot, which
// lacks the objects that a process without a share has to delete.
func TestWholeProcessUsesNoSnapshotOfAShare(t *testing.T) {
	t.Parallel()
	w := newSnapshotWorld(t, 2)
	w.addRecords(80)
	m := w.withShare("shard", "0-1").createSnapshot()
	if !m.Has(0) || !m.Has(1) {
		t.Fatalf("the snapshot has the partitions %v", m.Partitions)
	}
	if from := w.withShare("whole", "").checkReplay("a snapshot of a share"); from != "" {
		t.Errorf("a process with all partitions started from %s, which a shard has created", from)
	}
	if from := w.withShare("other", "0/1").checkReplay("a snapshot of a share"); from != m.Name {
		t.Errorf("a shard started from %q, want %s", from, m.Name)
	}
}
