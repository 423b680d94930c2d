package kafkalog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/segmentio/kafka-go/protocol"
)

// TestEncodeBatch decodes our batches with the client's decoder, which verifies the
// checksum.
func TestEncodeBatch(t *testing.T) {
	records := []*event.Record{
		{Key: []byte("k"), Value: []byte("v")},
		{},
		{Key: []byte{}, Value: []byte{}},
		{Key: []byte("k2"), Value: bytes.Repeat([]byte("long"), 5000), Headers: []event.Header{
			{Name: "ce_id", Value: []byte("x")}, {Name: "empty", Value: []byte{}}, {Name: "", Value: nil},
		}},
		{Value: make([]byte, eventlog.MaxRecordBytes)},
	}
	at := time.UnixMilli(1_790_000_000_123).UTC()
	s := batchStamp{producer: 1 << 40, epoch: 7, sequence: 1 << 20}
	encoded := encodeBatch(s, records, at)
	if bound := batchSizeBound(records); len(encoded) > bound || cap(encoded) != bound {
		t.Errorf("%d bytes in a slice of %d, bound %d", len(encoded), cap(encoded), bound)
	}
	var set protocol.RecordSet
	if _, err := set.ReadFrom(bytes.NewReader(encoded)); err != nil {
		t.Fatal(err)
	}
	stream, ok := set.Records.(*protocol.RecordStream)
	if !ok || len(stream.Records) != 1 {
		t.Fatalf("decoded %T", set.Records)
	}
	batch, ok := stream.Records[0].(*protocol.RecordBatch)
	if !ok {
		t.Fatalf("decoded a stream of %T", stream.Records[0])
	}
	if got := (batchStamp{batch.ProducerID, batch.ProducerEpoch, batch.BaseSequence}); got != s {
		t.Errorf("stamp %+v, want %+v", got, s)
	}
	r := &reader{id: partitionID{"t", 0}}
	for i, want := range records {
		rec, err := set.Records.ReadRecord()
		if err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		got, err := r.convertRecord(rec)
		if err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		if got.Position.Offset != event.Offset(i) || !got.Time.Equal(at) {
			t.Errorf("record %d at offset %d, %v; want %v", i, got.Position.Offset, got.Time, at)
		}
		sameBytes(t, "key", got.Key, want.Key)
		sameBytes(t, "value", got.Value, want.Value)
		if len(got.Headers) != len(want.Headers) {
			t.Fatalf("record %d: %d headers, want %d", i, len(got.Headers), len(want.Headers))
		}
		for j, h := range want.Headers {
			if got.Headers[j].Name != h.Name {
				t.Errorf("header %q, want %q", got.Headers[j].Name, h.Name)
			}
			sameBytes(t, "header "+h.Name, got.Headers[j].Value, h.Value)
		}
	}
	if _, err := set.Records.ReadRecord(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last record: %v, want EOF", err)
	}
}

// TestEncodeBatchKeepsTimes encodes records that are not in the order of their times.
func TestEncodeBatchKeepsTimes(t *testing.T) {
	var records []*event.Record
	times := []int64{1_790_000_000_000, 1_790_000_000_007, 5, 1_790_000_000_001}
	for _, ms := range times {
		records = append(records, &event.Record{Value: []byte("v"), Time: time.UnixMilli(ms).Add(999 * time.Microsecond)})
	}
	encoded := encodeBatch(batchStamp{}, records, time.Time{})
	if got := int64(binary.BigEndian.Uint64(encoded[batchStart+35:])); got != times[1] {
		t.Errorf("the largest time is %d, want %d", got, times[1])
	}
	var set protocol.RecordSet
	if _, err := set.ReadFrom(bytes.NewReader(encoded)); err != nil {
		t.Fatal(err)
	}
	for _, want := range times {
		rec, err := set.Records.ReadRecord()
		if err != nil || rec.Time.UnixMilli() != want {
			t.Errorf("record of %v, %v; want %d", rec, err, want)
		}
	}
}

func sameBytes(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) || (got == nil) != (want == nil) {
		t.Errorf("%s: %d bytes (nil: %t), want %d (nil: %t)", what, len(got), got == nil, len(want), want == nil)
	}
}
