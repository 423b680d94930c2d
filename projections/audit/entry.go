package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/auditlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// entryRow is the value of u r.
type entryRow struct {
	audit.Record
	// Refused is the reason why a change of the accounts had no effect.
	Refused string `json:"refused,omitempty"`
}

// ActorID returns the ID under which an actor is listed: the user, or the kind of actor
// if there is no user.
func ActorID(a account.Actor) string {
	if a.User != "" {
		return string(a.User)
	}
	return string(a.Kind)
}

func (e *entryRow) toEntry(p place) *auditlog.Entry {
	out := &auditlog.Entry{Record: e.Record, ID: p.entryID(), Index: int(p.index), Refused: e.Refused}
	out.Position = event.Position{Topic: topicOf(p.topic), Offset: p.offset}
	return out
}

// entryID returns an ID such as "accounts-17-0" or "audit-123-4".
func (p place) entryID() string {
	_, name, _ := strings.Cut(string(topicOf(p.topic)), ".")
	return name + "-" + strconv.FormatInt(int64(p.offset), 10) + "-" + strconv.Itoa(int(p.index))
}

// recordEntries returns the entries of a group of records.
func recordEntries(ev *event.AuditRecorded) []entryRow {
	entries := make([]entryRow, len(ev.Records))
	for i := range ev.Records {
		entries[i].Record = ev.Records[i]
	}
	return entries
}

// listID identifies a list of entries.
type listID [8]byte

// listOf returns the list of an action and an actor; empty means any.
func listOf(action audit.Action, actor string) (l listID) {
	if action == "" && actor == "" {
		return l
	}
	sum := sha256.Sum256([]byte(string(action) + "\x00" + actor))
	copy(l[:], sum[:])
	return l
}

// listIDs returns the lists that contain an entry.
func (e *entryRow) listIDs() [4]listID {
	actor := ActorID(e.Actor)
	return [4]listID{{}, listOf(e.Action, ""), listOf("", actor), listOf(e.Action, actor)}
}

// add writes an entry of the record.
func (c *change) add(index int, e *entryRow) error {
	p := place{c.p.topic, c.rec.Position.Offset, uint16(index)}
	if err := writeRow(c.b, entryKey(p), e); err != nil {
		return err
	}
	ms := unixMillis(e.At)
	for _, l := range e.listIDs() {
		if err := c.b.Set(listedKey(l, ms, p), nil); err != nil {
			return err
		}
		c.adjustCount(l, ms, 1)
	}
	c.chain.Entries++
	return nil
}

// removeEntry removes the rows that add wrote.
func (c *change) removeEntry(p place, e *entryRow) error {
	ms := unixMillis(e.At)
	for _, l := range e.listIDs() {
		if err := c.b.Delete(listedKey(l, ms, p)); err != nil {
			return err
		}
		c.adjustCount(l, ms, -1)
	}
	c.chain.Entries--
	return c.b.Delete(entryKey(p))
}

// isRepeated reports whether the group was appended before: if the log did not
// acknowledge it, it was appended again. Event IDs have the form instance/number, and the
// numbers of an instance increase.
func (c *change) isRepeated() (bool, error) {
	id := event.IDOf(c.rec)
	slash := strings.LastIndexByte(id, '/')
	if slash < 0 {
		return false, nil
	}
	number, err := strconv.ParseUint(id[slash+1:], 10, 63)
	if err != nil {
		return false, nil // its producer uses another form of IDs
	}
	key := instanceKey(c.p.topic, id[:slash])
	last, err := readCount(c.b, key)
	if err != nil || int64(number) <= last {
		return true, err
	}
	return false, c.b.Set(key, store.AppendUint64(nil, number))
}

// parseID parses the output of entryID.
func parseID(id string) (place, error) {
	parts := strings.Split(id, "-")
	if len(parts) == 3 {
		topic, known := topicByte(event.Topic("quarry." + parts[0]))
		offset, err1 := strconv.ParseUint(parts[1], 10, 63)
		index, err2 := strconv.ParseUint(parts[2], 10, 16)
		if known && err1 == nil && err2 == nil {
			return place{topic, event.Offset(offset), uint16(index)}, nil
		}
	}
	return place{}, fmt.Errorf("%w: %.80q", ErrCursor, id)
}

// readEntry reads the entry at a place.
func readEntry(r store.Reader, p place) (*auditlog.Entry, bool, error) {
	var row entryRow
	found, err := readRow(r, entryKey(p), &row)
	if err != nil || !found {
		return nil, false, err
	}
	return row.toEntry(p), true, nil
}

const (
	minuteMillis = uint64(time.Minute / time.Millisecond)
	dayMinutes   = 24 * 60
	dayMillis    = dayMinutes * minuteMillis
)

// adjustCount records that the length of a list changes by a number.
func (c *change) adjustCount(l listID, ms uint64, by int64) {
	c.counts[string(counterKey(kindDay, l, ms/dayMillis, c.p.topic))] += by
	c.counts[string(counterKey(kindMinute, l, ms/minuteMillis, c.p.topic))] += by
}

func counterKey(kind byte, l listID, unit uint64, topic byte) []byte {
	return append(countersFrom(kind, l, unit), topic)
}

// countersFrom returns the lowest possible key of a counter for a unit.
func countersFrom(kind byte, l listID, unit uint64) []byte {
	return binary.BigEndian.AppendUint32(append(familyKey(kind), l[:]...), uint32(min(unit, 1<<32-1)))
}

func counterUnit(key []byte) uint64 {
	return uint64(binary.BigEndian.Uint32(key[2+len(listID{}):]))
}

// writeCounts writes the changed counters.
func (c *change) writeCounts() error {
	for key := range maps.Keys(c.counts) {
		by := c.counts[key]
		if by == 0 {
			continue
		}
		before, err := readCount(c.b, []byte(key))
		if err != nil {
			return err
		}
		if before+by < 0 {
			return fmt.Errorf("audit: counter %q of %d changes by %d", key, before, by)
		}
		if before+by == 0 {
			err = c.b.Delete([]byte(key))
		} else {
			err = c.b.Set([]byte(key), store.AppendUint64(nil, uint64(before+by)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
