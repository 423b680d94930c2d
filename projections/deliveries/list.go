package deliveries

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/ledger"
)

// Bounds of a list.
const (
	// MaxScan bounds the entries that one call reads. If few entries match the filter, a
	// page may be short or empty and still have a Next. With a DeliveryID, only entries
	// with that ID are read.
	MaxScan = 20_000
	// clockSlack is the maximum difference between the clocks of receivers and log. If
	// they differ more, a page with a Since may lack deliveries.
	clockSlack = time.Hour
)

// maxScan is MaxScan; tests change it.
var maxScan = MaxScan

// query decides which entries a ledger.Query selects.
type query ledger.Query

// List returns a page of deliveries.
func (l *Ledger) List(given ledger.Query) (page ledger.Page, err error) {
	q := query(given)
	snapshot := l.store.NewSnapshot()
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	w, err := newWalk(snapshot, q.DeliveryID, cursor(q.Cursor))
	if err != nil {
		return ledger.Page{}, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	for scanned := 0; scanned < maxScan && len(page.Deliveries) < q.Limit; scanned++ {
		s := w.newestSource()
		if s == nil {
			return page, w.iterError()
		}
		if q.tooOld(s.entry) {
			s.entry, s.below = nil, 0
			continue
		}
		if q.mayWant(s.entry) {
			d, err := l.read(snapshot, s.entryPosition(), s.entry)
			if err != nil {
				return page, err
			}
			if q.matchesDelivery(d) {
				page.Deliveries = append(page.Deliveries, d)
			}
		}
		if err := s.moveOlder(); err != nil {
			return page, err
		}
	}
	page.Next = string(w.nextCursor())
	return page, nil
}

// tooOld reports whether all remaining entries of the partition are too old.
func (q *query) tooOld(e *entryRow) bool {
	return !q.Since.IsZero() && e.LoggedAt.Add(clockSlack).Before(q.Since)
}

// mayWant reports whether the query may select the entry, without reading its pushes.
func (q *query) mayWant(e *entryRow) bool {
	return (q.Connection == "" || q.Connection == e.Connection) && (q.DeliveryID == "" || q.DeliveryID == e.DeliveryID) &&
		(q.Repository == 0 || q.Repository == e.Repository) && !e.ReceivedAt.Before(q.Since)
}

func (q *query) matchesDelivery(d *ledger.Delivery) bool {
	if q.Outcome == "" || q.Outcome == d.Outcome {
		return true
	}
	for i := range d.Pushes {
		if d.Pushes[i].Outcome == q.Outcome {
			return true
		}
	}
	return false
}

// Get returns the delivery whose first event is at the given position, or
// code.ErrNotFound if there is none or it is no longer stored.
func (l *Ledger) Get(at event.Position) (*ledger.Delivery, error) {
	var entry entryRow
	found, err := readRow(l.store, offsetKey(kindEntry, at.Partition, at.Offset), &entry)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("delivery at %s: %w", at, code.ErrNotFound)
	}
	at.Topic = event.TopicEvents
	return l.read(l.store, at, &entry)
}

// OfPush returns the position of the first event of a push's delivery, and the code
// host's ID of the delivery. Both are zero if there is no such push or it is no longer
// stored.
func (l *Ledger) OfPush(push event.Position) (at event.Position, deliveryID string, err error) {
	var row pushRow
	found, err := readRow(l.store, offsetKey(kindPush, push.Partition, push.Offset), &row)
	if err != nil || !found {
		return event.Position{}, "", err
	}
	var entry entryRow
	if found, err = readRow(l.store, offsetKey(kindEntry, push.Partition, row.Entry), &entry); err != nil || !found {
		return event.Position{}, "", err
	}
	return event.Position{Topic: event.TopicEvents, Partition: push.Partition, Offset: row.Entry}, entry.DeliveryID, nil
}

// Answer returns the repository of a push, and the position of the event that answered it;
// nil while it waits. The error wraps code.ErrNotFound if there is no such push, or it is no
// longer stored.
func (l *Ledger) Answer(push event.Position) (code.RepositoryID, *event.Position, error) {
	var row pushRow
	found, err := readRow(l.store, offsetKey(kindPush, push.Partition, push.Offset), &row)
	if err != nil {
		return 0, nil, err
	}
	if !found {
		return 0, nil, fmt.Errorf("push at %s: %w", push, code.ErrNotFound)
	}
	if row.Answer == nil {
		return row.Repository, nil, nil
	}
	push.Offset = row.Answer.Answered
	return row.Repository, &push, nil
}

// read returns an entry with its pushes.
func (l *Ledger) read(r store.Reader, at event.Position, entry *entryRow) (*ledger.Delivery, error) {
	d := entry.toDelivery(at)
	if entry.Pushes == 0 {
		return d, nil
	}
	err := eachPush(r, at.Partition, at.Offset, entry.Last, func(offset event.Offset, row *pushRow) error {
		position := at
		position.Offset = offset
		d.Pushes = append(d.Pushes, l.toPush(position, row))
		return nil
	})
	return d, err
}

// eachCounters calls f for every partition that has rows, in ascending order.
func eachCounters(r store.Reader, f func(partition int32, row *countersRow)) (err error) {
	all := []byte{byte(store.FamilyDeliveries), kindCounters}
	it, err := r.Iter(all, store.Successor(all))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		var row countersRow
		if err := decodeRow(it.Key(), it.Value(), &row); err != nil {
			return err
		}
		f(keyPartition(it.Key()), &row)
	}
	return nil
}

// walk iterates over the entries of all partitions, or over those with one delivery ID,
// newest first.
type walk struct{ sources []*source }

// source is one partition of a walk.
type source struct {
	r         store.Reader
	it        *store.Iterator
	partition int32
	// keys is the prefix of the keys to walk, either of the entries or of the index of
	// one delivery ID. The keys end with the offset of an entry.
	keys []byte
	// below is the offset below which the walk continues.
	below event.Offset
	// entry is the newest entry below it; nil after the last.
	entry  *entryRow
	offset event.Offset
}

func newWalk(r store.Reader, deliveryID string, after cursor) (*walk, error) {
	bounds, err := after.decodeBounds()
	if err != nil {
		return nil, err
	}
	w := new(walk)
	var partitions []int32
	if err := eachCounters(r, func(partition int32, _ *countersRow) { partitions = append(partitions, partition) }); err != nil {
		return nil, err
	}
	for _, partition := range partitions {
		s := &source{r: r, partition: partition, keys: keyPrefix(kindEntry, partition), below: math.MaxInt64}
		if deliveryID != "" {
			s.keys = byIDPrefix(partition, deliveryID)
		}
		if bounds != nil {
			s.below = bounds[partition]
		}
		if s.it, err = r.Iter(s.keys, store.Successor(s.keys)); err == nil {
			w.sources = append(w.sources, s)
			err = s.moveOlder()
		}
		if err != nil {
			return nil, errors.Join(err, w.close())
		}
	}
	return w, nil
}

// moveOlder moves to the entry before below.
func (s *source) moveOlder() error {
	s.entry = nil
	if s.below == 0 || !s.it.SeekLT(store.AppendUint64(slices.Clip(s.keys), uint64(s.below))) {
		s.below = 0
		return s.it.Err()
	}
	s.offset = keyOffset(s.it.Key())
	s.below = s.offset
	entry, key := new(entryRow), offsetKey(kindEntry, s.partition, s.offset)
	if bytes.Equal(key, s.it.Key()) {
		s.entry = entry
		return decodeRow(key, s.it.Value(), entry)
	}
	found, err := readRow(s.r, key, entry)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("deliveries: row %q names entry %s, which does not exist", s.it.Key(), s.entryPosition())
	}
	s.entry = entry
	return nil
}

func (s *source) entryPosition() event.Position {
	return event.Position{Topic: event.TopicEvents, Partition: s.partition, Offset: s.offset}
}

// newestSource returns the partition with the newest entry, or nil at the end.
func (w *walk) newestSource() *source {
	var newest *source
	for _, s := range w.sources {
		if s.entry != nil && (newest == nil || s.entry.LoggedAt.After(newest.entry.LoggedAt)) {
			newest = s
		}
	}
	return newest
}

// nextCursor returns the position of the walk, or "" at its end.
func (w *walk) nextCursor() cursor {
	bounds := map[int32]event.Offset{}
	for _, s := range w.sources {
		if s.entry != nil {
			bounds[s.partition] = s.offset + 1
		}
	}
	return cursorOf(bounds)
}

func (w *walk) iterError() error {
	for _, s := range w.sources {
		if err := s.it.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) close() error {
	var errs []error
	for _, s := range w.sources {
		errs = append(errs, s.it.Close())
	}
	return errors.Join(errs...)
}
