package compactor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/event"
)

// A snapshot is the state of a partition as of an offset, in a file in TempDir. It avoids
// reading the partition from its beginning: a start then reads only later records, at
// most Options.Interval of them. It is a cache. If it is missing, or does not belong to
// the log, the whole log is read.
type snapshot struct {
	Version   int          `json:"version"`
	Topic     event.Topic  `json:"topic"`
	Partition int32        `json:"partition"`
	Next      event.Offset `json:"next"`
	// Last is the hash of the record before Next, which differs in another log.
	Last     []byte             `json:"last"`
	Segments []event.SegmentRef `json:"segments"`
	// Merged are inputs of merges that no View has confirmed.
	Merged []event.SegmentRef `json:"merged,omitempty"`
}

const (
	snapshotVersion = 1
	// maxSnapshotBytes bounds the bytes read from a file: some 200 bytes for each
	// segment.
	maxSnapshotBytes = 64 << 20
)

// errForeign means that a snapshot belongs to another log.
var errForeign = errors.New("snapshot of another log")

func snapshotPath(dir string, partition int32) string {
	return filepath.Join(dir, fmt.Sprintf("state-%d.json", partition))
}

// recordHash distinguishes records with the same offset in different logs.
func recordHash(rec *event.Record) []byte {
	h := sha256.New()
	h.Write(rec.Key)
	h.Write([]byte{0})
	h.Write(rec.Value)
	return h.Sum(nil)
}

// takeSnapshot returns the state as of the last record read; nil if none was read.
func (s *state) takeSnapshot(topic event.Topic) *snapshot {
	if s.next == 0 || s.last.Position.Offset+1 != s.next {
		return nil
	}
	out := &snapshot{Version: snapshotVersion, Topic: topic, Partition: s.partition, Next: s.next, Last: recordHash(&s.last)}
	for _, e := range s.segments {
		out.Segments = append(out.Segments, e.ref)
	}
	for _, ref := range s.merged {
		out.Merged = append(out.Merged, ref)
	}
	return out
}

// restoreSnapshot restores a snapshot into a new state.
func (s *state) restoreSnapshot(from *snapshot) {
	s.next = from.Next
	for _, ref := range from.Segments {
		s.add(ref)
	}
	if s.merged == nil {
		return
	}
	for _, ref := range from.Merged {
		if id, err := segment.ParseID(ref.ID); err == nil {
			s.merged[id] = ref
		}
	}
}

// write atomically replaces the file; it need not survive a crash of the machine.
func (s *snapshot) write(dir string) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	path := snapshotPath(dir, s.Partition)
	if err := os.WriteFile(path+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func readSnapshot(dir string, topic event.Topic, partition int32) (*snapshot, error) {
	path := snapshotPath(dir, partition)
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if info.Size() > maxSnapshotBytes {
		return nil, fmt.Errorf("%s has %d bytes, at most %d", path, info.Size(), maxSnapshotBytes)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := new(snapshot)
	if err := json.Unmarshal(b, s); err != nil {
		return nil, err
	}
	if s.Version != snapshotVersion || s.Topic != topic || s.Partition != partition || s.Next <= 0 {
		return nil, errForeign
	}
	return s, nil
}

// resumeSnapshot restores the snapshot of the partition, if there is one for this log.
func (f *follower) resumeSnapshot(ctx context.Context) error {
	s, err := readSnapshot(f.c.o.TempDir, f.c.o.Topic, f.partition)
	if err == nil {
		err = f.checkSnapshot(ctx, s)
	}
	switch {
	case err == nil:
		f.state.restoreSnapshot(s)
	case ctx.Err() != nil:
		return ctx.Err()
	case !errors.Is(err, os.ErrNotExist):
		f.log.Info("reading the log from its beginning", "reason", err)
	}
	return nil
}

// checkSnapshot verifies a snapshot against the log.
func (f *follower) checkSnapshot(ctx context.Context, s *snapshot) error {
	high, err := f.c.o.Log.HighWater(ctx, f.c.o.Topic)
	if err != nil {
		return err
	}
	if int(f.partition) >= len(high) || high[f.partition] < s.Next {
		return errForeign
	}
	for rec, err := range event.ReadRange(ctx, f.c.o.Log, f.c.o.Topic, f.partition, s.Next-1, s.Next) {
		if err != nil {
			return err
		}
		if bytes.Equal(recordHash(&rec), s.Last) {
			f.state.last = rec
			return nil
		}
	}
	return errForeign
}

// saveSnapshot writes a snapshot. A failure only makes the next start slower.
func (f *follower) saveSnapshot() {
	s := f.state.takeSnapshot(f.c.o.Topic)
	if s == nil || s.Next == f.saved {
		return
	}
	if err := s.write(f.c.o.TempDir); err != nil {
		f.log.Warn("segment snapshot could not be written; the next start reads more of the log", "error", err)
		return
	}
	f.saved = s.Next
}
