package deliveries

import (
	"time"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/ledger"
)

// change is the effect of one record.
type change struct {
	b        *store.Batch
	at       event.Position
	loggedAt time.Time // by the log's clock
	counters countersRow
	effect   *effect
	// ref is the key of the ref whose push this record adds.
	ref []byte
}

// withCounters reads the counters of the partition, runs f and writes them.
func (c *change) withCounters(f func() error) error {
	key := keyPrefix(kindCounters, c.at.Partition)
	if _, err := readRow(c.b, key, &c.counters); err != nil {
		return err
	}
	before := c.counters
	if err := f(); err != nil {
		return err
	}
	c.effect.waiting = c.counters.Waiting
	if c.counters == before {
		return nil
	}
	return writeRow(c.b, key, &c.counters)
}

// applyPush adds a push to its delivery, or counts it as a repetition.
func (c *change) applyPush(ev *event.Push, source string) error {
	at, entry, err := c.findEntry(ev)
	if err != nil {
		return err
	}
	if entry == nil {
		at = c.at.Offset
		entry = &entryRow{
			Source: source, Connection: ev.Connection, DeliveryID: ev.DeliveryID, BodySHA256: ev.BodySHA256,
			Repository: ev.Repository, ReceivedAt: ev.ReceivedAt, LoggedAt: c.loggedAt, FirstRef: ev.Ref,
		}
		if err := c.indexID(ev.DeliveryID); err != nil {
			return err
		}
		if ev.DeliveryID != "" {
			if err := writeOffset(c.b, knownKey(c.at.Partition, ev.Connection, ev.DeliveryID, ev.BodySHA256, ""), at); err != nil {
				return err
			}
		}
	} else {
		key := knownKey(c.at.Partition, ev.Connection, ev.DeliveryID, ev.BodySHA256, ev.Ref)
		repeats, err := c.isRepeat(entry, ev, key)
		if err != nil || repeats {
			return err
		}
		if err := writeOffset(c.b, key, at); err != nil {
			return err
		}
	}
	return c.addPush(ev, at, entry)
}

// indexID adds an index row with which the entry that begins at the record is found by
// its delivery ID.
func (c *change) indexID(deliveryID string) error {
	if deliveryID == "" {
		return nil
	}
	return c.b.Set(byIDKey(c.at.Partition, deliveryID, c.at.Offset), nil)
}

// findEntry returns the entry of a push, or nil if the push begins a new one.
func (c *change) findEntry(ev *event.Push) (event.Offset, *entryRow, error) {
	if ev.DeliveryID == "" {
		return 0, nil, nil
	}
	at, entry, err := c.knownEntry(ev.Connection, ev.DeliveryID, ev.BodySHA256)
	if err != nil || entry == nil || entry.Repository != ev.Repository {
		return 0, nil, err
	}
	if entry.Pushes >= MaxPushesPerDelivery && entry.FirstRef != ev.Ref {
		return 0, nil, nil
	}
	return at, entry, nil
}

// knownEntry returns the entry of a delivery that led to pushes, or nil if there is none.
func (c *change) knownEntry(connection, deliveryID, body string) (event.Offset, *entryRow, error) {
	at, ok, err := readOffset(c.b, knownKey(c.at.Partition, connection, deliveryID, body, ""))
	if err != nil || !ok {
		return 0, nil, err
	}
	entry := new(entryRow)
	if ok, err = readRow(c.b, offsetKey(kindEntry, c.at.Partition, at), entry); err != nil || !ok {
		return 0, nil, err
	}
	return at, entry, nil
}

// isRepeat reports whether the delivery already has a push of that ref. A repetition is
// counted with the first ref, so only once for all refs. A retry after an append that
// failed halfway is such a repetition, too.
func (c *change) isRepeat(entry *entryRow, ev *event.Push, key []byte) (bool, error) {
	if ev.Ref != entry.FirstRef {
		_, ok, err := readOffset(c.b, key)
		return ok, err
	}
	at, _, err := readOffset(c.b, knownKey(c.at.Partition, ev.Connection, ev.DeliveryID, ev.BodySHA256, ""))
	if err != nil {
		return true, err
	}
	entry.countDuplicate(1, ev.ReceivedAt)
	return true, writeRow(c.b, offsetKey(kindEntry, c.at.Partition, at), entry)
}

func (e *entryRow) countDuplicate(times int64, last time.Time) {
	if e.Duplicates == nil {
		e.Duplicates = new(duplicates)
	}
	e.Duplicates.Count += times
	e.Duplicates.Last = last
}

func (c *change) addPush(ev *event.Push, at event.Offset, entry *entryRow) error {
	entry.Pushes++
	entry.Last = c.at.Offset
	row := pushRow{Entry: at, Repository: ev.Repository, Ref: ev.Ref, Before: ev.Before, After: ev.After, Action: ev.Action}
	if err := writeRow(c.b, offsetKey(kindEntry, c.at.Partition, at), entry); err != nil {
		return err
	}
	if err := writeRow(c.b, offsetKey(kindPush, c.at.Partition, c.at.Offset), &row); err != nil {
		return err
	}
	if err := c.b.Set(openKey(c.at.Partition, ev.Repository, ev.Ref, c.at.Offset), nil); err != nil {
		return err
	}
	c.counters.Waiting++
	c.effect.outcomes[ledger.OutcomeWaiting]++
	if err := c.markWaiting(ev); err != nil {
		return err
	}
	return c.trimEntries(at)
}

// markWaiting records the position of the waiting push.
func (c *change) markWaiting(ev *event.Push) error {
	c.ref = refKey(c.at.Partition, ev.Repository, ev.Ref)
	row, found, err := readRef(c.b, c.ref)
	if err != nil {
		return err
	}
	if !found || row.from > row.last {
		row.from = c.at.Offset
	}
	row.last = c.at.Offset
	return writeRef(c.b, c.ref, row)
}

// applyDelivery adds a delivery without a push.
func (c *change) applyDelivery(ev *event.Delivery, source string) error {
	entry := &entryRow{
		Source: source, Connection: ev.Connection, DeliveryID: ev.DeliveryID, BodySHA256: ev.BodySHA256,
		ReceivedAt: ev.ReceivedAt, LoggedAt: c.loggedAt, Last: c.at.Offset,
		Outcome: string(ev.Outcome), Reason: ev.Reason, Of: ev.Of, Suppressed: ev.Suppressed,
	}
	if ev.Outcome == event.DeliveryDuplicate {
		at, first, err := c.knownEntry(ev.Connection, ev.DeliveryID, ev.BodySHA256)
		if err != nil {
			return err
		}
		if first != nil {
			entry.Repository = first.Repository
			entry.Of = &event.Position{Topic: c.at.Topic, Partition: c.at.Partition, Offset: at} // Of may be a registration before it
			first.countDuplicate(1, ev.ReceivedAt)
			if err := writeRow(c.b, offsetKey(kindEntry, c.at.Partition, at), first); err != nil {
				return err
			}
		}
	}
	if err := writeRow(c.b, offsetKey(kindEntry, c.at.Partition, c.at.Offset), entry); err != nil {
		return err
	}
	if err := c.indexID(ev.DeliveryID); err != nil {
		return err
	}
	c.effect.outcomes[entry.Outcome]++
	return c.trimEntries(c.at.Offset)
}

// applyIndexed answers the waiting pushes of a ref at or before the cause.
func (c *change) applyIndexed(ev *event.RevisionIndexed) error {
	if ev.Cause.Topic != c.at.Topic || ev.Cause.Partition != c.at.Partition {
		return nil
	}
	key := refKey(c.at.Partition, ev.Repository, ev.Ref)
	row, found, err := readRef(c.b, key)
	if err != nil || !found || row.from > min(row.last, ev.Cause.Offset) {
		return err
	}
	if err := c.answerRef(ev, row); err != nil {
		return err
	}
	row.from = ev.Cause.Offset + 1
	return writeRef(c.b, key, row)
}

// answerRef answers the waiting pushes of the revision's ref, starting at row.from.
func (c *change) answerRef(ev *event.RevisionIndexed, row refRow) error {
	a := answer{
		Commit: ev.Commit, Segments: len(ev.Segments), Cause: ev.Cause.Offset, Answered: c.at.Offset,
		DoneAt: ev.IndexedAt, LoggedAt: c.loggedAt,
	}
	for i := range ev.Segments {
		a.Documents += ev.Segments[i].Documents
	}
	if n := len(ev.Changes); ev.ChangesObject == "" {
		a.Changes = &n
	}
	it, err := c.b.Iter(openKey(c.at.Partition, ev.Repository, ev.Ref, row.from),
		openKey(c.at.Partition, ev.Repository, ev.Ref, min(row.last, ev.Cause.Offset)+1))
	if err != nil {
		return err
	}
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		at := keyOffset(it.Key())
		a.Outcome = indexedOutcome(ev, at)
		err = c.answerPush(ev.Repository, at, a)
	}
	if closeErr := it.Close(); err == nil {
		err = closeErr
	}
	return err
}

func indexedOutcome(ev *event.RevisionIndexed, at event.Offset) string {
	switch {
	case at != ev.Cause.Offset:
		return ledger.OutcomeCoalesced
	case ev.Commit == "":
		return ledger.OutcomeDeleted
	}
	return ledger.OutcomeIndexed
}

// applyHandled answers the pushes that the event names.
func (c *change) applyHandled(ev *event.PushesHandled) error {
	for _, p := range ev.Pushes {
		err := c.answerPush(ev.Repository, p.Offset, answer{
			Outcome: string(p.Outcome), Commit: p.Commit, Answered: c.at.Offset, DoneAt: ev.At, LoggedAt: c.loggedAt,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// answerPush answers a push of a repository, unless it has an answer or is no longer
// stored.
func (c *change) answerPush(id code.RepositoryID, at event.Offset, a answer) error {
	key := offsetKey(kindPush, c.at.Partition, at)
	var row pushRow
	found, err := readRow(c.b, key, &row)
	if err != nil || !found || row.Answer != nil || row.Repository != id {
		return err
	}
	row.Answer = &a
	if err := c.b.Delete(openKey(c.at.Partition, id, row.Ref, at)); err != nil {
		return err
	}
	c.counters.Waiting--
	c.effect.outcomes[a.Outcome]++
	return writeRow(c.b, key, &row)
}
