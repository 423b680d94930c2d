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

// nameHashBits is the number of bits by which names are told apart.
const nameHashBits = 30

// Definition says that a document defines a symbol with some name.
type Definition struct {
	Doc   DocID
	Kind  uint16 // index into Reader.Kinds
	Exact bool   // in the letter case of the name that was looked up
}

// hashName returns a hash of a folded name.
func hashName(folded []byte) uint32 { return uint32(xxh3.Hash(folded) >> (64 - nameHashBits)) }

// spellingOf returns a byte that differs for nearly all names that differ only in the case
// of ASCII letters: for all that differ in one letter, or in none after the eighth.
func spellingOf(name string) (spelling uint8) {
	for i := range len(name) {
		if 'A' <= name[i] && name[i] <= 'Z' {
			spelling ^= 1 << (i % 8)
		}
	}
	return spelling
}

// definitionWriter collects which documents define which names, and encodes them in pages:
//
//	page     = name…, by ascending hash
//	name     = hash − previous hash or first hash of the page, spelling…
//	spelling = 2 × documents + 1 if another spelling or kind of the name follows,
//	           byte of spellingOf, kind, document − previous document or 0…
type definitionWriter struct {
	definitions []definition
	folded      []byte
}

// definition is a Definition with the hash and the spelling of its name.
type definition struct {
	hash     uint32
	doc      DocID
	kind     uint16
	spelling uint8
}

// add adds the symbols of a document.
func (w *definitionWriter) add(d DocID, symbols []code.Symbol, kinds *nameTable) {
	for i := range symbols {
		s := &symbols[i]
		w.folded = postings.AppendFold(w.folded[:0], []byte(s.Name))
		w.definitions = append(w.definitions, definition{hashName(w.folded), d, uint16(kinds.numberOf(string(s.Kind))), spellingOf(s.Name)})
	}
}

// packPages encodes the pages, and returns the first hash of each.
func (w *definitionWriter) packPages() (pages [][]byte, first []uint32) {
	slices.SortFunc(w.definitions, func(a, b definition) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.spelling, b.spelling), cmp.Compare(a.kind, b.kind), cmp.Compare(a.doc, b.doc))
	})
	all := slices.Compact(w.definitions)
	var page []byte
	last := uint32(0)
	for len(all) > 0 {
		hash := all[0].hash
		if len(page) == 0 {
			first, last = append(first, hash), hash
		}
		page = binary.AppendUvarint(page, uint64(hash-last))
		last = hash
		for more := true; more; {
			n := 1
			for n < len(all) && all[n].hash == hash && all[n].spelling == all[0].spelling && all[n].kind == all[0].kind {
				n++
			}
			more = n < len(all) && all[n].hash == hash
			page = appendSpelling(page, all[:n], more)
			all = all[n:]
		}
		if len(page) >= definitionPageBytes || len(all) == 0 {
			pages, page = append(pages, page), nil
		}
	}
	return pages, first
}

// appendSpelling encodes the documents that define a name in one spelling and kind.
func appendSpelling(b []byte, same []definition, more bool) []byte {
	count := uint64(len(same)) << 1
	if more {
		count++
	}
	b = binary.AppendUvarint(b, count)
	b = append(b, same[0].spelling)
	b = binary.AppendUvarint(b, uint64(same[0].kind))
	last := DocID(0)
	for i := range same {
		b = binary.AppendUvarint(b, uint64(same[i].doc-last))
		last = same[i].doc
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
// the name in several spellings or kinds occurs several times. Names are told apart by
// hashes of 30 bits and spellings by eight (spellingOf), so a few of the definitions may
// be of another name or in another letter case.
func (r *Reader) Definitions(c *Cursor, name string, dst []Definition) ([]Definition, error) {
	hash, spelling := hashName(postings.AppendFold(nil, []byte(name))), spellingOf(name)
	page := lastAtMost(r.head.definitions, hash)
	if page < 0 {
		return dst, nil
	}
	b, err := c.readNumbered(r, partDefinitions, uint32(page))
	if err != nil {
		return dst, err
	}
	d := decoder{b: b}
	for at := uint64(r.head.definitions[page]); len(d.b) > 0 && at <= uint64(hash); {
		if at += d.readUvarint(1<<nameHashBits - 1); at > uint64(hash) {
			break
		}
		for more := true; more && !d.failed; {
			dst, more = r.readSpelling(&d, spelling, at == uint64(hash), dst)
		}
	}
	if d.failed {
		return dst, fmt.Errorf("%w: definitions, page %d", ErrCorrupt, page)
	}
	return dst, nil
}

// readSpelling reads what appendSpelling wrote, and appends it to dst if the name is
// wanted.
func (r *Reader) readSpelling(d *decoder, spelling uint8, wanted bool, dst []Definition) ([]Definition, bool) {
	count := d.readUvarint(2*uint64(r.head.documents) + 1)
	written := d.readBytes(1)
	kind := d.readUvarint(uint64(max(len(r.head.kinds)-1, 0)))
	doc := uint64(0)
	for range count / 2 {
		if doc += d.readUvarint(maxSpace); d.failed || doc >= uint64(r.head.documents) {
			d.failed = true
			return dst, false
		}
		if wanted {
			dst = append(dst, Definition{DocID(doc), uint16(kind), written[0] == spelling})
		}
	}
	return dst, count%2 == 1
}
