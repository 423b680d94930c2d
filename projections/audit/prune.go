package audit

import (
	"encoding/binary"
	"errors"

	"github.com/quarrysearch/quarry/schemas/event"
)

// MaxPruned bounds the entries that one record removes, not counting those of the last
// removed record. A group adds at most event.MaxAuditRecords, so old entries are removed
// faster than new ones arrive.
const MaxPruned = 4 * event.MaxAuditRecords

// pruneExpired removes records that are older than the retention, with their entries. It
// uses the log's time, that of the record being applied.
func (c *change) pruneExpired() (err error) {
	now := unixMillis(c.rec.Time)
	keep := uint64(c.p.o.Retention.Milliseconds())
	if keep == 0 || now <= keep || c.anchored {
		return nil
	}
	it, err := c.b.Iter(linkKey(c.p.topic, c.chain.Oldest), linkKey(c.p.topic, c.rec.Position.Offset))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	pruned := 0
	for ok := it.First(); ok && pruned < MaxPruned; ok = it.Next() {
		row, err := decodeLink(it.Key(), it.Value())
		if err != nil {
			return err
		}
		if row.ms >= now-keep {
			return nil
		}
		at := event.Offset(binary.BigEndian.Uint64(it.Key()[3:]))
		n, err := c.pruneRecord(at, row)
		if err != nil {
			return err
		}
		pruned += max(1, n)
	}
	return it.Err()
}

// pruneRecord removes a record and returns the number of its entries.
func (c *change) pruneRecord(at event.Offset, row linkRow) (n int, err error) {
	err = forEachRow(c.b, entriesFrom(c.p.topic, at), entriesFrom(c.p.topic, at+1), func(key, value []byte) error {
		var e entryRow
		if err := decodeRow(key, value, &e); err != nil {
			return err
		}
		n++
		return c.removeEntry(placeOf(key), &e)
	})
	if err != nil {
		return n, err
	}
	if row.anchored {
		var before int64
		if c.chain.Anchor != nil {
			before = c.chain.Anchor.Records
		}
		c.chain.Anchor = &anchor{Offset: at, Records: before + 1, Hash: row.sum.String()}
	}
	c.chain.Oldest = at + 1
	return n, c.b.Delete(linkKey(c.p.topic, at))
}
