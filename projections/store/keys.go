package store

import (
	"encoding/binary"

	"github.com/quarrysearch/quarry/schemas/event"
)

// Family is the first byte of a key: the package that owns the row.
type Family byte

// The families of the store. See the table in the package documentation. The family of
// the segments is the last one, so that tables of rows never span it; otherwise
// compactions of rows would also rewrite segments.
const (
	FamilyMeta    Family = 'm'
	FamilyCatalog Family = 'c'
	// FamilyDeliveries is the family of the ledger.
	FamilyDeliveries Family = 'd'
	// FamilyAccounts, FamilyNumbers and FamilyAudit are in a separate store.
	FamilyAccounts Family = 'a'
	FamilyNumbers  Family = 'n'
	FamilyAudit    Family = 'u'
	FamilyPlaces   Family = 'p'
	FamilySegments Family = 's'
	FamilyLocal    Family = 'l'
)

const (
	metaVersion    = 'v'
	metaCheckpoint = 'c'
	metaSchema     = 's'
	metaTopic      = 't'
)

// AppendUint32 appends v to key, big-endian.
func AppendUint32(key []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(key, v) }

// AppendUint64 appends v to key, big-endian.
func AppendUint64(key []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(key, v) }

// Successor returns the first key after all keys that begin with prefix, or nil if
// there is none.
func Successor(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			next := append([]byte(nil), prefix[:i+1]...)
			next[i]++
			return next
		}
	}
	return nil
}

func versionKey() []byte { return []byte{byte(FamilyMeta), metaVersion} }

// checkpointKey returns the key of the checkpoint of a partition of a topic. The key for
// event.TopicEvents does not contain the topic, for compatibility with stores that
// followed only that topic.
func checkpointKey(topic event.Topic, partition int32) []byte {
	if topic == event.TopicEvents {
		return AppendUint32([]byte{byte(FamilyMeta), metaCheckpoint}, uint32(partition))
	}
	key := append([]byte{byte(FamilyMeta), metaTopic}, topic...)
	return AppendUint32(append(key, 0), uint32(partition))
}

func schemaKey(projection string) []byte {
	return append([]byte{byte(FamilyMeta), metaSchema}, projection...)
}
