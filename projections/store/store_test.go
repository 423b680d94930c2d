package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections/store/storetest"
	"github.com/quarrysearch/quarry/schemas/event"
)

func open(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// writeTable writes a sorted table with the given keys. The value of each key is the key
// itself.
func writeTable(t *testing.T, keys ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "table")
	f, err := vfs.Default.Create(path, vfs.WriteCategoryUnspecified)
	must(t, err)
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), sstable.WriterOptions{TableFormat: sstable.TableFormatPebblev4})
	for _, k := range keys {
		must(t, w.Set([]byte(k), []byte(k)))
	}
	must(t, w.Close())
	return path
}

func TestOpenHeld(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	_, err := Open(dir, Options{})
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "pid ") || !strings.Contains(err.Error(), dir) {
		t.Fatalf("second open: %v", err)
	}
	must(t, s.Close())
	must(t, open(t, dir, Options{}).Close())
}

func TestOpenNewerFormat(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	must(t, s.db.Set(versionKey(), []byte{0, 0, 0, FormatVersion + 1}, pebble.Sync))
	must(t, s.Close())
	_, err := Open(dir, Options{})
	if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "version 2") {
		t.Fatalf("open: %v", err)
	}
	// The refusal releases the directory.
	if _, err = Open(dir, Options{}); !errors.Is(err, ErrFormat) {
		t.Fatalf("open again: %v", err)
	}
}

func TestOptionsValidate(t *testing.T) {
	if _, err := Open(t.TempDir(), Options{CacheBytes: 1}); err == nil {
		t.Fatal("a cache of one byte was accepted")
	}
}

func TestCheckpointIsPartOfTheBatch(t *testing.T) {
	s := open(t, "d", Options{FileSystem: storetest.NewMemory().FileSystem()})
	defer s.Close()
	b := s.NewBatch()
	must(t, b.Set([]byte("ca"), []byte("1")))
	must(t, b.SetCheckpoint(3, 42))
	must(t, b.SetSchema("catalog", 7))
	if _, ok, _ := b.Read([]byte("ca")); ok {
		t.Fatal("a batch reads its own writes")
	}
	must(t, b.Close())
	if next, err := s.Checkpoint(3); err != nil || next != 0 {
		t.Fatalf("checkpoint of a dropped batch: %d, %v, want 0, nil", next, err)
	}
	b = s.NewBatch()
	must(t, b.Set([]byte("ca"), []byte("1")))
	must(t, b.SetCheckpoint(3, 42))
	must(t, b.SetSchema("catalog", 7))
	must(t, b.Commit())
	next, err := s.Checkpoint(3)
	must(t, err)
	version, err := s.Schema("catalog")
	must(t, err)
	if other, _ := s.Checkpoint(2); next != 42 || version != 7 || other != 0 {
		t.Fatalf("checkpoint %d, schema %d, other %d", next, version, other)
	}
}

// TestCrashKeepsAPrefix checks that a power failure loses only a suffix of the batches,
// and none before a Sync.
func TestCrashKeepsAPrefix(t *testing.T) {
	for seed := range uint64(20) {
		mem := storetest.NewMemory()
		s := open(t, "d", Options{FileSystem: mem.FileSystem()})
		const n, synced = 200, 60
		for i := range n {
			b := s.NewBatch()
			must(t, b.Set(AppendUint32([]byte{'c'}, uint32(i)), make([]byte, 1000)))
			must(t, b.SetCheckpoint(0, nextOffset(i)))
			must(t, b.Commit())
			if i == synced {
				must(t, s.Sync())
			}
		}
		crashed := mem.Crash(50, seed)
		must(t, s.Close())
		s = open(t, "d", Options{FileSystem: crashed.FileSystem()})
		next, err := s.Checkpoint(0)
		must(t, err)
		if next <= synced {
			t.Fatalf("seed %d: checkpoint %d after a crash, %d was synced", seed, next, synced)
		}
		it, err := s.Iter([]byte{'c'}, []byte{'d'})
		must(t, err)
		rows := 0
		for ok := it.First(); ok; ok = it.Next() {
			rows++
		}
		must(t, it.Close())
		if rows != int(next) {
			t.Fatalf("seed %d: %d rows under checkpoint %d", seed, rows, next)
		}
		must(t, s.Close())
	}
}

func TestIngestAndExcise(t *testing.T) {
	ctx := context.Background()
	for _, files := range []FileSystem{nil, storetest.NewMemory().FileSystem()} {
		s := open(t, filepath.Join(t.TempDir(), "d"), Options{FileSystem: files})
		lo, hi := []byte("sA"), []byte("sB")
		path := writeTable(t, "sA1", "sA2")
		must(t, s.IngestSegment(ctx, lo, hi, path))
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("the file is still there: %v, want %v", err, os.ErrNotExist)
		}
		must(t, s.IngestSegment(ctx, lo, hi, writeTable(t, "sA1", "sA2")))
		must(t, s.IngestSegment(ctx, []byte("sB"), []byte("sC"), writeTable(t, "sB1")))
		snap := s.NewSnapshot()
		must(t, s.Excise(ctx, lo, hi))
		if found, err := s.HasSegment(lo, hi); err != nil || found {
			t.Fatalf("excised segment: %v, %v", found, err)
		}
		if _, ok, err := s.Read([]byte("sB1")); !ok || err != nil {
			t.Fatalf("neighbour: %v, %v", ok, err)
		}
		if _, ok, _ := snap.Read([]byte("sA1")); ok {
			t.Fatal("the documentation says that snapshots lose excised segments")
		}
		must(t, snap.Close())
		must(t, s.Close())
	}
}

// TestFindReadsOneBlock checks that Find reads no table blocks but the one that has the
// key, whatever the order of the keys.
func TestFindReadsOneBlock(t *testing.T) {
	const keys, step = 300, 7
	var all []string
	for i := range keys {
		all = append(all, fmt.Sprintf("sA%03d%s", i, strings.Repeat("x", 5000))) // each fills a block
	}
	s := open(t, filepath.Join(t.TempDir(), "d"), Options{})
	must(t, s.IngestSegment(t.Context(), []byte("sA"), []byte("sB"), writeTable(t, all...)))
	it, err := s.Iter([]byte("s"), []byte("t"))
	must(t, err)
	if !it.Find([]byte(all[0])) { // reads the index of the table
		t.Fatalf("%.8q… is not found: %v", all[0], it.Err())
	}
	before := s.db.Metrics().BlockCache.Misses
	finds := int64(0)
	for i := step; i < keys; i += step {
		if key := []byte(all[i]); !it.Find(key) || !bytes.Equal(it.Value(), key) {
			t.Fatalf("%.8q… is not found: %v", key, it.Err())
		}
		if absent := []byte(all[i] + "y"); it.Find(absent) {
			t.Fatalf("%.8q…y is found", all[i])
		}
		finds++
	}
	// One block for the key, and one for the key after the absent one.
	if read := s.db.Metrics().BlockCache.Misses - before; read > 2*finds {
		t.Errorf("%d finds of a key and an absent one read %d blocks, want at most %d", finds, read, 2*finds)
	}
	must(t, it.Close())
	must(t, s.Close())
}

// TestIngestSurvivesCrash checks that an ingest is durable when it returns, whatever
// happens to concurrent batches.
func TestIngestSurvivesCrash(t *testing.T) {
	mem := storetest.NewMemory()
	s := open(t, "d", Options{FileSystem: mem.FileSystem()})
	b := s.NewBatch()
	must(t, b.Set([]byte("ca"), nil))
	must(t, b.Commit())
	must(t, s.IngestSegment(context.Background(), []byte("sA"), []byte("sB"), writeTable(t, "sA1")))
	crashed := mem.Crash(0, 0)
	must(t, s.Close())
	s = open(t, "d", Options{FileSystem: crashed.FileSystem()})
	defer s.Close()
	if found, err := s.HasSegment([]byte("sA"), []byte("sB")); err != nil || !found {
		t.Fatalf("segment after a crash: %v, %v", found, err)
	}
}

func TestBatchRefusesSegments(t *testing.T) {
	s := open(t, "d", Options{FileSystem: storetest.NewMemory().FileSystem()})
	defer s.Close()
	b := s.NewBatch()
	defer b.Close()
	defer func() {
		if recover() == nil {
			t.Fatal("a batch wrote a segment")
		}
	}()
	_ = b.Set([]byte("sA"), nil)
}

func TestSnapshotIsStable(t *testing.T) {
	s := open(t, "d", Options{FileSystem: storetest.NewMemory().FileSystem()})
	defer s.Close()
	set := func(v string) {
		b := s.NewBatch()
		must(t, b.Set([]byte("ca"), []byte(v)))
		must(t, b.Commit())
	}
	set("1")
	snap := s.NewSnapshot()
	defer snap.Close()
	set("2")
	if v, _, _ := snap.Read([]byte("ca")); string(v) != "1" {
		t.Fatalf("snapshot reads %q", v)
	}
	if v, _, _ := s.Read([]byte("ca")); string(v) != "2" {
		t.Fatalf("store reads %q", v)
	}
}

func TestBackup(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "a"), Options{})
	b := s.NewBatch()
	must(t, b.Set([]byte("ca"), []byte("1")))
	must(t, b.Commit())
	must(t, s.Backup(filepath.Join(dir, "b")))
	must(t, s.Close())
	c := open(t, filepath.Join(dir, "b"), Options{})
	defer c.Close()
	if v, ok, err := c.Read([]byte("ca")); !ok || err != nil || string(v) != "1" {
		t.Fatalf("backup reads %q, %v, %v", v, ok, err)
	}
}

func TestSuccessor(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a", "b"}, {"a\xff", "b"}, {"ab", "ac"}, {"\xff\xff", ""}, {"", ""},
	} {
		if got := string(Successor([]byte(c.in))); got != c.want {
			t.Errorf("Successor(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	s := open(t, "d", Options{FileSystem: storetest.NewMemory().FileSystem(), Registerer: reg})
	families, err := reg.Gather()
	must(t, err)
	samples := 0
	for _, f := range families {
		samples += len(f.GetMetric())
	}
	if samples != len(s.metrics.gauges) {
		t.Fatalf("%d samples of %d", samples, len(s.metrics.gauges))
	}
	must(t, s.Close())
	s = open(t, "d", Options{FileSystem: storetest.NewMemory().FileSystem(), Registerer: reg})
	must(t, s.Close())
}

func nextOffset(i int) event.Offset { return event.Offset(i + 1) }

// TestRowsDoNotMoveSegments flushes rows of every family and compacts them: no segment
// may be within the key range of a table, because it would be rewritten.
func TestRowsDoNotMoveSegments(t *testing.T) {
	ctx := context.Background()
	s := open(t, filepath.Join(t.TempDir(), "d"), Options{})
	must(t, s.IngestSegment(ctx, []byte("sA"), []byte("sB"), writeTable(t, "sA1", "sA2")))
	for range 2 {
		b := s.NewBatch()
		for _, f := range []Family{FamilyMeta, FamilyCatalog, FamilyPlaces, FamilyLocal} {
			must(t, b.Set([]byte{byte(f), 'x'}, []byte("row")))
		}
		must(t, b.Commit())
		must(t, s.db.Flush())
	}
	must(t, s.db.Compact(ctx, []byte{0}, []byte{byte(FamilySegments)}, false))
	for _, level := range s.db.Metrics().Levels[:6] {
		if level.TablesCount > 0 {
			t.Fatalf("the rows were not compacted: %+v", level)
		}
	}
	ssts, err := s.db.SSTables()
	must(t, err)
	for _, level := range ssts {
		for _, f := range level {
			small, large := f.Smallest.UserKey[0], f.Largest.UserKey[0]
			if (small == byte(FamilySegments)) != (large == byte(FamilySegments)) || small < byte(FamilySegments) && large > byte(FamilySegments) {
				t.Errorf("a table from %q to %q", f.Smallest.UserKey, f.Largest.UserKey)
			}
		}
	}
	must(t, s.Close())
}
