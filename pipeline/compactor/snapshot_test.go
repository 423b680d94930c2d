package compactor

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// tailingLog records the lowest offset from which partition 1 was read, except for the
// one record that a snapshot is checked against.
type tailingLog struct {
	*embeddedlog.Log
	mu struct {
		sync.Mutex
		from []event.Offset
	}
}

func (l *tailingLog) Tail(ctx context.Context, topic event.Topic, partition int32, from event.Offset) (eventlog.Reader, error) {
	if partition == 1 {
		l.mu.Lock()
		l.mu.from = append(l.mu.from, from)
		l.mu.Unlock()
	}
	return l.Log.Tail(ctx, topic, partition, from)
}

func (l *tailingLog) lowestOffset() event.Offset {
	l.mu.Lock()
	defer l.mu.Unlock()
	lowest := event.Offset(1 << 62)
	for _, from := range l.mu.from {
		lowest = min(lowest, from)
	}
	return lowest
}

// TestStartReadsWhatCameSince restarts a compactor: it resumes at its snapshot, and
// merges segments from before and after it.
func TestStartReadsWhatCameSince(t *testing.T) {
	t.Parallel()
	s := newSite(t, 21)
	m := newMirror(s, 1)
	dir := t.TempDir()
	stop := s.start(Options{TempDir: dir})
	for range 3*FanIn - 2 {
		s.push(1, s.document())
	}
	m.runUntilMerged(s.pushes)
	stop()
	high, err := s.log.HighWater(s.ctx, event.TopicEvents)
	s.check(err)
	log := &tailingLog{Log: s.log}
	s.start(Options{Log: log, TempDir: dir})
	for range FanIn {
		s.push(1, s.document())
	}
	m.runUntilMerged(s.pushes)
	m.verify(s.documents)
	// The stop may have come before the last merges were read back.
	if from := log.lowestOffset(); from < high[1]-3 {
		t.Errorf("the log was read from %d, want from %d or so", from, high[1])
	}
}

// TestSnapshotOfAnotherLog provides a snapshot of another log: it is not used.
func TestSnapshotOfAnotherLog(t *testing.T) {
	t.Parallel()
	foreign := t.TempDir()
	other := newSite(t, 22)
	stop := other.start(Options{TempDir: foreign})
	for range 2 * FanIn {
		other.push(1, other.document())
	}
	newMirror(other, 1).runUntilMerged(other.pushes)
	stop()
	content, err := os.ReadFile(snapshotPath(foreign, 1))
	other.check(err)
	for name, damage := range map[string]func(path string) error{
		"another log": func(string) error { return nil },
		"damaged":     func(path string) error { return os.WriteFile(path, []byte(`{"version":1,`), 0o600) },
		"ahead": func(path string) error {
			return (&snapshot{Version: snapshotVersion, Topic: event.TopicEvents, Partition: 1, Next: 1 << 40}).write(filepath.Dir(path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, 23)
			m := newMirror(s, 1)
			dir := t.TempDir()
			s.check(os.WriteFile(snapshotPath(dir, 1), content, 0o600))
			s.check(damage(snapshotPath(dir, 1)))
			for range 4 * FanIn {
				s.push(1, s.document())
			}
			log := &tailingLog{Log: s.log}
			s.start(Options{Log: log, TempDir: dir})
			m.runUntilMerged(s.pushes)
			m.verify(s.documents)
			if from := log.lowestOffset(); from != 0 {
				t.Errorf("the log was read from %d, want from its beginning", from)
			}
		})
	}
}

// TestQuietPartition merges segments that are too few for a merge by number, once the
// partition is quiet.
func TestQuietPartition(t *testing.T) {
	t.Parallel()
	s := newSite(t, 24)
	m := newMirror(s, 1)
	for range FanIn - 1 {
		s.push(1, s.document())
	}
	s.start(Options{Quiet: time.Millisecond})
	m.runUntil("one segment is left", func() bool { return m.indexed == s.pushes && len(m.segments) == 1 })
	m.verify(s.documents)
}

// TestQuietPartitionAfterStart does the same with a compactor that starts from a
// snapshot, with no new record to trigger the merge.
func TestQuietPartitionAfterStart(t *testing.T) {
	t.Parallel()
	s := newSite(t, 25)
	m := newMirror(s, 1)
	dir := t.TempDir()
	stop := s.start(Options{TempDir: dir})
	for range 2*FanIn - 1 {
		s.push(1, s.document())
	}
	m.runUntilMerged(s.pushes)
	stop()
	s.start(Options{TempDir: dir, Quiet: time.Millisecond})
	m.untilQuiet()
	m.verify(s.documents)
}
