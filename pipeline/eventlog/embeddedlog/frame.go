package embeddedlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/quarrysearch/quarry/schemas/event"
)

// errCorrupt means that a stored frame is not one that encodeFrame wrote.
var errCorrupt = errors.New("record is corrupt")

// frameVersion is the first byte of every stored record.
const frameVersion = 1

// frameHeaderBytes is the size of the version and of the checksum of the rest.
const frameHeaderBytes = 5

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encodeFrame returns the stored form of rec:
//
//	version 1 | CRC-32C (4, big-endian) of the rest | time (varint, Unix ns) |
//	length, key | number of headers, then length, name, length, value of each |
//	value
//
// Lengths and numbers are unsigned varints; the value extends to the end.
func encodeFrame(rec *event.Record, t time.Time) []byte {
	size := len(rec.Key) + len(rec.Value) + frameHeaderBytes + (3+2*len(rec.Headers))*binary.MaxVarintLen64
	for _, h := range rec.Headers {
		size += len(h.Name) + len(h.Value)
	}
	b := make([]byte, frameHeaderBytes, size)
	b = binary.AppendVarint(b, t.UnixNano())
	b = appendBytes(b, rec.Key)
	b = binary.AppendUvarint(b, uint64(len(rec.Headers)))
	for _, h := range rec.Headers {
		b = appendBytes(b, []byte(h.Name))
		b = appendBytes(b, h.Value)
	}
	b = append(b, rec.Value...)
	b[0] = frameVersion
	binary.BigEndian.PutUint32(b[1:], crc32.Checksum(b[frameHeaderBytes:], castagnoli))
	return b
}

func appendBytes(b, s []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decodeFrame decodes the record in b, and retains b.
func decodeFrame(b []byte) (event.Record, error) {
	var rec event.Record
	if len(b) < frameHeaderBytes {
		return rec, fmt.Errorf("%w: %d bytes", errCorrupt, len(b))
	}
	if b[0] != frameVersion {
		return rec, fmt.Errorf("%w: frame version %d, want %d", errCorrupt, b[0], frameVersion)
	}
	want := binary.BigEndian.Uint32(b[1:])
	d := frameDecoder{rest: b[frameHeaderBytes:]}
	if got := crc32.Checksum(d.rest, castagnoli); got != want {
		return rec, fmt.Errorf("%w: checksum %08x, want %08x", errCorrupt, got, want)
	}
	rec.Time = time.Unix(0, d.readVarint()).UTC()
	rec.Key = d.readBytes()
	rec.Headers = d.readHeaders()
	rec.Value = d.rest
	if d.failed {
		return event.Record{}, fmt.Errorf("%w: a length is out of range", errCorrupt)
	}
	return rec, nil
}

// frameDecoder reads values from the front of rest; failed stays set once a length does
// not fit.
type frameDecoder struct {
	rest   []byte
	failed bool
}

func (d *frameDecoder) takeBytes(n int) []byte {
	if d.failed || n <= 0 || n > len(d.rest) {
		d.failed = d.failed || n != 0
		return nil
	}
	taken := d.rest[:n:n]
	d.rest = d.rest[n:]
	return taken
}

func (d *frameDecoder) readVarint() int64 {
	v, n := binary.Varint(d.rest)
	d.failed = d.failed || n <= 0
	d.takeBytes(n)
	return v
}

func (d *frameDecoder) readUvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	d.failed = d.failed || n <= 0
	d.takeBytes(n)
	return v
}

// readBytes reads a length and that many bytes; nil for length 0.
func (d *frameDecoder) readBytes() []byte {
	n := d.readUvarint()
	if n > uint64(len(d.rest)) {
		d.failed = true
		return nil
	}
	return d.takeBytes(int(n))
}

func (d *frameDecoder) readHeaders() []event.Header {
	n := d.readUvarint()
	// A header takes at least two bytes, so a larger count is invalid.
	if n > uint64(len(d.rest)/2) {
		d.failed = true
		return nil
	}
	if n == 0 {
		return nil
	}
	headers := make([]event.Header, n)
	for i := range headers {
		headers[i] = event.Header{Name: string(d.readBytes()), Value: d.readBytes()}
	}
	return headers
}
