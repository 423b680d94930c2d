package eventlogtest

import (
	"context"
	"errors"
	"slices"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

func (s *suite) note(group string, offsets ...event.Offset) error {
	ctx, cancel := s.patient()
	defer cancel()
	return s.log.Note(ctx, group, s.topic, offsets)
}

func (s *suite) notes() {
	s.appendTo(s.topic, 1, record("k", "a"), record("k", "b"), record("k", "c"))
	for _, offsets := range [][]event.Offset{{0, 1, 0, 0}, {0, 3, 0, 0}, {0, 2, 0, 0}} {
		s.check(s.note("noting", offsets...))
		if got := s.committed("noting"); !slices.Equal(got, offsets) {
			s.Fatalf("committed offsets %v, noted %v", got, offsets)
		}
	}
	if got := s.committed("another"); !slices.Equal(got, make([]event.Offset, partitions)) {
		s.Errorf("committed offsets of another group: %v, want zeros", got)
	}
	s.reopenLog()
	if got, want := s.committed("noting"), []event.Offset{0, 2, 0, 0}; !slices.Equal(got, want) {
		s.Errorf("committed offsets after reopening %v, want %v", got, want)
	}
	for name, offsets := range map[string][]event.Offset{"too few": {1, 1}, "too many": {0, 1, 0, 0, 0}, "negative": {0, -1, 0, 0}} {
		if err := s.note("noting", offsets...); err == nil {
			s.Errorf("%s: noted %v", name, offsets)
		}
	}
	if err := s.note("no good name", 0, 0, 0, 0); err == nil {
		s.Error("noted for a group with spaces in its name")
	}
	// A member goes on from the note.
	got := make(chan string)
	m := s.join("noting", collect(got))
	if text := wait(s, "record", got); text != "c" {
		s.Errorf("group goes on with %q, want c", text)
	}
	m.leave()
}

func (s *suite) notesOfGroupInUse() {
	s.appendTo(s.topic, 1, record("k", "a"))
	held := make(chan struct{}, partitions)
	m := s.join("used", func(ctx context.Context, _ eventlog.Assignment) error {
		held <- struct{}{}
		<-ctx.Done()
		return nil
	})
	for range partitions {
		wait(s, "assignment", held)
	}
	if err := s.note("used", 0, 1, 0, 0); !errors.Is(err, eventlog.ErrGroupInUse) {
		s.Errorf("Note: %v, want ErrGroupInUse", err)
	}
	if got := s.committed("used"); !slices.Equal(got, make([]event.Offset, partitions)) {
		s.Errorf("committed offsets %v, want zeros", got)
	}
	m.leave()
	s.check(s.note("used", 0, 1, 0, 0))
}
