package segment

import (
	"encoding/binary"
	"fmt"

	"github.com/minio/minlz"

	"github.com/quarrysearch/quarry/schemas/code"
)

// A symbolWriter encodes the symbols of documents in groups. The name of a
// symbol is in the symbol text, so a record holds the rest:
//
//	group    = minlz( document… )
//	document = count record…
//	record   = offset delta, line delta, end line − line + 1 or 0, name length,
//	           kind, parent
//	parent   = 0 for none; else 1 + length of name, name, kind — or, where it is
//	           that of the record before, the single number 1
type symbolWriter struct {
	kinds  nameTable
	raw    []byte
	groups [][]byte
	first  []uint32 // first document of each group
	next   uint32   // next document
}

// parentSame repeats the parent of the record before; a parent of n bytes is
// written as n + parentLength.
const (
	parentNone   = 0
	parentSame   = 1
	parentLength = 2
	// maxParentBytes bounds the qualified name of a parent; a longer one is cut.
	maxParentBytes = 4 * code.MaxSymbolBytes
)

func (w *symbolWriter) add(symbols []code.Symbol) error {
	if len(w.raw) == 0 {
		w.first = append(w.first, w.next)
	}
	w.next++
	b := binary.AppendUvarint(w.raw, uint64(len(symbols)))
	var last code.Symbol
	for i := range symbols {
		s := &symbols[i]
		end := uint64(0)
		if s.EndLine >= s.Line {
			end = uint64(s.EndLine-s.Line) + 1
		}
		b = binary.AppendUvarint(b, uint64(s.Offset-last.Offset))
		b = binary.AppendUvarint(b, uint64(s.Line-last.Line))
		b = binary.AppendUvarint(b, end)
		b = binary.AppendUvarint(b, uint64(len(s.Name)))
		b = binary.AppendUvarint(b, uint64(w.kinds.index(string(s.Kind))))
		b = w.appendParent(b, s, &last)
		last = *s
	}
	w.raw = b
	if len(b) >= symbolGroupBytes {
		return w.flush()
	}
	return nil
}

func (w *symbolWriter) appendParent(b []byte, s, last *code.Symbol) []byte {
	switch {
	case s.Parent == "":
		return binary.AppendUvarint(b, parentNone)
	case s.Parent == last.Parent && s.ParentKind == last.ParentKind:
		return binary.AppendUvarint(b, parentSame)
	}
	parent := s.Parent[:min(len(s.Parent), maxParentBytes)]
	b = binary.AppendUvarint(b, uint64(len(parent))+parentLength)
	b = append(b, parent...)
	return binary.AppendUvarint(b, uint64(w.kinds.index(string(s.ParentKind))))
}

func (w *symbolWriter) flush() error {
	if len(w.raw) == 0 {
		return nil
	}
	group, err := minlz.Encode(nil, w.raw, minlz.LevelBalanced)
	if err != nil {
		return fmt.Errorf("compress symbols: %w", err)
	}
	w.groups = append(w.groups, group)
	w.raw = w.raw[:0]
	return nil
}

// decodeSymbols returns the symbols of the skip'th document of a group, with
// names cut from the document's symbol text.
func decodeSymbols(group []byte, skip int, names []byte, kinds []string) ([]code.Symbol, error) {
	d := decoder{b: group}
	for range skip {
		skipSymbols(&d)
	}
	n := d.uvarint(code.MaxSymbolsPerDocument)
	symbols := make([]code.Symbol, 0, min(n, uint64(len(d.b))))
	var last code.Symbol
	for range n {
		s, size := readSymbol(&d, &last, kinds)
		if d.failed || size >= len(names) {
			return nil, fmt.Errorf("%w: symbols", ErrCorrupt)
		}
		s.Name, names = string(names[:size]), names[size+1:]
		symbols = append(symbols, s)
		last = s
	}
	return symbols, nil
}

func skipSymbols(d *decoder) {
	var last code.Symbol
	for range d.uvarint(code.MaxSymbolsPerDocument) {
		if last, _ = readSymbol(d, &last, nil); d.failed {
			return
		}
	}
}

// readSymbol reads one record that follows last, and the length of its name.
func readSymbol(d *decoder, last *code.Symbol, kinds []string) (s code.Symbol, nameBytes int) {
	s.Offset = last.Offset + uint32(d.uvarint(maxSpace))
	s.Line = last.Line + uint32(d.uvarint(maxSpace))
	if end := d.uvarint(maxSpace); end > 0 {
		s.EndLine = s.Line + uint32(end) - 1
	}
	nameBytes = int(d.uvarint(code.MaxSymbolBytes))
	s.Kind = kindAt(kinds, d.uvarint(maxNames))
	switch parent := d.uvarint(maxParentBytes + parentLength); parent {
	case parentNone:
	case parentSame:
		s.Parent, s.ParentKind = last.Parent, last.ParentKind
	default:
		s.Parent = string(d.bytes(parent - parentLength))
		s.ParentKind = kindAt(kinds, d.uvarint(maxNames))
	}
	return s, nameBytes
}

func kindAt(kinds []string, i uint64) code.SymbolKind {
	if i < uint64(len(kinds)) {
		return code.SymbolKind(kinds[i])
	}
	return ""
}

// A nameTable numbers strings as they come.
type nameTable struct {
	names   []string
	numbers map[string]int
}

func (t *nameTable) index(s string) int {
	if i, ok := t.numbers[s]; ok {
		return i
	}
	if t.numbers == nil {
		t.numbers = map[string]int{}
	}
	t.numbers[s] = len(t.names)
	t.names = append(t.names, s)
	return len(t.names) - 1
}
