package snapshots

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/segmentstore/s3test"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/event"
)

// useBucket moves the store of an installation to a bucket of a real server, before it has objects.
func (in *installation) useBucket(server *s3test.Server, prefix string) {
	b, err := segmentstore.OpenBucket(in.t.Context(), segmentstore.BucketOptions{
		Endpoint: server.Endpoint, Region: s3test.Region, Bucket: s3test.Bucket, Prefix: prefix, PathStyle: true,
		AccessKeyID: s3test.AccessKey, SecretAccessKey: s3test.SecretKey, TempDir: in.t.TempDir(),
		Metrics: segmentstore.NewBucketMetrics(prometheus.NewRegistry()), Logger: slog.New(slog.DiscardHandler),
	})
	must(in.t, err)
	in.archive = in.openArchive(b)
}

// hookedStore calls a function before it stores an object of a folder. Once the function returns
// errKilled, the folder neither stores nor deletes any more.
type hookedStore struct {
	segmentstore.Driver
	before func(ctx context.Context, name string) error
	dead   bool
}

// Folder implements segmentstore.Driver.
func (h *hookedStore) Folder(name string) segmentstore.Store {
	return &hookedFolder{h.Driver.Folder(name), h}
}

type hookedFolder struct {
	segmentstore.Store
	h *hookedStore
}

func (f *hookedFolder) callBefore(ctx context.Context, name string) error {
	if f.h.dead {
		return errKilled
	}
	err := f.h.before(ctx, name)
	f.h.dead = errors.Is(err, errKilled)
	return err
}

// PutBytes implements segmentstore.Store.
func (f *hookedFolder) PutBytes(ctx context.Context, name string, b []byte) error {
	if err := f.callBefore(ctx, name); err != nil {
		return err
	}
	return f.Store.PutBytes(ctx, name, b)
}

// Put implements segmentstore.Store.
func (f *hookedFolder) Put(ctx context.Context, name, path string) error {
	if err := f.callBefore(ctx, name); err != nil {
		return err
	}
	return f.Store.Put(ctx, name, path)
}

// Delete implements segmentstore.Store.
func (f *hookedFolder) Delete(ctx context.Context, name string) error {
	if f.h.dead {
		return errKilled
	}
	return f.Store.Delete(ctx, name)
}

// newHooked returns an archive of the same store, whose process calls before for each object.
func (in *installation) newHooked(before func(ctx context.Context, name string) error) *Archive {
	return in.openArchive(&hookedStore{Driver: in.archive.o.Store, before: before})
}

// TestEqualNamesOfSnapshots has two processes create snapshots with one name: one after another, and
// at the same moment. Each snapshot that is left is complete, and the process that was refused deletes
// nothing of the other one.
func TestEqualNamesOfSnapshots(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"directory", "bucket"} {
		t.Run(kind, func(t *testing.T) {
			in := newInstallation(t, 4, 2)
			if kind == "bucket" {
				in.useBucket(s3test.Start(t), "names")
			}
			n := in.openNode(filepath.Join(t.TempDir(), "live"), places.Options{})
			defer n.close()
			n.change(30)
			contents := contents
			contents.Segments = func(store.Reader) (map[segment.ID]bool, error) { return nil, nil } // the bucket has none
			name := newName(in.now)
			equal := func(time.Time) string { return name }
			in.archive.newName = equal
			m, err := in.archive.Create(t.Context(), n.rows, contents)
			must(t, err)
			n.change(30)
			second := in.openArchive(in.archive.o.Store)
			second.newName = equal
			if _, err := second.Create(t.Context(), n.rows, contents); !errors.Is(err, errTaken) {
				t.Errorf("a second snapshot with the name: %v, want %v", err, errTaken)
			}
			_, err = second.Verify(t.Context(), m.Name)
			must(t, err)

			// Another process creates the same snapshot between the look at the name and the list.
			next := newName(in.now)
			other := func(time.Time) string { return next }
			in.archive.newName = other
			late := in.newHooked(func(_ context.Context, name string) error {
				if !strings.HasSuffix(name, segmentsSuffix) {
					return nil
				}
				n.change(10)
				_, err := in.archive.Create(t.Context(), n.rows, contents)
				return err
			})
			late.newName = other
			if _, err := late.Create(t.Context(), n.rows, contents); !errors.Is(err, errReleased) {
				t.Errorf("two snapshots with one name at the same moment: %v, want %v", err, errReleased)
			}
			list, err := second.List(t.Context())
			must(t, err)
			for _, s := range list {
				if _, err := second.Verify(t.Context(), s.Name); err != nil {
					t.Errorf("%s is left: %v", s.Name, err)
				}
			}
		})
	}
}

// TestErasureBeforeTheManifest has an erasure delete the snapshots between the last look at the log
// and the manifest of one: nothing of it is left.
func TestErasureBeforeTheManifest(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, 4, 2)
	n := in.openNode(filepath.Join(t.TempDir(), "live"), places.Options{})
	defer n.close()
	n.change(30)
	eraser := in.openArchive(in.objects)
	late := in.newHooked(func(ctx context.Context, name string) error {
		if !strings.HasSuffix(name, manifestSuffix) {
			return nil
		}
		erasure := in.world.Append(0, &event.ErasureRequested{Repository: 1 << 40, Path: "a", At: time.Unix(1, 0)})
		in.log.Add(erasure)
		return eraser.DeleteBefore(ctx, erasure.Position)
	})
	if _, err := late.Create(t.Context(), n.rows, contents); !errors.Is(err, errReleased) {
		t.Errorf("a snapshot beside an erasure: %v, want %v", err, errReleased)
	}
	if left, err := filepath.Glob(filepath.Join(in.dir, Folder, "*")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// TestKilledAfterAnErasure kills a process after an erasure has deleted what it had written of a
// snapshot, and it has written another table: the next look at the snapshots deletes the table, which
// may have names of erased files. What another process is writing stays.
func TestKilledAfterAnErasure(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, 4, 2)
	n := in.openNode(filepath.Join(t.TempDir(), "live"), places.Options{})
	defer n.close()
	n.change(30)
	name := newName(in.now)
	create := func(newName func(time.Time) string, before func(ctx context.Context) error) {
		tables := 0
		a := in.newHooked(func(ctx context.Context, name string) error {
			if strings.HasSuffix(name, segmentsSuffix) {
				return nil
			}
			switch tables++; tables {
			case 1:
				return nil
			case 2:
				return before(ctx)
			}
			return errKilled
		})
		a.newName = newName
		if _, err := a.Create(t.Context(), n.rows, contents); !errors.Is(err, errKilled) {
			t.Fatalf("%v, want %v", err, errKilled)
		}
	}
	create(newName, func(context.Context) error { return nil })
	kept, err := filepath.Glob(filepath.Join(in.dir, Folder, "*"))
	must(t, err)
	create(func(time.Time) string { return name }, func(ctx context.Context) error {
		return in.archive.Delete(ctx, name)
	})
	deleted, err := in.archive.Prune(t.Context(), 2)
	if err != nil || !slices.Equal(deleted, []string{name}) {
		t.Errorf("deleted %v, %v; want the snapshot without a list", deleted, err)
	}
	if left, err := filepath.Glob(filepath.Join(in.dir, Folder, "*")); err != nil || len(left) != len(kept) {
		t.Errorf("%d objects are left, want %d: %v", len(left), len(kept), err)
	}
}

// TestClockOfTheStore compares clocks with that of a store, which is left as it was.
func TestClockOfTheStore(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"directory", "bucket"} {
		t.Run(kind, func(t *testing.T) {
			in := newInstallation(t, 4, 1)
			if kind == "bucket" {
				in.useBucket(s3test.Start(t), "clock")
			}
			objects := in.archive.o.Store
			for skew, want := range map[time.Duration]error{0: nil, 2 * time.Minute: segmentstore.ErrClock, -2 * time.Minute: segmentstore.ErrClock} {
				err := segmentstore.NewSharedHolds(objects, func() time.Time { return time.Now().Add(skew) }).CheckClock(t.Context())
				if !errors.Is(err, want) {
					t.Errorf("a clock that is off by %s: %v, want %v", skew, err, want)
				}
			}
			for info, err := range objects.Folder("holds").List(t.Context()) {
				t.Errorf("it is left: %v, %v", info, err)
			}
		})
	}
}

// TestBackupOfAnotherProcess holds the store for a backup in one process: another one deletes nothing
// until the hold has ended, is over, or was never one.
func TestBackupOfAnotherProcess(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"directory", "bucket"} {
		t.Run(kind, func(t *testing.T) {
			in := newInstallation(t, 4, 1)
			if kind == "bucket" {
				in.useBucket(s3test.Start(t), "holds")
			}
			objects := in.archive.o.Store
			deletes := func(when string, want error) {
				t.Helper()
				in.now = in.now.Add(holdsFresh)
				must(t, objects.PutBytes(t.Context(), "segment-1", []byte("text")))
				if err := in.archive.Guard().Delete(t.Context(), "segment-1"); !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", when, err, want)
				}
			}
			holds := segmentstore.NewSharedHolds(objects, func() time.Time { return in.now })
			deletes("without a backup", nil)
			must(t, holds.Extend(t.Context(), "a1", in.now.Add(time.Minute)))
			deletes("during a backup", segmentstore.ErrHeld)
			in.now = in.now.Add(time.Minute)
			must(t, holds.Extend(t.Context(), "a1", in.now.Add(time.Minute)))
			in.now = in.now.Add(time.Minute)
			deletes("during a backup that was extended", segmentstore.ErrHeld)
			must(t, holds.Release(t.Context(), "a1"))
			deletes("after the backup", nil)
			must(t, holds.Extend(t.Context(), "b2", in.now.Add(time.Minute)))
			in.now = in.now.Add(3 * time.Minute)
			deletes("after a process that was killed", nil)
			must(t, holds.Extend(t.Context(), "c3", in.now.Add(24*time.Hour)))
			deletes("with a hold that lasts longer than any", nil)
			var left []string
			for info, err := range objects.Folder("holds").List(t.Context()) {
				must(t, err)
				left = append(left, info.Name)
			}
			if len(left) != 1 || !strings.HasPrefix(left[0], "backup-c3-") {
				t.Errorf("holds that are left: %v, want the last one", left)
			}
		})
	}
}
