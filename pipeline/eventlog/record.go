package eventlog

import (
	"fmt"
	"strings"

	"github.com/quarrysearch/quarry/schemas/event"
)

// MaxNameBytes bounds the names of topics and groups, as in Kafka.
const MaxNameBytes = 249

// nameCharacters are the characters allowed in names of topics and groups.
const nameCharacters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-"

// CheckRecord returns an error that wraps ErrRecordTooLarge if rec exceeds
// MaxRecordBytes.
func CheckRecord(rec *event.Record) error {
	if n := rec.SizeBytes(); n > MaxRecordBytes {
		return fmt.Errorf("record of %d bytes, at most %d: %w", n, MaxRecordBytes, ErrRecordTooLarge)
	}
	return nil
}

// CheckName returns an error if name is not a topic or group name that every driver
// accepts: 1 to MaxNameBytes letters, digits, '.', '_' and '-', but not "." or "..".
func CheckName(name string) error {
	if name == "" || len(name) > MaxNameBytes || name == "." || name == ".." || strings.Trim(name, nameCharacters) != "" {
		return fmt.Errorf("name %.80q: want 1 to %d letters, digits, '.', '_' or '-'", name, MaxNameBytes)
	}
	return nil
}

// CheckPartition returns an error if partition is not one of n; it accepts AnyPartition
// if anyPartition is set.
func CheckPartition(partition, n int32, anyPartition bool) error {
	if partition >= 0 && partition < n || anyPartition && partition == AnyPartition {
		return nil
	}
	return fmt.Errorf("partition %d: want 0 to %d", partition, n-1)
}

// CheckOffsets returns an error unless offsets are valid offsets of n partitions.
func CheckOffsets(offsets []event.Offset, n int32) error {
	if len(offsets) != int(n) {
		return fmt.Errorf("%d offsets for %d partitions", len(offsets), n)
	}
	for p, offset := range offsets {
		if offset < 0 {
			return fmt.Errorf("partition %d: offset %d, want at least 0", p, offset)
		}
	}
	return nil
}
