package worker

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/schemas/event"
)

// Bounds of a window.
const (
	// MaxWindowRecords and MaxWindowBytes bound the records of a partition that were read
	// and are not done.
	MaxWindowRecords = 4096
	MaxWindowBytes   = 8 << 20
	// MaxSpan bounds how far a partition is read past its oldest record that is not done.
	MaxSpan event.Offset = 16384
)

// An entry is a record that was read and is not done.
type entry struct {
	rec        event.Record
	read       time.Time
	prev, next *entry // in order of offset
}

// A lane is the queue of the records of one key, oldest first. It does not contain the
// batch that its goroutine is handling.
type lane struct {
	key     string
	waiting []*entry
	// removals counts the removals in the lane, including those in the running batch.
	removals int
	// interrupt ends the lane's current wait or call; nil if the lane does nothing that a
	// removal interrupts.
	interrupt context.CancelCauseFunc
}

// A window holds the records of a partition that were read and are not done. It tracks
// the low-water mark, below which all records are done.
type window struct {
	maxRecords int
	maxBytes   int64
	maxSpan    event.Offset
	// room and finished receive a signal, without blocking, when a record is done: room
	// for the reader, which may be waiting for space, and finished for the goroutine that
	// commits.
	room, finished chan struct{}
	removes        func(event.Record) bool

	mu struct {
		sync.Mutex
		oldest, newest *entry
		lanes          map[string]*lane
		records        int
		bytes          int64
		// last is the last record read; next is the offset after it.
		last event.Record
		next event.Offset
		// passed is the last record known to be below the low-water mark; nil if there is
		// none yet.
		passed *event.Record
		full   bool
		// hanging counts the abandoned calls of the handler by key.
		hanging map[string]int
	}
}

func newWindow(removes func(event.Record) bool) *window {
	w := &window{removes: removes, maxRecords: MaxWindowRecords, maxBytes: MaxWindowBytes, maxSpan: MaxSpan}
	w.room, w.finished = make(chan struct{}, 1), make(chan struct{}, 1)
	w.mu.lanes, w.mu.hanging = map[string]*lane{}, map[string]int{}
	return w
}

// add adds a record once there is room. It returns the lane that the record starts, for
// the caller to run, or nil if the record joined an existing lane. An unwanted record is
// done immediately.
func (w *window) add(ctx context.Context, rec event.Record, wanted bool) (*lane, error) {
	for {
		begun, ok := w.tryAdd(rec, wanted)
		if ok {
			return begun, nil
		}
		select {
		case <-w.room:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (w *window) tryAdd(rec event.Record, wanted bool) (begun *lane, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.full = w.fullLocked(&rec); w.mu.full {
		return nil, false
	}
	w.mu.last, w.mu.next = rec, rec.Position.Offset+1
	if !wanted {
		w.passLocked(nil)
		return nil, true
	}
	e := &entry{rec: rec, read: time.Now(), prev: w.mu.newest}
	if e.prev == nil {
		w.mu.oldest = e
	} else {
		e.prev.next = e
	}
	w.mu.newest = e
	w.mu.records++
	w.mu.bytes += int64(rec.SizeBytes())
	l := w.mu.lanes[string(rec.Key)]
	if l == nil {
		l = &lane{key: string(rec.Key)}
		w.mu.lanes[l.key] = l
		begun = l
	}
	l.waiting = append(l.waiting, e)
	if w.removes != nil && w.removes(rec) {
		l.noteRemovalLocked()
	}
	return begun, true
}

// fullLocked reports whether there is no room for rec. A window always has room for one
// record.
func (w *window) fullLocked(rec *event.Record) bool {
	if w.mu.oldest == nil {
		return false
	}
	return w.mu.records >= w.maxRecords || w.mu.bytes+int64(rec.SizeBytes()) > w.maxBytes ||
		rec.Position.Offset-w.mu.oldest.rec.Position.Offset >= w.maxSpan
}

// takeRecords moves up to n records from a lane to hand.
func (w *window) takeRecords(l *lane, hand []*entry, n int) []*entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	n = max(0, min(n, len(l.waiting)))
	hand = append(hand, l.waiting[:n]...)
	if l.waiting = l.waiting[n:]; len(l.waiting) == 0 {
		l.waiting = nil
	}
	return hand
}

// firstRecord returns the oldest record of a lane, which must not be empty.
func (w *window) firstRecord(l *lane) event.Record {
	w.mu.Lock()
	defer w.mu.Unlock()
	return l.waiting[0].rec
}

// continueLane reports whether a lane has queued records; if not, the lane ends.
func (w *window) continueLane(l *lane) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(l.waiting) > 0 {
		return true
	}
	delete(w.mu.lanes, l.key)
	return false
}

// hasRemoval reports whether a lane has a removal, in its running batch or queued.
func (w *window) hasRemoval(l *lane) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return l.removals > 0
}

// addHanging adds to the number of abandoned calls of the handler for a key.
func (w *window) addHanging(key string, by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.hanging[key] += by; w.mu.hanging[key] == 0 {
		delete(w.mu.hanging, key)
	}
}

func (w *window) isHanging(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.hanging[key] > 0
}

// finishEntries marks entries as done.
func (w *window) finishEntries(done []*entry) {
	w.mu.Lock()
	for _, e := range done {
		w.removeLocked(e)
		if l := w.mu.lanes[string(e.rec.Key)]; l != nil && w.removes != nil && w.removes(e.rec) {
			l.removals--
		}
	}
	w.mu.Unlock()
	for _, signal := range []chan struct{}{w.room, w.finished} {
		select {
		case signal <- struct{}{}:
		default: // a signal is already pending
		}
	}
}

func (w *window) removeLocked(e *entry) {
	w.mu.records--
	w.mu.bytes -= int64(e.rec.SizeBytes())
	if e.next == nil {
		w.mu.newest = e.prev
	} else {
		e.next.prev = e.prev
	}
	if e.prev == nil {
		w.mu.oldest = e.next
		w.passLocked(&e.rec)
	} else {
		e.prev.next = e.next
	}
}

// passLocked records that the low-water mark has passed rec, and the last record read if
// nothing is left.
func (w *window) passLocked(rec *event.Record) {
	if w.mu.oldest == nil {
		last := w.mu.last
		rec = &last
	}
	if rec != nil {
		w.mu.passed = rec
	}
}

// lowWater returns the low-water mark and the last record known to be below it, nil if
// there is none.
func (w *window) lowWater() (event.Offset, *event.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.oldest != nil {
		return w.mu.oldest.rec.Position.Offset, w.mu.passed
	}
	return w.mu.next, w.mu.passed
}

// doneBelow returns the offset below which all records of a key are done.
func (w *window) doneBelow(key []byte) event.Offset {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.lanes[string(key)] == nil {
		return w.mu.next
	}
	for e := w.mu.oldest; e != nil; e = e.next {
		if bytes.Equal(e.rec.Key, key) {
			return e.rec.Position.Offset
		}
	}
	return w.mu.next
}

// windowFill is the fill level of a window.
type windowFill struct {
	records int
	bytes   int64
	low     event.Offset
	oldest  time.Time // when the oldest record was read; zero if there is none
	full    bool
}

func (w *window) fillLevel() windowFill {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := windowFill{records: w.mu.records, bytes: w.mu.bytes, low: w.mu.next, full: w.mu.full}
	if w.mu.oldest != nil {
		f.low, f.oldest = w.mu.oldest.rec.Position.Offset, w.mu.oldest.read
	}
	return f
}
