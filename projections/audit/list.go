package audit

import (
	"errors"
	"math"
	"time"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/auditlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// ErrCursor reports that a cursor or an ID does not come from this package.
var ErrCursor = errors.New("cursor is not valid")

// Log reads the audit log of a store. It is safe for concurrent use.
type Log struct{ store *store.Store }

// NewLog returns a reader of s, to which the projections of both topics write.
func NewLog(s *store.Store) *Log { return &Log{store: s} }

// List returns a page of entries.
func (l *Log) List(q auditlog.Query) (page auditlog.Page, err error) {
	snapshot := l.store.NewSnapshot()
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	w := newWindow(snapshot, q)
	if page.Total, err = w.countEntries(); err != nil {
		return page, err
	}
	if q.Offset >= page.Total || q.Limit <= 0 {
		return page, nil
	}
	to, rest, err := w.skipNewest(q.Offset)
	if err != nil {
		return page, err
	}
	page.Entries, err = w.read(to, rest, q.Limit)
	return page, err
}

// Heads returns the head of each topic.
func (l *Log) Heads() (heads []auditlog.Head, err error) {
	snapshot := l.store.NewSnapshot()
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	records, err := readChain(snapshot, topicRecords)
	if err != nil {
		return nil, err
	}
	for _, t := range topics {
		b, _ := topicByte(t)
		chain, err := readChain(snapshot, b)
		if err != nil {
			return nil, err
		}
		heads = append(heads, chain.toHead(t, records.Seal))
	}
	return heads, nil
}

func (c *chainRow) toHead(t event.Topic, seal *sealRow) auditlog.Head {
	h := auditlog.Head{Topic: t, First: -1, Last: -1, SealedOffset: -1, At: c.At, Records: c.Records, Hash: c.Hash, Entries: c.Entries}
	if c.Begun {
		h.First, h.Last = c.First, c.Last
	}
	if sealed, ok := seal.headOf(t); ok {
		h.SealedOffset, h.SealedAt = sealed.Offset, seal.At
	}
	return h
}

// window is a range of one list.
type window struct {
	r      store.Reader
	list   listID
	lo, hi uint64 // milliseconds; hi is exclusive
}

func newWindow(r store.Reader, q auditlog.Query) *window {
	w := &window{r: r, list: listOf(q.Action, q.Actor), hi: math.MaxUint32 * minuteMillis}
	if !q.Since.IsZero() {
		w.lo = ceilMillis(q.Since)
	}
	if !q.Until.IsZero() {
		w.hi = min(w.hi, unixMillis(q.Until)+1)
	}
	return w
}

// ceilMillis returns the first millisecond that is not before t. Lists, and clients that
// know the time of an entry, drop the part below a millisecond.
func ceilMillis(t time.Time) uint64 {
	ms := unixMillis(t)
	if t.After(time.UnixMilli(int64(ms))) {
		ms++
	}
	return ms
}

// read returns the entries of the window before a time, newest first.
func (w *window) read(to uint64, skip, limit int) (entries []*auditlog.Entry, err error) {
	it, err := w.r.Iter(listedFrom(w.list, w.lo), listedFrom(w.list, to))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.Last(); ok && len(entries) < limit; ok = it.Prev() {
		if skip > 0 {
			skip--
			continue
		}
		e, found, err := readEntry(w.r, placeOf(it.Key()))
		if err != nil {
			return nil, err
		}
		if found { // otherwise the store is damaged, which Verify reports
			entries = append(entries, e)
		}
	}
	return entries, it.Err()
}
