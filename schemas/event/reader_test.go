package event_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/quarrysearch/quarry/schemas/event"
)

// sparseLog has one partition with records at some offsets. After the last record, Next
// fails with io.EOF where a real log would wait.
type sparseLog struct {
	offsets []event.Offset
	opened  int
	closed  int
}

func (l *sparseLog) Tail(_ context.Context, _ event.Topic, partition int32, from event.Offset) (event.Reader, error) {
	if partition != 0 {
		return nil, errors.ErrUnsupported
	}
	l.opened++
	i, _ := slices.BinarySearch(l.offsets, from)
	return &sparseReader{l, l.offsets[i:]}, nil
}

type sparseReader struct {
	log  *sparseLog
	rest []event.Offset
}

func (r *sparseReader) Next(context.Context) (event.Record, error) {
	if len(r.rest) == 0 {
		return event.Record{}, io.EOF
	}
	at := r.rest[0]
	r.rest = r.rest[1:]
	return event.Record{Position: event.Position{Topic: event.TopicEvents, Offset: at}}, nil
}

func (r *sparseReader) Close() error { r.log.closed++; return nil }

func TestReadRange(t *testing.T) {
	for _, c := range []struct {
		name      string
		offsets   []event.Offset
		from, end event.Offset
		want      []event.Offset
		fails     bool
	}{
		{"all", []event.Offset{0, 1, 2}, 0, 3, []event.Offset{0, 1, 2}, false},
		{"a part", []event.Offset{0, 1, 2, 3}, 1, 3, []event.Offset{1, 2}, false},
		{"nothing", []event.Offset{0, 1}, 1, 1, nil, false},
		{"an empty log", nil, 0, 0, nil, false},
		{"a trimmed beginning", []event.Offset{5, 6}, 0, 7, []event.Offset{5, 6}, false},
		{"a gap at the end", []event.Offset{0, 1, 9}, 0, 5, []event.Offset{0, 1}, false},
		{"a gap over the whole range", []event.Offset{9}, 0, 5, nil, false},
		{"a log that breaks off", []event.Offset{0, 1}, 0, 3, []event.Offset{0, 1}, true},
	} {
		log := &sparseLog{offsets: c.offsets}
		var have []event.Offset
		var failed error
		for rec, err := range event.ReadRange(t.Context(), log, event.TopicEvents, 0, c.from, c.end) {
			if err != nil {
				failed = err
				continue
			}
			have = append(have, rec.Position.Offset)
		}
		if !slices.Equal(have, c.want) || (failed != nil) != c.fails {
			t.Errorf("%s: read %v, error %v; want %v, an error: %v", c.name, have, failed, c.want, c.fails)
		}
		if log.opened != log.closed {
			t.Errorf("%s: %d readers opened, %d closed", c.name, log.opened, log.closed)
		}
	}
}

// TestReadRangeIsLeft checks that a caller that stops early leaves no reader open, and
// that ReadRange returns an error if a log cannot be opened.
func TestReadRangeIsLeft(t *testing.T) {
	log := &sparseLog{offsets: []event.Offset{0, 1, 2}}
	for range event.ReadRange(t.Context(), log, event.TopicEvents, 0, 0, 3) {
		break
	}
	if log.opened != 1 || log.closed != 1 {
		t.Errorf("%d readers opened, %d closed, want 1 and 1", log.opened, log.closed)
	}
	n := 0
	for _, err := range event.ReadRange(t.Context(), log, event.TopicEvents, 7, 0, 3) {
		if n++; err == nil {
			t.Error("a partition that does not exist has a record")
		}
	}
	if n != 1 {
		t.Errorf("an error was yielded %d times, want once", n)
	}
}
