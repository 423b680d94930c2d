package embeddedlog

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/quarrysearch/quarry/schemas/event"
)

// TestCheckpointIsAPrefix makes checkpoints while appends continue, and reads them
// without changing them: each contains all records acknowledged before it began, without
// gaps.
func TestCheckpointIsAPrefix(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l := mustOpen(t, dir, Options{Partitions: 1})
	appended := make(chan event.Offset) // bound: the appender waits
	done := make(chan error, 1)
	go func() {
		defer close(appended)
		for i := range 300 {
			at, err := l.Append(t.Context(), event.TopicEvents, 0, textRecord(fmt.Sprint(i)))
			if err != nil {
				done <- err
				return
			}
			if i%100 == 50 {
				appended <- at[0].Offset
			}
		}
		done <- nil
	}()
	for acknowledged := range appended {
		copied := filepath.Join(dir, fmt.Sprint("backup-", acknowledged))
		if err := l.Checkpoint(copied); err != nil {
			t.Fatal(err)
		}
		c, err := Open(copied, Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		high, err := c.HighWater(t.Context(), event.TopicEvents)
		if err != nil || high[0] <= acknowledged {
			t.Errorf("the checkpoint ends at %v, and %d was acknowledged: %v", high, acknowledged, err)
		}
		wantKeptText(t, c, high[0])
		if _, err := c.Append(t.Context(), event.TopicEvents, 0, textRecord("x")); err == nil {
			t.Error("a log that is open for reading was appended to")
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err := Open(dir, Options{}); err != nil { // checkpoints are below it
		t.Error(err)
	} else if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func wantKeptText(t *testing.T, l *Log, end event.Offset) {
	t.Helper()
	r, err := l.Tail(t.Context(), event.TopicEvents, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range end {
		rec, err := r.Next(t.Context())
		if err != nil || string(rec.Value) != fmt.Sprint(i) {
			t.Fatalf("record %d is %q: %v", i, rec.Value, err)
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestReadOnlyMakesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	if l, err := Open(dir, Options{ReadOnly: true}); err == nil {
		_ = l.Close()
		t.Error("a log that does not exist was opened for reading")
	}
}
