package segment

import (
	"encoding/binary"
	"fmt"
)

// formatVersion is the first byte of a header. A new version needs a page in
// docs/format and a reader for the old one, or a rebuild of the projections.
const formatVersion = 6

// Earlier versions that are read: that before the definitions were added, and that before the
// lists of capital pairs and long lines. Version 5 also has pairs with a digit or an underscore,
// which are not looked up, and postings.ParseList reads its lists.
const (
	versionWithoutDefinitions = 3
	versionWithoutCapitals    = 4
)

// FormatVersion is the version of the segments that this release writes.
const FormatVersion = formatVersion

// FrameBytes is the uncompressed size of a frame of text, the amount to decompress in
// order to read one block.
const FrameBytes = 16 << 10

// groupFrames is the number of frames in a value: continued reading needs one read of the
// store per 64 KiB of text.
const groupFrames = 4

// PageBytes is the size at which a page of postings is closed. A list is always within
// one page.
const PageBytes = 32 << 10

// symbolGroupBytes is the uncompressed size at which a group of symbol records is closed.
const symbolGroupBytes = 8 << 10

// maxNames bounds the table of languages and of symbol kinds.
const maxNames = 1 << 12

// header is the decoded value of partHeader.
type header struct {
	version                byte
	documents, symbols     int
	textBytes, symbolBytes int
	lists                  int
	languages, kinds       []string
	frameLines             []uint32 // line feeds before frame i; one more at the end
	pageStart              []uint32 // offset of page i in the postings; one more at the end
	groupFirst             []uint32 // first document of symbol group i
	definitions            []uint32 // first hash of page i of the definitions
}

func (h *header) frameCount() int { return len(h.frameLines) - 1 }

func (h *header) encode() []byte {
	b := []byte{h.version}
	for _, n := range []int{h.documents, h.symbols, h.textBytes, h.symbolBytes, h.lists} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = appendNames(b, h.languages)
	b = appendNames(b, h.kinds)
	b = appendAscending(b, h.frameLines)
	b = appendAscending(b, h.pageStart)
	b = appendAscending(b, h.groupFirst)
	if h.version == versionWithoutDefinitions {
		return b
	}
	return appendAscending(b, h.definitions)
}

func appendNames(b []byte, names []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(names)))
	for _, s := range names {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}

func appendAscending(b []byte, values []uint32) []byte {
	b = binary.AppendUvarint(b, uint64(len(values)))
	previous := uint32(0)
	for _, v := range values {
		b = binary.AppendUvarint(b, uint64(v-previous))
		previous = v
	}
	return b
}

func decodeHeader(b []byte) (*header, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("%w: empty header", ErrCorrupt)
	}
	if b[0] < versionWithoutDefinitions || b[0] > formatVersion {
		return nil, fmt.Errorf("%w: version %d, this program reads %d to %d", ErrFormat, b[0], versionWithoutDefinitions, formatVersion)
	}
	d := decoder{b: b[1:]}
	h := &header{version: b[0]}
	for _, n := range []*int{&h.documents, &h.symbols, &h.textBytes, &h.symbolBytes, &h.lists} {
		*n = int(d.readUvarint(maxSpace))
	}
	h.languages = d.readNames()
	h.kinds = d.readNames()
	h.frameLines = d.readAscending()
	h.pageStart = d.readAscending()
	h.groupFirst = d.readAscending()
	if h.version != versionWithoutDefinitions {
		h.definitions = d.readAscending()
	}
	if d.failed || len(d.b) > 0 {
		return nil, fmt.Errorf("%w: header", ErrCorrupt)
	}
	space := h.textBytes + h.symbolBytes
	if len(h.frameLines) != (space+FrameBytes-1)/FrameBytes+1 || len(h.pageStart) == 0 {
		return nil, fmt.Errorf("%w: header counts", ErrCorrupt)
	}
	return h, nil
}

// maxSpace bounds every number in a header: it is the maximum text space of a segment.
const maxSpace = 1 << 30

// decoder decodes numbers, and records whether one was missing or out of bounds.
type decoder struct {
	b      []byte
	failed bool
}

func (d *decoder) readUvarint(limit uint64) uint64 {
	if len(d.b) > 0 && uint64(d.b[0]) <= min(limit, 0x7f) { // as most numbers
		v := d.b[0]
		d.b = d.b[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(d.b)
	if n <= 0 || v > limit {
		d.failed, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) readBytes(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.failed, d.b = true, nil
		return nil
	}
	out := d.b[:n]
	d.b = d.b[n:]
	return out
}

func (d *decoder) readNames() []string {
	n := d.readUvarint(maxNames)
	names := make([]string, 0, n)
	for range n {
		names = append(names, string(d.readBytes(d.readUvarint(1<<10))))
	}
	return names
}

func (d *decoder) readAscending() []uint32 {
	n := d.readUvarint(uint64(len(d.b)))
	values, v := make([]uint32, 0, n), uint64(0)
	for range n {
		if v += d.readUvarint(maxSpace); v > maxSpace {
			d.failed = true
		}
		values = append(values, uint32(v))
	}
	return values
}
