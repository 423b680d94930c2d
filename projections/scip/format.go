package scip

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/minio/minlz"
)

// FormatVersion is the version of the object format.
const FormatVersion = 1

const (
	magic = "QI" + string(rune(FormatVersion))
	// footerBytes is the size of the footer: references to the three tables, and the magic.
	footerBytes = 3*blockRefBytes + len(magic)
	// blockRefBytes is the size of a blockRef: offset, length, checksum.
	blockRefBytes = 24
	// maxBlockBytes bounds a decoded block. A writer compresses compressedBytes at a time.
	maxBlockBytes   = 1 << 30
	compressedBytes = 1 << 20
	// symbolsPerBlock is the number of symbols in a block of the symbol table,
	// descriptionsPerBlock the number of external symbols that one block describes.
	symbolsPerBlock      = 128
	descriptionsPerBlock = 512
)

// blockRef locates a block and holds the checksum of its bytes.
type blockRef struct {
	offset, size, sum uint64
}

func (r blockRef) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, r.offset)
	b = binary.LittleEndian.AppendUint64(b, r.size)
	return binary.LittleEndian.AppendUint64(b, r.sum)
}

// decodeBlock decodes a block that a blockWriter wrote. The caller must have verified the checksum of b.
func decodeBlock(b []byte) ([]byte, error) {
	d := decoder{b: b}
	size := d.number()
	if size > maxBlockBytes || size > uint64(len(b))*1000 {
		return nil, fmt.Errorf("%w: a block of %d bytes", ErrCorrupt, size)
	}
	out := make([]byte, 0, size)
	for uint64(len(out)) < size && d.err == nil {
		packed := d.bytes()
		n, err := minlz.DecodedLen(packed)
		if err != nil || uint64(len(out)+n) > size {
			return nil, fmt.Errorf("%w: a block does not decode", ErrCorrupt)
		}
		text, err := minlz.Decode(nil, packed)
		if err != nil || len(text) == 0 {
			return nil, fmt.Errorf("%w: a block does not decode", ErrCorrupt)
		}
		out = append(out, text...)
	}
	return out, d.err
}

// decoder reads numbers and texts. After the first error, it returns zero values.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail() { d.b, d.err = nil, fmt.Errorf("%w: a block ends early", ErrCorrupt) }

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.b)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[size:]
	return n
}

// count returns a number of entries. It fails if they cannot fit: each takes at least a byte.
func (d *decoder) count() int {
	n := d.number()
	if n > uint64(len(d.b)) {
		d.fail()
		return 0
	}
	return int(n)
}

// coordinate returns a line, a column, or a difference of two of them.
func (d *decoder) coordinate() int {
	n := d.number()
	if n > maxCoordinate {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) bytes() []byte {
	n := d.count()
	out := d.b[:n]
	d.b = d.b[n:]
	return out
}

func (d *decoder) text() string { return string(d.bytes()) }

func (d *decoder) information() Information {
	return Information{Symbol: d.text(), DisplayName: d.text(), Signature: d.text(), Documentation: d.text()}
}

func (d *decoder) fixed64() uint64 {
	if len(d.b) < 8 {
		d.fail()
		return 0
	}
	n := binary.LittleEndian.Uint64(d.b)
	d.b = d.b[8:]
	return n
}

func (d *decoder) blockRef() blockRef { return blockRef{d.fixed64(), d.fixed64(), d.fixed64()} }

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// symbolKey orders symbols so that those that differ only in the version of their package
// are adjacent. A symbol that does not have this form is its own family:
//
//	scheme ' ' manager ' ' package ' ' version ' ' descriptors, a blank in a part doubled
type symbolKey struct {
	// family is the name without the version.
	family, version, name string
}

func newSymbolKey(symbol string) symbolKey {
	ends, ok := splitSymbol(symbol)
	if !ok {
		return symbolKey{symbol, "", symbol}
	}
	return symbolKey{symbol[:ends[2]+1] + symbol[ends[3]:], symbol[ends[2]+1 : ends[3]], symbol}
}

// splitSymbol returns the offsets of the blanks after the scheme, the manager, the package
// and the version of a symbol; ok is false if the symbol does not have this form.
func splitSymbol(symbol string) (ends [4]int, ok bool) {
	part := 0
	for i := 0; i < len(symbol) && part < len(ends); i++ {
		if symbol[i] != ' ' {
			continue
		}
		if i+1 < len(symbol) && symbol[i+1] == ' ' {
			i++
			continue
		}
		ends[part] = i
		part++
	}
	return ends, part == len(ends)
}

// appendSymbolRecord appends the beginning of a record about a symbol. The bytes of records
// have the order of compareSymbols. The offset of the version tells symbols apart that differ
// only in it, and is what recordName needs to return the name.
func appendSymbolRecord(b []byte, symbol string, kind byte) []byte {
	k := newSymbolKey(symbol)
	at := uint16(math.MaxUint16)
	if ends, ok := splitSymbol(symbol); ok {
		at = uint16(ends[2] + 1)
	}
	b = append(append(b, k.family...), 0)
	b = append(append(b, k.version...), 0)
	return append(binary.BigEndian.AppendUint16(b, ^at), kind)
}

// recordKey returns the part of a record that identifies the symbol, and the rest, which
// begins with the kind.
func recordKey(record []byte) (key, rest []byte) {
	first := bytes.IndexByte(record, 0) + 1
	end := first + bytes.IndexByte(record[first:], 0) + 1 + 2
	return record[:end], record[end:]
}

// recordName returns the symbol of the key of a record.
func recordName(key []byte) string {
	family, rest, _ := bytes.Cut(key, []byte{0})
	at := ^binary.BigEndian.Uint16(key[len(key)-2:])
	if at == math.MaxUint16 {
		return string(family)
	}
	version := rest[:len(rest)-3]
	return string(family[:at]) + string(version) + string(family[at:])
}

func (k symbolKey) compare(other symbolKey) int {
	return cmp.Or(strings.Compare(k.family, other.family), strings.Compare(k.version, other.version), strings.Compare(k.name, other.name))
}
