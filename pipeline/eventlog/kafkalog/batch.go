package kafkalog

import (
	"encoding/binary"
	"hash/crc32"
	"time"

	"github.com/quarrysearch/quarry/schemas/event"
)

// batchStamp identifies a batch to the brokers. They add a batch of a producer and epoch
// to a partition only if its sequence follows the previous one, and answer a duplicate
// with its offset.
type batchStamp struct {
	producer int64
	epoch    int16
	sequence int32 // of the first record
}

// Offsets in a record batch of format 2, which starts with its size, as the client
// library requires.
const (
	batchStart      = 4               // after the size
	batchLengthAt   = batchStart + 8  // after the base offset
	batchContentAt  = batchStart + 12 // what the length counts
	batchChecksumAt = batchStart + 17 // after leader epoch and format
	batchCheckedAt  = batchStart + 21 // what the checksum covers
	batchRecordsAt  = batchStart + 61
)

const (
	batchFormat = 2
	// No compression, timestamps set by the producer, no transaction.
	noAttributes  = 0
	noLeaderEpoch = -1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encodeBatch returns records as one record batch of Kafka's format 2, prefixed by its
// size in four bytes. The layout is described in
// https://kafka.apache.org/documentation/#recordbatch. Rejected: the client's encoder,
// which does not support producer IDs.
//
// The records get the time at, or keep their own if it is zero.
func encodeBatch(s batchStamp, records []*event.Record, at time.Time) []byte {
	timeOf := func(rec *event.Record) int64 {
		if at.IsZero() {
			return rec.Time.UnixMilli()
		}
		return at.UnixMilli()
	}
	first, largest := timeOf(records[0]), timeOf(records[0])
	for _, rec := range records[1:] {
		largest = max(largest, timeOf(rec))
	}
	b := make([]byte, batchStart, batchSizeBound(records))
	b = binary.BigEndian.AppendUint64(b, 0) // base offset, set by the broker
	b = binary.BigEndian.AppendUint32(b, 0) // length, set below
	b = appendInt32(b, noLeaderEpoch)
	b = append(b, batchFormat)
	b = binary.BigEndian.AppendUint32(b, 0) // checksum, set below
	b = binary.BigEndian.AppendUint16(b, noAttributes)
	b = appendInt32(b, int32(len(records)-1))
	b = binary.BigEndian.AppendUint64(b, uint64(first))
	b = binary.BigEndian.AppendUint64(b, uint64(largest))
	b = binary.BigEndian.AppendUint64(b, uint64(s.producer))
	b = binary.BigEndian.AppendUint16(b, uint16(s.epoch))
	b = appendInt32(b, s.sequence)
	b = appendInt32(b, int32(len(records)))
	for i, rec := range records {
		b = appendRecord(b, i, timeOf(rec)-first, rec)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-batchStart))
	binary.BigEndian.PutUint32(b[batchLengthAt:], uint32(len(b)-batchContentAt))
	binary.BigEndian.PutUint32(b[batchChecksumAt:], crc32.Checksum(b[batchCheckedAt:], castagnoli))
	return b
}

// batchSizeBound returns an upper bound of the size of the batch.
func batchSizeBound(records []*event.Record) int {
	size := batchRecordsAt
	for _, rec := range records {
		size += sizeBound(rec)
	}
	return size
}

// sizeBound returns an upper bound of the size of a record in a batch.
func sizeBound(rec *event.Record) int {
	return rec.SizeBytes() + recordOverheadBytes + headerOverheadBytes*len(rec.Headers)
}

func appendInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }

// appendRecord appends a record whose time is that of the first plus delay, in
// milliseconds.
func appendRecord(b []byte, index int, delay int64, rec *event.Record) []byte {
	b = binary.AppendVarint(b, int64(recordLength(index, delay, rec)))
	b = append(b, noAttributes)
	b = binary.AppendVarint(b, delay)
	b = binary.AppendVarint(b, int64(index))
	b = appendNullable(b, rec.Key)
	b = appendNullable(b, rec.Value)
	b = binary.AppendVarint(b, int64(len(rec.Headers)))
	for _, h := range rec.Headers {
		b = binary.AppendVarint(b, int64(len(h.Name)))
		b = append(b, h.Name...)
		b = appendNullable(b, h.Value)
	}
	return b
}

// recordLength returns the number of bytes of a record after its length field.
func recordLength(index int, delay int64, rec *event.Record) int {
	n := 1 + varintLength(int(delay)) + varintLength(index) + nullableLength(rec.Key) + nullableLength(rec.Value) + varintLength(len(rec.Headers))
	for _, h := range rec.Headers {
		n += varintLength(len(h.Name)) + len(h.Name) + nullableLength(h.Value)
	}
	return n
}

// appendNullable appends a length, -1 for nil, and the bytes.
func appendNullable(b, value []byte) []byte {
	if value == nil {
		return binary.AppendVarint(b, -1)
	}
	return append(binary.AppendVarint(b, int64(len(value))), value...)
}

func nullableLength(value []byte) int {
	if value == nil {
		return varintLength(-1)
	}
	return varintLength(len(value)) + len(value)
}

func varintLength(v int) int {
	var b [binary.MaxVarintLen64]byte
	return binary.PutVarint(b[:], int64(v))
}
