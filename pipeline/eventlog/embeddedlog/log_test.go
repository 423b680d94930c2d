package embeddedlog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/eventlogtest"
	"github.com/quarrysearch/quarry/schemas/event"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDirectory); dir != "" {
		runChild(dir)
	}
	goleak.VerifyTestMain(m)
}

func TestConformance(t *testing.T) {
	eventlogtest.Run(t, eventlogtest.Driver{
		New: func(t *testing.T, partitions int32, _ ...event.Topic) func() (eventlog.Log, error) {
			dir := t.TempDir()
			return func() (eventlog.Log, error) { return Open(dir, Options{Partitions: partitions}) }
		},
		Bubble: true,
	})
}

func mustOpen(t testing.TB, dir string, opts Options) *Log {
	t.Helper()
	l, err := Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func textRecord(text string) event.Record {
	return event.Record{Key: []byte("k"), Value: []byte(text)}
}

// TestTopicsOfOnePartition checks that the topics accounts and audit have one partition
// in a log with many, for records without a key and by partition number.
func TestTopicsOfOnePartition(t *testing.T) {
	l := mustOpen(t, t.TempDir(), Options{Partitions: 8})
	for _, topic := range []event.Topic{event.TopicAccounts, event.TopicAudit} {
		if n, err := l.Partitions(t.Context(), topic); err != nil || n != 1 {
			t.Errorf("%s: %d partitions, %v", topic, n, err)
		}
		for i, partition := range []int32{eventlog.AnyPartition, 0} {
			at, err := l.Append(t.Context(), topic, partition, event.Record{Value: []byte("x")})
			if want := (event.Position{Topic: topic, Offset: event.Offset(i)}); err != nil || at[0] != want {
				t.Errorf("appended at %v, %v; want %s", at, err, want)
			}
		}
		if _, err := l.Append(t.Context(), topic, 1, event.Record{Value: []byte("x")}); err == nil {
			t.Errorf("%s: partition 1 takes a record", topic)
		}
		if ends, err := l.HighWater(t.Context(), topic); err != nil || len(ends) != 1 || ends[0] != 2 {
			t.Errorf("%s: ends at %v, %v", topic, ends, err)
		}
		if err := l.Note(t.Context(), "readers", topic, []event.Offset{2}); err != nil {
			t.Error(err)
		}
		if noted, err := l.Committed(t.Context(), "readers", topic); err != nil || len(noted) != 1 || noted[0] != 2 {
			t.Errorf("%s: noted %v, %v", topic, noted, err)
		}
	}
}

// TestGroupOnTopicOfOnePartition checks that a member of a group on the topic accounts
// keeps its partition in a log with many: it consumes records until it is canceled.
func TestGroupOnTopicOfOnePartition(t *testing.T) {
	l := mustOpen(t, t.TempDir(), Options{Partitions: 4})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	consumed, joined := make(chan event.Offset), make(chan error, 1)
	go func() {
		joined <- l.Join(ctx, "leaders", event.TopicAccounts, func(ctx context.Context, a eventlog.Assignment) error {
			for {
				rec, err := a.Next(ctx)
				if err != nil {
					return err
				}
				if err := a.Commit(ctx, rec.Position.Offset+1); err != nil {
					return err
				}
				consumed <- rec.Position.Offset
			}
		})
	}()
	for want := range event.Offset(20) {
		if _, err := l.Append(t.Context(), event.TopicAccounts, 0, textRecord("a")); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-consumed:
			if got != want {
				t.Fatalf("consumed the record at %d, want %d", got, want)
			}
		case err := <-joined:
			t.Fatalf("Join returned before record %d was consumed: %v", want, err)
		}
	}
	cancel()
	if err := <-joined; !errors.Is(err, context.Canceled) {
		t.Errorf("Join after cancellation: %v, want context.Canceled", err)
	}
}

func TestPartitionsAreFixed(t *testing.T) {
	fs := vfs.NewMem()
	l, err := Open("log", Options{Partitions: 3, fs: fs})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open("log", Options{Partitions: 5, fs: fs}); err == nil || !strings.Contains(err.Error(), "3 partitions") {
		t.Fatalf("Open with another number of partitions: %v", err)
	}
	l = mustOpen(t, "log", Options{fs: fs})
	if n, err := l.Partitions(t.Context(), event.TopicEvents); n != 3 || err != nil {
		t.Errorf("%d partitions (%v), want 3", n, err)
	}
}

func TestDefaults(t *testing.T) {
	l := mustOpen(t, t.TempDir()+"/made/here", Options{})
	if n, err := l.Partitions(t.Context(), event.TopicEvents); n != DefaultPartitions || err != nil {
		t.Errorf("%d partitions (%v), want %d", n, err, DefaultPartitions)
	}
	if _, err := Open(t.TempDir(), Options{Partitions: MaxPartitions + 1}); err == nil {
		t.Error("Open with too many partitions: no error")
	}
}

func TestDirectoryIsLocked(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, dir, Options{})
	reg := prometheus.NewRegistry()
	for range 2 { // a second attempt must not conflict with the metrics of the first
		if _, err := Open(dir, Options{Registerer: reg}); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) {
			t.Errorf("second Open: %v, want ErrLocked with the directory", err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, dir, Options{Registerer: reg})
}

func TestDiskFull(t *testing.T) {
	fs := vfs.NewMem()
	reg := prometheus.NewRegistry()
	l := mustOpen(t, "log", Options{fs: fs, Registerer: reg})
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1 << 20})
	_, err := l.Append(t.Context(), event.TopicEvents, 0, textRecord("a"))
	if !errors.Is(err, eventlog.ErrFull) || !strings.Contains(err.Error(), "free some space") {
		t.Fatalf("Append: %v, want ErrFull with advice", err)
	}
	if got := counterValue(t, l.metrics.refused.WithLabelValues(refusedDiskFull)); got != 1 {
		t.Errorf("refused appends: %v, want 1", got)
	}
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1 << 40})
	positions, err := l.Append(t.Context(), event.TopicEvents, 0, textRecord("b"))
	if err != nil || positions[0].Offset != 0 {
		t.Errorf("Append once there is room: %v, %v", positions, err)
	}
	if got := counterValue(t, l.metrics.appendedRecords); got != 1 {
		t.Errorf("appended records: %v, want 1", got)
	}
	if families, err := reg.Gather(); err != nil || len(families) == 0 {
		t.Errorf("metrics: %v, %v", families, err)
	}
}

func counterValue(t *testing.T, c prometheus.Counter) float64 {
	t.Helper()
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}

func TestTopicsAreBounded(t *testing.T) {
	l := mustOpen(t, "log", Options{Partitions: 1, fs: vfs.NewMem()})
	for i := range MaxTopics {
		if _, err := l.HighWater(t.Context(), event.Topic(fmt.Sprint("t", i))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.HighWater(t.Context(), "one-more"); err == nil {
		t.Error("one topic too many: no error")
	}
}

// TestCorruptRecord changes a stored byte below Pebble's checksums.
func TestCorruptRecord(t *testing.T) {
	l := mustOpen(t, "log", Options{fs: vfs.NewMem()})
	if _, err := l.Append(t.Context(), "t", 0, textRecord("a")); err != nil {
		t.Fatal(err)
	}
	key := appendOffset(partitionPrefix("t", 0), 0)
	value, closer, err := l.db.Get(key)
	if err != nil {
		t.Fatal(err)
	}
	broken := append([]byte(nil), value...)
	closer.Close()
	broken[len(broken)-1] ^= 1
	if err := l.db.Set(key, broken, nil); err != nil {
		t.Fatal(err)
	}
	r, err := l.Tail(t.Context(), "t", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Next(t.Context()); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "t/0 at 0") {
		t.Errorf("Next: %v, want ErrDamaged with the position", err)
	}
}

// TestCrashKeepsAcknowledgedAppends simulates the disk after a power failure, after every
// append.
func TestCrashKeepsAcknowledgedAppends(t *testing.T) {
	fs := vfs.NewCrashableMem()
	l := mustOpen(t, "log", Options{Partitions: 1, fs: fs})
	for i := range 20 {
		if _, err := l.Append(t.Context(), "t", 0, textRecord(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
		after := mustOpen(t, "log", Options{fs: fs.CrashClone(vfs.CrashCloneCfg{})})
		wantTexts(t, after, i+1)
	}
}

// wantTexts reads n records "0", "1", … and checks that there are no more.
func wantTexts(t *testing.T, l *Log, n int) {
	t.Helper()
	marks, err := l.HighWater(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	if marks[0] != event.Offset(n) {
		t.Fatalf("high-water mark %d, want %d", marks[0], n)
	}
	r, err := l.Tail(t.Context(), "t", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := range n {
		rec, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if string(rec.Value) != fmt.Sprint(i) {
			t.Fatalf("record %d is %q", i, rec.Value)
		}
	}
}

func TestFormatOfAnotherVersion(t *testing.T) {
	fs := vfs.NewMem()
	l := mustOpen(t, "log", Options{fs: fs})
	if err := l.db.Set(metaKey, []byte{formatVersion + 1, 0, 0, 0, 4}, nil); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open("log", Options{fs: fs}); err == nil || !strings.Contains(err.Error(), "version 1") {
		t.Errorf("Open: %v, want an error that names the version", err)
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, callers := range []int{1, 8} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			l := mustOpen(b, b.TempDir(), Options{})
			rec := event.Record{Key: []byte("k"), Value: make([]byte, 500)}
			b.SetParallelism((callers + 1) / 2)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := l.Append(context.Background(), "t", 0, rec); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

func BenchmarkReplay(b *testing.B) {
	const records = 50_000
	l := mustOpen(b, b.TempDir(), Options{})
	batch := make([]event.Record, 1000)
	for i := range batch {
		batch[i] = event.Record{Key: []byte("3141592653589793"), Value: make([]byte, 500)}
	}
	for range records / len(batch) {
		if _, err := l.Append(b.Context(), "t", 0, batch...); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		r, err := l.Tail(b.Context(), "t", 0, 0)
		if err != nil {
			b.Fatal(err)
		}
		for range records {
			if _, err := r.Next(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(records*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
