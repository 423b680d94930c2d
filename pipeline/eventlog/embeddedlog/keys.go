package embeddedlog

import (
	"encoding/binary"
	"fmt"

	"github.com/quarrysearch/quarry/schemas/event"
)

// Key prefixes; doc.go has the table.
const (
	familyMeta   = 'm'
	familyRecord = 'r'
	familyGroup  = 'g'
	familyBegin  = 'b'
)

// formatVersion is the version of the keys and of the meta value.
const formatVersion = 1

var metaKey = []byte{familyMeta, 'l', 'o', 'g'}

func encodeMeta(partitions int32) []byte {
	return binary.BigEndian.AppendUint32([]byte{formatVersion}, uint32(partitions))
}

func decodeMeta(b []byte) (partitions int32, err error) {
	if len(b) == 0 || b[0] != formatVersion {
		return 0, fmt.Errorf("format %x: this build reads version %d; use the release that wrote it", b, formatVersion)
	}
	if len(b) != 5 {
		return 0, fmt.Errorf("meta value %x: want 5 bytes", b)
	}
	n := binary.BigEndian.Uint32(b[1:])
	if n == 0 || n > MaxPartitions {
		return 0, fmt.Errorf("meta value %x: %d partitions, want 1 to %d", b, n, MaxPartitions)
	}
	return int32(n), nil
}

// partitionPrefix returns the key prefix of the records of a partition.
func partitionPrefix(topic event.Topic, partition int32) []byte {
	key := make([]byte, 0, 1+len(topic)+1+4+8)
	key = append(key, familyRecord)
	key = append(key, topic...)
	key = append(key, 0)
	return binary.BigEndian.AppendUint32(key, uint32(partition))
}

// beginKey returns the key of the first kept offset of a partition.
func beginKey(topic event.Topic, partition int32) []byte {
	key := partitionPrefix(topic, partition)
	key[0] = familyBegin
	return key
}

// appendOffset appends an offset to a copy of a partition's prefix.
func appendOffset(prefix []byte, offset event.Offset) []byte {
	return binary.BigEndian.AppendUint64(prefix[:len(prefix):len(prefix)], uint64(offset))
}

func offsetOf(key []byte) event.Offset {
	return event.Offset(binary.BigEndian.Uint64(key[len(key)-8:]))
}

func groupKey(topic event.Topic, group string, partition int32) []byte {
	key := make([]byte, 0, 1+len(topic)+1+len(group)+1+4)
	key = append(key, familyGroup)
	key = append(key, topic...)
	key = append(key, 0)
	key = append(key, group...)
	key = append(key, 0)
	return binary.BigEndian.AppendUint32(key, uint32(partition))
}
