package audit

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/event"
)

const (
	kindChain    = 'c'
	kindLink     = 'h'
	kindEntry    = 'r'
	kindListed   = 'x'
	kindDay      = 'd'
	kindMinute   = 'm'
	kindInstance = 'i'
)

// The topics, as they appear in keys.
const (
	topicAccounts = 'a'
	topicRecords  = 'r'
)

// topics lists all topics, in the order of their names.
var topics = []event.Topic{event.TopicAccounts, event.TopicAudit}

func topicByte(t event.Topic) (byte, bool) {
	switch t {
	case event.TopicAccounts:
		return topicAccounts, true
	case event.TopicAudit:
		return topicRecords, true
	}
	return 0, false
}

func topicOf(b byte) event.Topic {
	if b == topicAccounts {
		return event.TopicAccounts
	}
	return event.TopicAudit
}

// place is the origin of an entry. It orders the entries of one millisecond.
type place struct {
	topic  byte
	offset event.Offset
	index  uint16
}

const placeBytes = 1 + 8 + 2

func (p place) append(key []byte) []byte {
	key = store.AppendUint64(append(key, p.topic), uint64(p.offset))
	return binary.BigEndian.AppendUint16(key, p.index)
}

// placeOf decodes the end of a key.
func placeOf(key []byte) place {
	b := key[len(key)-placeBytes:]
	return place{b[0], event.Offset(binary.BigEndian.Uint64(b[1:])), binary.BigEndian.Uint16(b[9:])}
}

func familyKey(kind byte) []byte { return []byte{byte(store.FamilyAudit), kind} }

func chainKey(topic byte) []byte { return append(familyKey(kindChain), topic) }

func linkKey(topic byte, at event.Offset) []byte {
	return store.AppendUint64(append(familyKey(kindLink), topic), uint64(at))
}

func entryKey(p place) []byte { return p.append(familyKey(kindEntry)) }

// entriesFrom returns the lowest possible key of an entry of the record at an offset.
func entriesFrom(topic byte, at event.Offset) []byte {
	return store.AppendUint64(append(familyKey(kindEntry), topic), uint64(at))
}

func listedKey(l listID, ms uint64, p place) []byte { return p.append(listedFrom(l, ms)) }

// listedFrom returns the lowest possible key in a list for an entry at a time.
func listedFrom(l listID, ms uint64) []byte {
	return store.AppendUint64(append(familyKey(kindListed), l[:]...), ms)
}

func instanceKey(topic byte, instance string) []byte {
	return append(append(familyKey(kindInstance), topic), instance...)
}

// unixMillis returns a time as it appears in keys; times before 1970 become 0.
func unixMillis(t time.Time) uint64 { return uint64(max(0, t.UnixMilli())) }

// readRow reads the row at key into row and reports whether there is one.
func readRow(r store.Reader, key []byte, row any) (bool, error) {
	value, ok, err := r.Read(key)
	if err != nil || !ok {
		return false, err
	}
	return true, decodeRow(key, value, row)
}

func decodeRow(key, value []byte, row any) error {
	if err := json.Unmarshal(value, row); err != nil {
		return fmt.Errorf("audit: row %q: %w", key, err)
	}
	return nil
}

func encodeRow(row any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(row); err != nil {
		return nil, fmt.Errorf("audit: encode a row: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

func writeRow(b *store.Batch, key []byte, row any) error {
	value, err := encodeRow(row)
	if err != nil {
		return err
	}
	return b.Set(key, value)
}

func readCount(r store.Reader, key []byte) (int64, error) {
	value, ok, err := r.Read(key)
	if err != nil || !ok {
		return 0, err
	}
	return countOf(key, value)
}

func countOf(key, value []byte) (int64, error) {
	if len(value) != 8 {
		return 0, fmt.Errorf("audit: row %q has %d bytes, want 8", key, len(value))
	}
	return int64(binary.BigEndian.Uint64(value)), nil
}

// forEachRow calls f for the rows from lo (inclusive) to hi (exclusive).
func forEachRow(r store.Reader, lo, hi []byte, f func(key, value []byte) error) (err error) {
	it, err := r.Iter(lo, hi)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		if err := f(it.Key(), it.Value()); err != nil {
			return err
		}
	}
	return it.Err()
}
