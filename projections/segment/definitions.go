package segment

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/schemas/code"
)

// definitionPageBytes is the size at which a page of definitions is closed. A name is
// always within one page.
const definitionPageBytes = 4 << 10

// nameHashBits is the number of bits by which names are distinguished: among the 200,000 names
// of a large segment, one in eighty of other names has the hash of one of them.
const nameHashBits = 24

// Definition says that a document defines a symbol with some name.
type Definition struct {
	Doc   DocID
	Kind  uint16 // index into Reader.Kinds
	Exact bool   // in the letter case of the name that was looked up
}

// A nameHash stands for a name in a letter case: equal names have equal ones, and few other
// names have the same.
type nameHash struct {
	name     uint32 // of the folded name, nameHashBits
	spelling uint8
}

// hashName returns the hash of a name. It uses buf for the folded name, and returns it.
func hashName(name, buf []byte) (h nameHash, folded []byte) {
	folded = postings.AppendFold(buf[:0], name)
	return nameHash{uint32(xxh3.Hash(folded) >> (64 - nameHashBits)), spellingOf(name)}, folded
}

// spellingOf returns a byte that differs for nearly all names that differ only in the case
// of ASCII letters: for all that differ in one letter, or in none after the eighth.
func spellingOf(name []byte) (spelling uint8) {
	for i := range len(name) {
		if 'A' <= name[i] && name[i] <= 'Z' {
			spelling ^= 1 << (i % 8)
		}
	}
	return spelling
}

// definitionWriter collects which documents define which names, and encodes them in pages:
//
//	page  = entry…, by ascending hash; one for each spelling and kind of a name
//	entry = hash − previous hash or first hash of the page,
//	        4 × kind + 2 if a spelling follows + 1 if a number of documents follows,
//	        [spelling, 0 without it], [documents, 1 without it],
//	        document − previous document or 0…
type definitionWriter struct {
	// order has the hash of the name and the spelling of each definition in its high 32 bits,
	// and in the low ones the number of the definition.
	order       []uint64
	definitions []definition
	folded      []byte
}

// definition is where a name is defined.
type definition struct {
	doc  DocID
	kind uint16
}

// add adds the symbols of a document.
func (w *definitionWriter) add(d DocID, symbols []code.Symbol, kinds *nameTable) {
	var h nameHash
	for i := range symbols {
		h, w.folded = hashName([]byte(symbols[i].Name), w.folded)
		w.order = append(w.order, uint64(h.name)<<40|uint64(h.spelling)<<32|uint64(len(w.definitions)))
		w.definitions = append(w.definitions, definition{d, uint16(kinds.numberOf(string(symbols[i].Kind)))})
	}
}

// packPages encodes the pages, and returns the first hash of each.
func (w *definitionWriter) packPages() (pages [][]byte, first []uint32) {
	slices.Sort(w.order)
	var page []byte
	var same []definition // of a name in one spelling
	last := uint32(0)
	for i := 0; i < len(w.order); {
		key := w.order[i] >> 32
		for same = same[:0]; i < len(w.order) && w.order[i]>>32 == key; i++ {
			same = append(same, w.definitions[uint32(w.order[i])])
		}
		slices.SortFunc(same, func(a, b definition) int {
			return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.doc, b.doc))
		})
		h := nameHash{uint32(key >> 8), uint8(key)}
		if len(page) >= definitionPageBytes && h.name != last {
			pages, page = append(pages, page), nil
		}
		if len(page) == 0 {
			first, last = append(first, h.name), h.name
		}
		for rest := slices.Compact(same); len(rest) > 0; last = h.name {
			n := 1
			for n < len(rest) && rest[n].kind == rest[0].kind {
				n++
			}
			page = appendEntry(page, h, rest[:n], last)
			rest = rest[n:]
		}
	}
	if len(page) > 0 {
		pages = append(pages, page)
	}
	return pages, first
}

const (
	entrySeveral  = 1
	entrySpelling = 2
	entryKind     = 2 // bits to the left
)

// appendEntry encodes the documents that define a name in one spelling and kind, after an
// entry of the hash last.
func appendEntry(b []byte, h nameHash, same []definition, last uint32) []byte {
	b = binary.AppendUvarint(b, uint64(h.name-last))
	head := uint64(same[0].kind) << entryKind
	if h.spelling != 0 {
		head |= entrySpelling
	}
	if len(same) > 1 {
		head |= entrySeveral
	}
	b = binary.AppendUvarint(b, head)
	if h.spelling != 0 {
		b = append(b, h.spelling)
	}
	if len(same) > 1 {
		b = binary.AppendUvarint(b, uint64(len(same)))
	}
	doc := DocID(0)
	for i := range same {
		b = binary.AppendUvarint(b, uint64(same[i].doc-doc))
		doc = same[i].doc
	}
	return b
}

// HasDefinitions reports whether Definitions knows the symbols of the segment. It does not
// for a segment of format version 3, except if there are no symbols.
func (r *Reader) HasDefinitions() bool {
	return r.head.version != versionWithoutDefinitions || r.head.symbols == 0
}

// Definitions appends to dst where symbols with a name are defined, in any letter case:
// for each spelling and kind, the documents in ascending order. A document that defines
// the name in several spellings or kinds occurs several times. Names are
// distinguished by hashes of 24 bits and letter cases by eight bits (spellingOf), so a few
// of the definitions may be of another name or in another letter case.
func (r *Reader) Definitions(c *Cursor, name string, dst []Definition) ([]Definition, error) {
	hash, _ := hashName([]byte(name), nil)
	page := lastAtMost(r.head.definitions, hash.name)
	if page < 0 {
		return dst, nil
	}
	b, err := c.readNumbered(r, partDefinitions, uint32(page))
	if err != nil {
		return dst, err
	}
	d := decoder{b: b}
	for at := uint64(r.head.definitions[page]); len(d.b) > 0; {
		if d.b[0] < 0x80 { // as most differences
			at, d.b = at+uint64(d.b[0]), d.b[1:]
		} else {
			at += d.readUvarint(1<<nameHashBits - 1)
		}
		if at > uint64(hash.name) {
			break
		}
		if at < uint64(hash.name) {
			skipEntry(&d)
		} else {
			dst = r.readEntry(&d, hash.spelling, dst)
		}
	}
	if d.failed {
		return dst, r.noteCorrupt(fmt.Errorf("%w: definitions, page %d", ErrCorrupt, page))
	}
	return dst, nil
}

// skipEntry skips an entry without its hash.
func skipEntry(d *decoder) {
	at, documents := 1, uint64(1)
	if len(d.b) < 2 || d.b[0] >= 0x80 || d.b[0]&(entrySpelling|entrySeveral) != 0 { // unlike most entries
		head := d.readUvarint(maxNames << entryKind)
		if head&entrySpelling != 0 {
			d.readBytes(1)
		}
		if head&entrySeveral != 0 {
			documents = d.readUvarint(maxSpace)
		}
		at = 0
	}
	for ; documents > 0 && at < len(d.b); at++ {
		if d.b[at] < 0x80 {
			documents--
		}
	}
	d.b, d.failed = d.b[at:], d.failed || documents > 0
}

// readEntry appends to dst the definitions of an entry without its hash.
func (r *Reader) readEntry(d *decoder, spelling uint8, dst []Definition) []Definition {
	head, written, documents, doc := d.readUvarint(maxNames<<entryKind), uint8(0), uint64(1), uint64(0)
	if head&entrySpelling != 0 {
		if b := d.readBytes(1); len(b) > 0 {
			written = b[0]
		}
	}
	if head&entrySeveral != 0 {
		documents = d.readUvarint(uint64(r.head.documents))
	}
	kind := head >> entryKind
	if d.failed = d.failed || kind >= uint64(len(r.head.kinds)); d.failed {
		return dst
	}
	for range documents {
		if doc += d.readUvarint(maxSpace); d.failed || doc >= uint64(r.head.documents) {
			d.failed = true
			return dst
		}
		dst = append(dst, Definition{DocID(doc), uint16(kind), written == spelling})
	}
	return dst
}
