package eventlogtest

import (
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// trimDeletesBeginning tests logs that delete records on request. It uses the topic that
// may be trimmed, in place of the suite's.
func (s *suite) trimDeletesBeginning() {
	log, ok := s.log.(eventlog.Trimmer)
	if !ok {
		s.Skip("the log has its own retention")
	}
	s.append(newRecord("k", "kept"))
	if err := log.Trim(s.ctx, s.topic, 0, 0); !errors.Is(err, eventlog.ErrKeptWhole) {
		s.Errorf("trim a topic that is kept whole: %v, want ErrKeptWhole", err)
	}
	s.topic = event.TopicAudit
	for i := range 6 {
		s.appendTo(s.topic, 0, newRecord("k", fmt.Sprint(i)))
	}
	behind, ahead := s.openTail(0, 0), s.openTail(0, 5)
	s.mustSucceed(log.Trim(s.ctx, s.topic, 0, 4))
	s.mustSucceed(log.Trim(s.ctx, s.topic, 0, 2)) // already deleted
	if _, err := behind.Next(s.ctx); !errors.Is(err, eventlog.ErrOffsetOutOfRange) {
		s.Errorf("a reader of what is gone: %v, want ErrOffsetOutOfRange", err)
	}
	s.expectTexts(ahead, "5")
	for range 2 {
		s.expectTexts(s.openTail(0, 0), "4", "5")
		s.expectTexts(s.openTail(0, 4), "4", "5")
		for _, from := range []event.Offset{1, 3, 7} {
			if _, err := s.log.Tail(s.ctx, s.topic, 0, from); !errors.Is(err, eventlog.ErrOffsetOutOfRange) {
				s.Errorf("tail from %d: %v, want ErrOffsetOutOfRange", from, err)
			}
		}
		s.reopenLog()
	}
	s.trimToEnd(s.log.(eventlog.Trimmer))
}

// trimToEnd deletes all records; only the offsets remain.
func (s *suite) trimToEnd(log eventlog.Trimmer) {
	if err := log.Trim(s.ctx, s.topic, 0, 7); !errors.Is(err, eventlog.ErrOffsetOutOfRange) {
		s.Errorf("trim what is to come: %v, want ErrOffsetOutOfRange", err)
	}
	s.mustSucceed(log.Trim(s.ctx, s.topic, 0, 6))
	s.reopenLog()
	if marks, err := s.log.HighWater(s.ctx, s.topic); err != nil || len(marks) != 1 || marks[0] != 6 {
		s.Fatalf("high-water marks %v, %v; want 6", marks, err)
	}
	r := s.openTail(0, 0)
	if at := s.appendTo(s.topic, 0, newRecord("k", "6")); at[0].Offset != 6 {
		s.Errorf("appended at %s, want offset 6", at[0])
	}
	s.expectTexts(r, "6")
}
