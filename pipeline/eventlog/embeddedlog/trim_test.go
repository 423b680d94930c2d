package embeddedlog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// TestCrashWhileTrimming simulates the disk after a power failure, with any part of the
// unsynced data, around every trim and append: acknowledged records exist, trimmed ones
// stay deleted, and offsets continue.
func TestCrashWhileTrimming(t *testing.T) {
	fs := vfs.NewCrashableMem()
	l := mustOpen(t, "log", Options{Partitions: 1, fs: fs})
	random := rand.New(rand.NewPCG(1, 2))
	clones := func(first, end event.Offset) {
		t.Helper()
		for _, unsynced := range []int{0, 50} {
			after, err := Open("log", Options{fs: fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: random})})
			if err != nil {
				t.Fatal(err)
			}
			wantKept(t, after, first, end)
			if err := after.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	end := event.Offset(0)
	for first := event.Offset(0); first < 20; first += 3 {
		for range 3 {
			if _, err := l.Append(t.Context(), event.TopicAudit, 0, textRecord(fmt.Sprint(end))); err != nil {
				t.Fatal(err)
			}
			end++
		}
		clones(max(0, first-1), end)
		// The last but one, so that the first trims leave a record; at the end, all.
		before := first + 2
		if err := l.Trim(t.Context(), event.TopicAudit, 0, before); err != nil {
			t.Fatal(err)
		}
		clones(before, end)
	}
	if err := l.Trim(t.Context(), event.TopicAudit, 0, end); err != nil {
		t.Fatal(err)
	}
	clones(end, end)
	if got := counterValue(t, l.metrics.trimmedRecords); got != float64(end) {
		t.Errorf("%v trimmed records, want %d", got, end)
	}
}

// wantKept reads the records from first to end, and checks that there are no more.
func wantKept(t *testing.T, l *Log, first, end event.Offset) {
	t.Helper()
	marks, err := l.HighWater(t.Context(), event.TopicAudit)
	if err != nil || marks[0] != end {
		t.Fatalf("high-water marks %v, %v; want %d", marks, err, end)
	}
	r, err := l.Tail(t.Context(), event.TopicAudit, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for at := first; at < end; at++ {
		rec, err := r.Next(t.Context())
		if err != nil || rec.Position.Offset != at || string(rec.Value) != fmt.Sprint(at) {
			t.Fatalf("read %q at %s, %v; want %d", rec.Value, rec.Position, err, at)
		}
	}
	if first > 1 {
		if _, err := l.Tail(t.Context(), event.TopicAudit, 0, first-1); !errors.Is(err, eventlog.ErrOffsetOutOfRange) {
			t.Fatalf("tail from %d: %v, want ErrOffsetOutOfRange", first-1, err)
		}
	}
	// Offsets are not reused.
	if at, err := l.Append(t.Context(), event.TopicAudit, 0, textRecord("next")); err != nil || at[0].Offset != end {
		t.Fatalf("appended at %v, %v; want offset %d", at, err, end)
	}
}

// TestFailedTrimDeletesNothing trims a log that was closed in the meantime.
func TestFailedTrimDeletesNothing(t *testing.T) {
	l := mustOpen(t, "log", Options{Partitions: 1, fs: vfs.NewMem()})
	if _, err := l.Append(t.Context(), event.TopicAudit, 0, textRecord("a")); err != nil {
		t.Fatal(err)
	}
	p, err := l.partitionOf(event.TopicAudit, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Trim(t.Context(), event.TopicAudit, 0, 1); !errors.Is(err, eventlog.ErrClosed) {
		t.Errorf("Trim of a closed log: %v, want ErrClosed", err)
	}
	if first, _ := p.offsetRange(); first != 0 {
		t.Errorf("the first offset is %d, want 0", first)
	}
}

// TestLostBeginningIsRefused deletes the beginning of a topic that is kept whole, which this
// program never does: no reader continues with the rest as if nothing were missing.
func TestLostBeginningIsRefused(t *testing.T) {
	fs := vfs.NewMem()
	l := mustOpen(t, "log", Options{Partitions: 1, fs: fs})
	for _, topic := range []event.Topic{event.TopicEvents, event.TopicAccounts, event.TopicDeadLetters} {
		if _, err := l.Append(t.Context(), topic, 0, textRecord("a"), textRecord("b"), textRecord("c")); err != nil {
			t.Fatal(err)
		}
		p, err := l.partitionOf(topic, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.deleteBelow(p, 2); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = mustOpen(t, "log", Options{fs: fs})
	for _, topic := range []event.Topic{event.TopicEvents, event.TopicAccounts} {
		var out *event.RangeError
		if _, err := l.Tail(t.Context(), topic, 0, 0); !errors.As(err, &out) || *out != (event.RangeError{First: 2, End: 3}) {
			t.Errorf("%s from the beginning: %v, want a RangeError of 2 to 3", topic, err)
		}
		for rec, err := range event.ReadRange(t.Context(), l, topic, 0, 2, 3) {
			if err != nil || rec.Position.Offset != 2 {
				t.Errorf("%s from 2: %s, %v", topic, rec.Position, err)
			}
		}
	}
	// Brokers may delete dead letters: readers continue with the rest.
	for rec, err := range event.ReadRange(t.Context(), l, event.TopicDeadLetters, 0, 0, 3) {
		if err != nil || rec.Position.Offset != 2 {
			t.Errorf("dead letters: %s, %v", rec.Position, err)
		}
	}
}
