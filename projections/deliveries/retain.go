package deliveries

import (
	"bytes"
	"errors"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// maxDropped bounds the entries that one record removes. A record adds at most one push,
// so the partition is soon within its bound again after an entry that was growing, and
// therefore kept, is removed.
const maxDropped = 4

// trimEntries counts what the record added to the entry at current, and removes the
// oldest entries beyond MaxPushes.
func (c *change) trimEntries(current event.Offset) error {
	if c.counters.Pushes == 0 {
		c.counters.Oldest = current
	}
	c.counters.Pushes++
	for range maxDropped {
		if c.counters.Pushes <= maxPushes {
			return nil
		}
		dropped, err := c.dropOldest(current)
		if err != nil || !dropped {
			return err
		}
	}
	return nil
}

// maxPushes is MaxPushes; tests change it.
var maxPushes = MaxPushes

// dropOldest removes the first entry, unless it is the one that is growing.
func (c *change) dropOldest(current event.Offset) (dropped bool, err error) {
	entries := keyPrefix(kindEntry, c.at.Partition)
	it, err := c.b.Iter(offsetKey(kindEntry, c.at.Partition, c.counters.Oldest), store.Successor(entries))
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	if !it.First() {
		return false, it.Err()
	}
	at := keyOffset(it.Key())
	if at == current {
		return false, nil
	}
	var entry entryRow
	if err := decodeRow(it.Key(), it.Value(), &entry); err != nil {
		return false, err
	}
	if err := c.deleteEntry(at, &entry); err != nil {
		return false, err
	}
	c.counters.Pushes -= max(1, entry.Pushes)
	c.counters.Oldest = at + 1
	return true, nil
}

// deleteEntry removes the rows of an entry.
func (c *change) deleteEntry(at event.Offset, entry *entryRow) error {
	if err := c.b.Delete(offsetKey(kindEntry, c.at.Partition, at)); err != nil {
		return err
	}
	if entry.DeliveryID != "" {
		if err := c.b.Delete(byIDKey(c.at.Partition, entry.DeliveryID, at)); err != nil {
			return err
		}
	}
	if entry.Pushes == 0 {
		return nil
	}
	if err := c.deleteKnown(at, entry, ""); err != nil {
		return err
	}
	return eachPush(c.b, c.at.Partition, at, entry.Last, func(offset event.Offset, row *pushRow) error {
		if row.Answer == nil {
			c.counters.Waiting--
			if err := c.b.Delete(openKey(c.at.Partition, entry.Repository, row.Ref, offset)); err != nil {
				return err
			}
		}
		if err := c.deleteKnown(at, entry, row.Ref); err != nil {
			return err
		}
		if err := c.leaveRef(row, offset); err != nil {
			return err
		}
		return c.b.Delete(offsetKey(kindPush, c.at.Partition, offset))
	})
}

// leaveRef removes the row of a ref if the push is its latest.
func (c *change) leaveRef(push *pushRow, at event.Offset) error {
	key := refKey(c.at.Partition, push.Repository, push.Ref)
	if bytes.Equal(key, c.ref) {
		return nil // this record adds a later one
	}
	row, found, err := readRef(c.b, key)
	if err != nil || !found || row.last != at {
		return err
	}
	return c.b.Delete(key)
}

// deleteKnown removes the row by which a repetition of the delivery is recognized, unless
// a later entry has replaced it.
func (c *change) deleteKnown(at event.Offset, entry *entryRow, ref code.Ref) error {
	if entry.DeliveryID == "" {
		return nil
	}
	key := knownKey(c.at.Partition, entry.Connection, entry.DeliveryID, entry.BodySHA256, ref)
	holder, ok, err := readOffset(c.b, key)
	if err != nil || !ok || holder != at {
		return err
	}
	return c.b.Delete(key)
}

// eachPush calls f for the pushes of the entry at first, the last of which is at last.
// Pushes of other entries may be between them.
func eachPush(r store.Reader, partition int32, first, last event.Offset, f func(event.Offset, *pushRow) error) (err error) {
	it, err := r.Iter(offsetKey(kindPush, partition, first), offsetKey(kindPush, partition, last+1))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		var row pushRow
		if err := decodeRow(it.Key(), it.Value(), &row); err != nil {
			return err
		}
		if row.Entry != first {
			continue
		}
		if err := f(keyOffset(it.Key()), &row); err != nil {
			return err
		}
	}
	return nil
}
