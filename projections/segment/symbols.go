package segment

import (
	"encoding/binary"
	"fmt"

	"github.com/quarrysearch/quarry/schemas/code"
)

// symbolWriter encodes the symbols of documents in groups. The name of a symbol is in the
// symbol text, so a record contains only the rest:
//
//	group    = packSized( document… )
//	document = bytes of the records, record…
//	record   = offset delta, line delta, end line − line + 1 or 0, name length,
//	           kind, parent
//	parent   = 0 for none; else 1 + length of name, name, kind — or, where it is
//	           that of the record before, the single number 1
type symbolWriter struct {
	kinds   nameTable
	raw     []byte
	records []byte // of the last document
	groups  [][]byte
	first   []uint32 // first document of each group
	next    uint32   // next document
}

// parentSame indicates the same parent as in the previous record. A parent of n bytes is
// written as n + parentLength.
const (
	parentNone   = 0
	parentSame   = 1
	parentLength = 2
	// maxParentBytes bounds the qualified name of a parent; a longer one is truncated.
	maxParentBytes = 4 * code.MaxSymbolBytes
)

func (w *symbolWriter) add(symbols []code.Symbol, p *packer) error {
	if len(w.raw) == 0 {
		w.first = append(w.first, w.next)
	}
	w.next++
	w.records = w.records[:0]
	var last code.Symbol
	for i := range symbols {
		w.records = w.appendRecord(w.records, &symbols[i], &last)
		last = symbols[i]
	}
	w.raw = binary.AppendUvarint(w.raw, uint64(len(w.records)))
	w.raw = append(w.raw, w.records...)
	if len(w.raw) >= symbolGroupBytes {
		return w.flush(p)
	}
	return nil
}

func (w *symbolWriter) appendRecord(b []byte, s, last *code.Symbol) []byte {
	end := uint64(0)
	if s.EndLine >= s.Line {
		end = uint64(s.EndLine-s.Line) + 1
	}
	b = binary.AppendUvarint(b, uint64(s.Offset-last.Offset))
	b = binary.AppendUvarint(b, uint64(s.Line-last.Line))
	b = binary.AppendUvarint(b, end)
	b = binary.AppendUvarint(b, uint64(len(s.Name)))
	b = binary.AppendUvarint(b, uint64(w.kinds.numberOf(string(s.Kind))))
	return w.appendParent(b, s, last)
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
	return binary.AppendUvarint(b, uint64(w.kinds.numberOf(string(s.ParentKind))))
}

func (w *symbolWriter) flush(p *packer) error {
	if len(w.raw) == 0 {
		return nil
	}
	group, err := p.packSized(nil, w.raw)
	if err != nil {
		return fmt.Errorf("compress symbols: %w", err)
	}
	w.groups = append(w.groups, group)
	w.raw = w.raw[:0]
	return nil
}

// nameTable numbers strings in the order of their first occurrence.
type nameTable struct {
	names   []string
	numbers map[string]int
}

func (t *nameTable) numberOf(s string) int {
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
