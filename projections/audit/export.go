package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/auditlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Cursor is the position after an export: the ID of the last exported entry of each
// topic, separated by commas. A reader of part of an export can build it from the last
// ID of each topic.
type Cursor map[byte]place

// ParseCursor parses IDs separated by commas. The empty text is the beginning.
func ParseCursor(s string) (Cursor, error) {
	c := Cursor{}
	if s == "" {
		return c, nil
	}
	for id := range strings.SplitSeq(s, ",") {
		p, err := parseID(strings.TrimSpace(id))
		if err != nil {
			return nil, err
		}
		if _, twice := c[p.topic]; twice {
			return nil, fmt.Errorf("%w: %.80q has two IDs of %s", ErrCursor, s, topicOf(p.topic))
		}
		c[p.topic] = p
	}
	return c, nil
}

// String returns the cursor in the format that ParseCursor reads.
func (c Cursor) String() string {
	var ids []string
	for _, t := range topics {
		b, _ := topicByte(t)
		if p, ok := c[b]; ok {
			ids = append(ids, p.entryID())
		}
	}
	return strings.Join(ids, ",")
}

// Export calls emit with the entries that q selects and that come after the cursor,
// until it has emitted all current ones, emit fails or ctx ends. The entries of a
// topic keep the order of its log; the two topics are merged by time. Export
// ignores q.Offset and q.Limit. It returns the cursor it reached, also on error.
func (l *Log) Export(ctx context.Context, q auditlog.Query, after Cursor, emit func(*auditlog.Entry) error) (next Cursor, err error) {
	next = Cursor{}
	for topic, p := range after {
		next[topic] = p
	}
	snapshot := l.store.NewSnapshot()
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	var sources []*source
	for _, t := range topics {
		s, err := newSource(snapshot, t, after)
		if err != nil {
			return next, err
		}
		defer func() { err = errors.Join(err, s.it.Close()) }()
		sources = append(sources, s)
	}
	for {
		s := oldestSource(sources)
		if s == nil {
			return next, nil
		}
		if err := ctx.Err(); err != nil {
			return next, err
		}
		if matchesEntry(&q, s.entry) {
			if err := emit(s.entry); err != nil {
				return next, err
			}
		}
		next[s.place.topic] = s.place
		if err := s.read(s.it.Next()); err != nil {
			return next, err
		}
	}
}

// matchesEntry reports whether q selects an entry.
func matchesEntry(q *auditlog.Query, e *auditlog.Entry) bool {
	ms := unixMillis(e.At)
	return (q.Since.IsZero() || ms >= ceilMillis(q.Since)) && (q.Until.IsZero() || ms <= unixMillis(q.Until)) &&
		(q.Action == "" || q.Action == e.Action) && (q.Actor == "" || q.Actor == ActorID(e.Actor))
}

// source is one topic in an export.
type source struct {
	it    *store.Iterator
	place place
	entry *auditlog.Entry // nil at the end
}

func newSource(r store.Reader, topic event.Topic, after Cursor) (*source, error) {
	b, _ := topicByte(topic)
	from := entriesFrom(b, 0)
	hi := store.Successor(from[:3])
	if p, ok := after[b]; ok {
		from = append(entryKey(p), 0)
	}
	it, err := r.Iter(from, hi)
	if err != nil {
		return nil, err
	}
	s := &source{it: it}
	return s, s.read(it.First())
}

// read decodes the iterator's current row.
func (s *source) read(ok bool) error {
	s.entry = nil
	if !ok {
		return s.it.Err()
	}
	var row entryRow
	if err := decodeRow(s.it.Key(), s.it.Value(), &row); err != nil {
		return err
	}
	s.place = placeOf(s.it.Key())
	s.entry = row.toEntry(s.place)
	return nil
}

// oldestSource returns the source with the oldest entry, or nil if all are at the end.
func oldestSource(sources []*source) *source {
	var first *source
	for _, s := range sources {
		if s.entry != nil && (first == nil || s.entry.At.Before(first.entry.At)) {
			first = s
		}
	}
	return first
}
