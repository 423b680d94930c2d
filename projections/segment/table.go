package segment

import (
	"encoding/binary"
	"fmt"
	"sort"

	"github.com/quarrysearch/quarry/schemas/code"
)

// documentRow is one row of the value of partDocuments.
type documentRow struct {
	textBytes, symbolBytes int
	lines                  int // line feeds in the text
	symbols                int
	language               int // index into header.languages
	flags                  code.Flags
}

func (r *documentRow) append(b []byte) []byte {
	for _, n := range []int{r.textBytes, r.symbolBytes, r.lines, r.symbols, r.language} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return append(b, byte(r.flags))
}

// documentTable is the resident form of partDocuments. Offsets are into the text space;
// each column of offsets has an extra element at the end.
type documentTable struct {
	text, symbolText []uint32
	lines            []uint32 // line feeds of the text space before the document
	language         []uint16
	flags            []code.Flags
}

func decodeDocuments(b []byte, h *header) (*documentTable, error) {
	n := h.documents
	if n > len(b) {
		return nil, fmt.Errorf("%w: %d documents in %d bytes", ErrCorrupt, n, len(b))
	}
	if n > 0 && len(h.languages) == 0 {
		return nil, fmt.Errorf("%w: %d documents without a language", ErrCorrupt, n)
	}
	t := &documentTable{
		text: make([]uint32, 0, n+1), symbolText: make([]uint32, 0, n+1), lines: make([]uint32, 0, n+1),
		language: make([]uint16, 0, n), flags: make([]code.Flags, 0, n),
	}
	d := decoder{b: b}
	text, names, lines := uint64(0), uint64(h.textBytes), uint64(0)
	if h.symbolBytes > 0 {
		names++ // the line feed before the first name
	}
	for range n {
		t.text = append(t.text, uint32(text))
		t.symbolText = append(t.symbolText, uint32(names))
		t.lines = append(t.lines, uint32(lines))
		text += d.readUvarint(maxSpace)
		names += d.readUvarint(maxSpace)
		lines += d.readUvarint(maxSpace)
		d.readUvarint(code.MaxSymbolsPerDocument)
		t.language = append(t.language, uint16(d.readUvarint(uint64(max(0, len(h.languages)-1)))))
		flags := d.readBytes(1)
		if d.failed || text > uint64(h.textBytes) || names > uint64(h.textBytes+h.symbolBytes) {
			return nil, fmt.Errorf("%w: documents", ErrCorrupt)
		}
		t.flags = append(t.flags, code.Flags(flags[0]))
	}
	if text != uint64(h.textBytes) || names != uint64(h.textBytes+h.symbolBytes) {
		return nil, fmt.Errorf("%w: document sizes", ErrCorrupt)
	}
	t.text = append(t.text, uint32(text))
	t.symbolText = append(t.symbolText, uint32(names))
	t.lines = append(t.lines, uint32(lines))
	return t, nil
}

// lastAtMost returns the index of the last element of the ascending bounds that is at
// most v.
func lastAtMost(bounds []uint32, v uint32) int {
	return sort.Search(len(bounds), func(i int) bool { return bounds[i] > v }) - 1
}
