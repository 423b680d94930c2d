package audit

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/event"
)

// entry is a record waiting to be written.
type entry struct {
	record audit.Record
	size   int
	since  time.Time
	// done receives the result; nil if no caller waits for it.
	done chan<- error
}

// reportOutcome notifies the waiting caller.
func (e *entry) reportOutcome(err error) {
	if e.done != nil {
		e.done <- err
	}
}

// queue holds entries, the oldest first. Entries stay in it, and count, until they are
// written.
type queue struct {
	entries []entry
	bytes   int
	// awaited counts the entries that a caller waits for.
	awaited int
}

func (q *queue) len() int { return len(q.entries) }

func (q *queue) pushEntry(e entry) {
	q.entries = append(q.entries, e)
	q.bytes += e.size
	if e.done != nil {
		q.awaited++
	}
}

// oldestSince returns when the oldest entry arrived; zero if there is none.
func (q *queue) oldestSince() time.Time {
	if len(q.entries) == 0 {
		return time.Time{}
	}
	return q.entries[0].since
}

// firstGroup returns a copy of the first entries that fit into one event, at least one.
func (q *queue) firstGroup() []entry {
	n, bytes := 0, 0
	for n < min(len(q.entries), event.MaxAuditRecords) && (n == 0 || bytes+q.entries[n].size <= maxGroupBytes) {
		bytes += q.entries[n].size
		n++
	}
	return append([]entry(nil), q.entries[:n]...)
}

// dropFirst removes the first n entries.
func (q *queue) dropFirst(n int) {
	for i := range n {
		q.bytes -= q.entries[i].size
		if q.entries[i].done != nil {
			q.awaited--
		}
		q.entries[i] = entry{}
	}
	if q.entries = q.entries[n:]; len(q.entries) == 0 {
		q.entries = nil
	}
}

// overheadBytes is the size of a record without its text: field names, times, Go headers.
const overheadBytes = 384

// sizeOf returns the approximate size of a record, in memory and in the log.
func sizeOf(r *audit.Record) int {
	n := overheadBytes + len(r.Action) + len(r.Actor.User) + len(r.Actor.Credential) + len(r.Actor.Address) + len(r.Actor.Client) +
		len(r.Target) + len(r.RequestID)
	for name, value := range r.Metadata {
		n += len(name) + len(value) + 32
	}
	return n
}
