package segment

import (
	"errors"
	"fmt"
	"slices"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Outline contains the symbols of one document, in order of their offsets, decoded as far
// as needed to find one. Reader.Outline fills it, and may fill it again. It is not safe
// for concurrent use.
type Outline struct {
	r           *Reader
	doc         DocID
	group       []byte
	groupReader *Reader // the reader and number of the group
	groupNumber int
	added       int // groups that this Outline added to the cache since Reset
	records     []symbolRecord
}

// symbolRecord is a symbol without its strings.
type symbolRecord struct {
	offset, line, endLine uint32
	name                  uint32 // offset of the name in the document's symbol text
	nameBytes             uint16
	kind, parentKind      uint16
	parent                []byte // aliases the group
}

// maxKeptRecords bounds the records for which Reset keeps memory.
const maxKeptRecords = 16 << 10

// Reset drops the symbols and the reader, but not the memory, of an Outline.
func (o *Outline) Reset() {
	kept := Outline{group: o.group, records: o.records[:0]}
	if cap(o.records) > maxKeptRecords {
		kept = Outline{}
	}
	*o = kept
}

// Outline fills o with the symbols of a document.
func (r *Reader) Outline(c *Cursor, d DocID, o *Outline) error {
	if o.r == r && o.doc == d && len(o.records) > 0 {
		return nil
	}
	o.r, o.doc, o.records = r, d, o.records[:0]
	if lo, hi := r.SymbolRange(d); lo == hi {
		return nil
	}
	number := lastAtMost(r.head.groupFirst, uint32(d))
	if number < 0 {
		return r.noteCorrupt(fmt.Errorf("%w: no symbols for document %d", ErrCorrupt, d))
	}
	if o.groupReader != r || o.groupNumber != number {
		if err := o.read(c, number); err != nil {
			return err
		}
	}
	return r.noteCorrupt(o.decode(int(uint32(d) - r.head.groupFirst[number])))
}

// read makes a group the current one. A search reads the groups of its best files several
// times, and the next search for the same name reads them again, so they are cached.
func (o *Outline) read(c *Cursor, number int) error {
	o.groupReader = nil
	if !o.copyCached(number) {
		b, err := c.readNumbered(o.r, partSymbols, uint32(number))
		if err != nil {
			return err
		}
		if o.group, err = unpackSized(o.group, b); err != nil {
			return o.r.noteCorrupt(fmt.Errorf("symbol group %d: %w", number, err))
		}
		o.addToCache(number)
	}
	o.groupReader, o.groupNumber = o.r, number
	return nil
}

// copyCached copies a group from the cache, if it is there.
func (o *Outline) copyCached(number int) bool {
	if o.r.cache == nil {
		return false
	}
	held, ok := o.r.cache.frames.Pin(o.r.groupKey(number))
	if ok {
		o.group = append(o.group[:0], held.Bytes()...)
		held.Release()
	}
	return ok
}

// addToCache adds the current group to the cache, unless it is larger than a frame, as that
// of a document with thousands of symbols may be.
func (o *Outline) addToCache(number int) {
	cache := o.r.cache
	if cache == nil || len(o.group) > FrameBytes || o.added >= cache.framesForOne() {
		return
	}
	if held, ok := cache.frames.Reserve(o.r.groupKey(number), len(o.group)); ok {
		o.added++
		copy(held.Bytes(), o.group)
		held.Publish(o.r.groupKey(number))
		held.Release()
	}
}

// decode reads the records of the document that follow skip others in the group.
func (o *Outline) decode(skip int) error {
	d := decoder{b: o.group}
	for range skip {
		d.readBytes(d.readUvarint(maxSpace))
	}
	in := decoder{b: d.readBytes(d.readUvarint(maxSpace)), failed: d.failed}
	lo, hi := o.r.SymbolRange(o.doc)
	var first symbolRecord
	name, last := uint32(0), &first
	o.records = slices.Grow(o.records, min(len(in.b)/minRecordBytes, code.MaxSymbolsPerDocument)+1)
	for len(in.b) > 0 && !in.failed {
		o.records = append(o.records, symbolRecord{name: name})
		s := &o.records[len(o.records)-1]
		readSymbol(&in, last, s)
		name += uint32(s.nameBytes) + 1
		last = s
	}
	if in.failed || int(name) != hi-lo || len(o.records) > code.MaxSymbolsPerDocument {
		o.records = o.records[:0]
		return fmt.Errorf("%w: symbols of document %d", ErrCorrupt, o.doc)
	}
	return nil
}

// minRecordBytes is the size of the smallest record.
const minRecordBytes = 6

// readSymbol reads the record after last into s.
func readSymbol(d *decoder, last, s *symbolRecord) {
	s.offset = last.offset + uint32(d.readUvarint(maxSpace))
	if b := d.b; len(b) >= 5 && (b[0]|b[1]|b[2]|b[3]) < 0x80 && b[4] <= parentSame { // as most records
		d.b = b[5:]
		s.line, s.nameBytes, s.kind = last.line+uint32(b[0]), uint16(b[2]), uint16(b[3])
		if b[1] > 0 {
			s.endLine = s.line + uint32(b[1]) - 1
		}
		if b[4] == parentSame {
			s.parent, s.parentKind = last.parent, last.parentKind
		}
		return
	}
	s.line = last.line + uint32(d.readUvarint(maxSpace))
	if end := d.readUvarint(maxSpace); end > 0 {
		s.endLine = s.line + uint32(end) - 1
	}
	s.nameBytes = uint16(d.readUvarint(code.MaxSymbolBytes))
	s.kind = uint16(d.readUvarint(maxNames))
	switch parent := d.readUvarint(maxParentBytes + parentLength); parent {
	case parentNone:
	case parentSame:
		s.parent, s.parentKind = last.parent, last.parentKind
	default:
		s.parent = d.readBytes(parent - parentLength)
		s.parentKind = uint16(d.readUvarint(maxNames))
	}
}

// Len returns the number of symbols.
func (o *Outline) Len() int { return len(o.records) }

// Range returns the range of symbol i's name in the document's text.
func (o *Outline) Range(i int) (start, end uint32) {
	s := &o.records[i]
	return s.offset, s.offset + uint32(s.nameBytes)
}

// Lines returns the number of lines of symbol i's definition, from its name on, or 1 if its end is
// not known.
func (o *Outline) Lines(i int) int {
	return int(max(o.records[i].endLine, o.records[i].line)-o.records[i].line) + 1
}

// Kind returns the kind of symbol i.
func (o *Outline) Kind(i int) code.SymbolKind { return o.r.kindName(o.records[i].kind) }

// Parent returns the name of the scope that encloses symbol i, valid until the next
// document; it is empty at the top level.
func (o *Outline) Parent(i int) []byte { return o.records[i].parent }

// At returns the number of the symbol whose name overlaps the range from start to end in
// the document's text, or -1.
func (o *Outline) At(start, end uint32) int {
	lo, hi := 0, len(o.records)
	for lo < hi {
		if mid := (lo + hi) / 2; o.records[mid].offset < end {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return -1
	}
	if _, stop := o.Range(lo - 1); stop > start {
		return lo - 1
	}
	return -1
}

// Symbol returns symbol i. t must read the same segment.
func (o *Outline) Symbol(i int, t *Text) (code.Symbol, error) {
	s := &o.records[i]
	lo, _ := o.r.SymbolRange(o.doc)
	name, err := t.Bytes(lo+int(s.name), lo+int(s.name)+int(s.nameBytes))
	out := code.Symbol{Name: string(name), Kind: o.r.kindName(s.kind), Offset: s.offset, Line: s.line, EndLine: s.endLine}
	if len(s.parent) > 0 {
		out.Parent, out.ParentKind = string(s.parent), o.r.kindName(s.parentKind)
	}
	return out, err
}

// kindName returns the name of a kind.
func (r *Reader) kindName(i uint16) code.SymbolKind {
	if int(i) >= len(r.head.kinds) {
		return ""
	}
	return code.SymbolKind(r.head.kinds[i])
}

// Symbols returns the symbols of a document, ordered by offset.
func (r *Reader) Symbols(d DocID) (symbols []code.Symbol, err error) {
	var c Cursor
	defer func() { err = errors.Join(err, c.Close()) }()
	var o Outline
	if err := r.Outline(&c, d, &o); err != nil || o.Len() == 0 {
		return nil, err
	}
	symbols = make([]code.Symbol, 0, o.Len())
	t := NewText(r, &c)
	for i := range o.Len() {
		s, err := o.Symbol(i, t)
		if err != nil {
			return nil, err
		}
		symbols = append(symbols, s)
	}
	return symbols, nil
}
