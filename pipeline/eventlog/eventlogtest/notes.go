package eventlogtest

import (
	"context"
	"errors"
	"slices"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

func (s *suite) noteOffsets(group string, offsets ...event.Offset) error {
	return s.log.Note(s.ctx, group, s.topic, offsets)
}

func (s *suite) notesAreKept() {
	s.appendTo(s.topic, 1, newRecord("k", "a"), newRecord("k", "b"), newRecord("k", "c"))
	for _, offsets := range [][]event.Offset{{0, 1, 0, 0}, {0, 3, 0, 0}, {0, 2, 0, 0}} {
		s.mustSucceed(s.noteOffsets("noting", offsets...))
		if got := s.committedOffsets("noting"); !slices.Equal(got, offsets) {
			s.Fatalf("committed offsets %v, noted %v", got, offsets)
		}
	}
	if got := s.committedOffsets("another"); !slices.Equal(got, make([]event.Offset, partitions)) {
		s.Errorf("committed offsets of another group: %v, want zeros", got)
	}
	s.reopenLog()
	if got, want := s.committedOffsets("noting"), []event.Offset{0, 2, 0, 0}; !slices.Equal(got, want) {
		s.Errorf("committed offsets after reopening %v, want %v", got, want)
	}
	for name, offsets := range map[string][]event.Offset{"too few": {1, 1}, "too many": {0, 1, 0, 0, 0}, "negative": {0, -1, 0, 0}} {
		if err := s.noteOffsets("noting", offsets...); err == nil {
			s.Errorf("%s: noted %v", name, offsets)
		}
	}
	if err := s.noteOffsets("invalid name", 0, 0, 0, 0); err == nil {
		s.Error("noted for a group with spaces in its name")
	}
	// A member continues from the note.
	got := make(chan string)
	m := s.joinGroup("noting", collectTexts(got))
	if text := awaitValue(s, "record", got); text != "c" {
		s.Errorf("group goes on with %q, want c", text)
	}
	m.leaveGroup()
}

func (s *suite) notesOfGroupInUse() {
	s.appendTo(s.topic, 1, newRecord("k", "a"))
	held := make(chan struct{}, partitions)
	m := s.joinGroup("used", func(ctx context.Context, _ eventlog.Assignment) error {
		held <- struct{}{}
		<-ctx.Done()
		return nil
	})
	for range partitions {
		awaitValue(s, "assignment", held)
	}
	if err := s.noteOffsets("used", 0, 1, 0, 0); !errors.Is(err, eventlog.ErrGroupInUse) {
		s.Errorf("Note: %v, want ErrGroupInUse", err)
	}
	if got := s.committedOffsets("used"); !slices.Equal(got, make([]event.Offset, partitions)) {
		s.Errorf("committed offsets %v, want zeros", got)
	}
	m.leaveGroup()
	s.mustSucceed(s.noteOffsets("used", 0, 1, 0, 0))
}
