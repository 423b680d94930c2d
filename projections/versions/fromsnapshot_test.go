package versions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/snapshots"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/sharding"
)

// trimmedLog is a log without the records of quarry.events below first.
type trimmedLog struct {
	eventlog.Log
	first event.Offset
}

// Tail implements eventlog.Log.
func (l *trimmedLog) Tail(ctx context.Context, topic event.Topic, partition int32, from event.Offset) (eventlog.Reader, error) {
	if topic == event.TopicEvents && from < l.first {
		end, err := l.Log.HighWater(ctx, topic)
		return nil, errors.Join(err, &event.RangeError{First: l.first, End: end[partition]})
	}
	return l.Log.Tail(ctx, topic, partition, from)
}

// interruptedStore cancels a process when it fetches its last object.
type interruptedStore struct {
	segmentstore.Driver
	left   atomic.Int64
	cancel context.CancelFunc
}

// Fetch implements segmentstore.Store.
func (s *interruptedStore) Fetch(ctx context.Context, name, path string) error {
	if s.left.Add(-1) < 0 {
		s.cancel()
		return ctx.Err()
	}
	return s.Driver.Fetch(ctx, name, path)
}

// snapshotWorld is a data directory whose projections are opened again and again.
type snapshotWorld struct {
	t       *testing.T
	dir     string
	log     *trimmedLog
	objects segmentstore.Driver
	world   *projectiontest.World
	share   sharding.Share
	// home is the name of the directory of the projections.
	home string
	// replays is set if the projections use no snapshots.
	replays bool
}

func (w *snapshotWorld) path(name string) string { return filepath.Join(w.dir, name) }

func (w *snapshotWorld) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *snapshotWorld) addRecords(steps int) {
	for range steps {
		_, records := w.world.Step()
		if len(records) > 0 {
			for _, rec := range records {
				_, err := w.log.Append(w.t.Context(), event.TopicEvents, rec.Position.Partition, rec)
				w.must(err)
			}
		}
	}
}

// open opens the projections, with the archive of their snapshots.
func (w *snapshotWorld) open(ctx context.Context, objects segmentstore.Driver) (*Versions, *snapshots.Archive, error) {
	home, err := projections.OpenHome(w.path(w.home))
	w.must(err)
	archive := snapshots.New(snapshots.Options{
		Store: objects, Log: w.log, TempDir: w.path("tmp"), Creator: "test", Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	frames := segment.NewCache(1 << 20)
	w.t.Cleanup(func() { w.must(frames.Close()) })
	o := Options{
		Home: home, Log: w.log, DataDir: w.dir, TempDir: w.path("tmp"), BlocksBytes: 1 << 20, LogDir: w.path("log"), Objects: archive.Guard(), Snapshots: archive, Frames: frames,
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Share: w.share, PartitionOf: projectiontest.PartitionOf,
	}
	if w.replays {
		o.Snapshots = nil
	}
	v, err := Open(ctx, o)
	return v, archive, err
}

// follow opens the projections, follows the log to its end, calls f and closes them. It
// returns the snapshot from which they have started, or an empty string.
func (w *snapshotWorld) follow(f func(*Versions, *snapshots.Archive)) string {
	w.t.Helper()
	v, archive, err := w.open(w.t.Context(), w.objects)
	w.must(err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- v.Live().Runner.Run(ctx) }()
	w.must(v.WaitForLog(w.t.Context(), v.Live()))
	if f != nil {
		f(v, archive)
	}
	meta, err := projections.ReadMeta(v.Live().Store.Dir())
	w.must(err)
	stop()
	w.must(<-ended)
	w.must(v.Close())
	return meta.Snapshot
}

// newSnapshotWorld returns a directory with a log of some partitions and a random world.
func newSnapshotWorld(t *testing.T, partitions int32) *snapshotWorld {
	w := &snapshotWorld{t: t, dir: t.TempDir(), home: "projections"}
	log, err := embeddedlog.Open(w.path("log"), embeddedlog.Options{Partitions: partitions})
	w.must(err)
	t.Cleanup(func() { w.must(log.Close()) })
	w.log = &trimmedLog{Log: log}
	w.objects, err = segmentstore.OpenDirectory(w.path("segments"))
	w.must(err)
	w.world = projectiontest.NewWorld(t, 5, partitions, w.objects)
	return w
}

// TestOtherNumberOfPartitions expects projections of a log with another number of partitions to
// be refused: their positions mean other records.
func TestOtherNumberOfPartitions(t *testing.T) {
	t.Parallel()
	w := newSnapshotWorld(t, 1)
	w.addRecords(30)
	w.follow(nil)
	other := newSnapshotWorld(t, 4)
	w.log = other.log
	v, _, err := w.open(t.Context(), w.objects)
	if err == nil {
		err = v.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "they are of another log; remove "+w.path("projections")) {
		t.Errorf("%v, want a refusal", err)
	}
}

// TestStartsFromASnapshotIfBehind opens projections that lack records which the log still
// has, records which it no longer has, and all records; and ends a process at each object
// that it fetches, which leaves the projections as they were.
func TestStartsFromASnapshotIfBehind(t *testing.T) {
	t.Parallel()
	w := newSnapshotWorld(t, 1)
	w.addRecords(20)
	if from := w.follow(nil); from != "" {
		t.Fatalf("started from %s, and there is none", from)
	}
	old := filepath.Join(t.TempDir(), "old")
	w.must(os.CopyFS(old, os.DirFS(w.path("projections"))))
	w.addRecords(20)
	var made *snapshots.Manifest
	w.follow(func(v *Versions, archive *snapshots.Archive) {
		var err error
		made, err = archive.Create(t.Context(), v.Live().Store, v.SnapshotContents())
		w.must(err)
	})
	w.addRecords(20)
	restoreOld := func() {
		w.must(os.RemoveAll(w.path("projections")))
		w.must(os.CopyFS(w.path("projections"), os.DirFS(old)))
	}

	restoreOld()
	if from := w.follow(nil); from != "" {
		t.Errorf("started from %s, and the log has what is missing", from)
	}
	restoreOld()
	w.log.first = made.Positions[0].Next - 1
	if from := w.follow(nil); from != made.Name {
		t.Errorf("started from %q, and the log lacks records; want %s", from, made.Name)
	}
	if left, err := filepath.Glob(filepath.Join(w.path("projections"), "projections-*")); err != nil || len(left) != 1 {
		t.Errorf("the old version stays: %v, %v", left, err)
	}

	w.must(os.RemoveAll(w.path("projections")))
	for left := 0; ; left++ {
		ctx, cancel := context.WithCancel(t.Context())
		interrupted := &interruptedStore{Driver: w.objects, cancel: cancel}
		interrupted.left.Store(int64(left))
		v, _, err := w.open(ctx, interrupted)
		cancel()
		if err == nil {
			w.must(v.Close())
			if left < 3 {
				t.Errorf("a snapshot was loaded with %d objects", left)
			}
			break
		}
		home, err := projections.OpenHome(w.path("projections"))
		w.must(err)
		current, err := home.Current()
		w.must(err)
		if meta, err := projections.ReadMeta(current); err != nil || meta.Snapshot != "" {
			t.Fatalf("after %d objects, the live version is from %q: %v", left, meta.Snapshot, err)
		}
	}
	if from := w.follow(nil); from != made.Name {
		t.Errorf("started from %q after interruptions, want %s", from, made.Name)
	}

	// Without a snapshot, neither empty projections nor those that are behind continue with the
	// rest of the log.
	w.replays = true
	for name, prepare := range map[string]func(){"empty": func() { w.must(os.RemoveAll(w.path("projections"))) }, "behind": restoreOld} {
		prepare()
		v, _, err := w.open(t.Context(), w.objects)
		w.must(err)
		err = v.Live().Runner.Run(t.Context())
		if !errors.Is(err, projections.ErrBeginningLost) || !strings.Contains(err.Error(), fmt.Sprintf("the log begins at record %d", w.log.first)) {
			t.Errorf("%s: %v, want %v", name, err, projections.ErrBeginningLost)
		}
		w.must(v.Close())
	}
}
