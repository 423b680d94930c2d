package embeddedlog

import (
	"bytes"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"reflect"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/schemas/event"
)

// TestFrameBytes compares the frame with the bytes in existing logs.
func TestFrameBytes(t *testing.T) {
	rec := event.Record{
		Key: []byte("42"), Value: []byte("{}"), Time: time.Unix(0, 1_000_000_000).UTC(),
		Headers: []event.Header{{Name: "ce_id", Value: []byte("x")}},
	}
	const want = "01" + "30561c4b" + "80a8d6b907" + "023432" + "01" + "0563655f6964" + "0178" + "7b7d"
	got := encodeFrame(&rec, rec.Time)
	if hex.EncodeToString(got) != want {
		t.Errorf("frame %x\nwant  %s", got, want)
	}
	decoded, err := decodeFrame(got)
	if err != nil || !reflect.DeepEqual(decoded, rec) {
		t.Errorf("decoded %+v (%v), want %+v", decoded, err, rec)
	}
}

func FuzzDecodeFrame(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x02\x00\x02\x01k\x01v{}"))
	f.Add([]byte("\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, body []byte) {
		// With a valid checksum, so that the decoder reaches the data that could make it
		// panic.
		sum := crc32.Checksum(body, castagnoli)
		frame := append([]byte{frameVersion, byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}, body...)
		rec, err := decodeFrame(frame)
		if err != nil {
			if !errors.Is(err, errCorrupt) {
				t.Fatalf("error of no sentinel: %v", err)
			}
			return
		}
		again, err := decodeFrame(encodeFrame(&rec, rec.Time))
		if err != nil || !again.Time.Equal(rec.Time) || !bytes.Equal(again.Key, rec.Key) ||
			!bytes.Equal(again.Value, rec.Value) || len(again.Headers) != len(rec.Headers) {
			t.Fatalf("decoded %+v (%v), was %+v", again, err, rec)
		}
	})
}
