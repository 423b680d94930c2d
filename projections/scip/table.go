package scip

import (
	"encoding/binary"
	"maps"
	"slices"
)

// encodeDocuments returns the table of documents, ordered by number, followed by the table
// of the blocks that describe symbols.
func (b *Builder) encodeDocuments() []byte {
	out := binary.AppendUvarint(nil, uint64(len(b.documents)))
	for _, d := range b.documents {
		out = appendText(out, d.path)
		out = appendText(out, d.blob.String())
		out = d.ref.append(out)
		out = binary.AppendUvarint(out, uint64(d.information))
	}
	out = binary.AppendUvarint(out, uint64(len(b.descriptions)))
	for _, ref := range b.descriptions {
		out = ref.append(out)
	}
	return out
}

// writeSymbols writes the blocks of the symbol table, then a table of the first symbol of
// each block.
func (b *Builder) writeSymbols() (blockRef, error) {
	names := slices.SortedFunc(maps.Keys(b.symbols), compareSymbols)
	for i, name := range names {
		b.symbols[name].ordinal = i
	}
	table := binary.AppendUvarint(nil, uint64(len(names)))
	for block := range slices.Chunk(names, symbolsPerBlock) {
		ref, err := b.writeBlock(b.encodeSymbols(block))
		if err != nil {
			return ref, err
		}
		table = ref.append(appendText(table, block[0]))
	}
	return b.writeBlock(table)
}

// encodeSymbols encodes a block of symbols: each name as the length of the prefix that it
// shares with the previous name, and the rest.
func (b *Builder) encodeSymbols(names []string) []byte {
	out := binary.AppendUvarint(nil, uint64(len(names)))
	before := ""
	for _, name := range names {
		e := b.symbols[name]
		shared := commonPrefix(before, name)
		out = binary.AppendUvarint(out, uint64(shared))
		out = appendText(out, name[shared:])
		out = binary.AppendUvarint(out, uint64(e.information))
		out = binary.AppendUvarint(out, uint64(len(e.documents)))
		last := uint64(0)
		for _, d := range e.documents {
			out = binary.AppendUvarint(out, d-last)
			last = d
		}
		implementers := b.ordinals(e.implementers)
		out = binary.AppendUvarint(out, uint64(len(implementers)))
		for _, ordinal := range implementers {
			out = binary.AppendUvarint(out, uint64(ordinal))
		}
		before = name
	}
	return out
}

func (b *Builder) ordinals(names []string) []int {
	out := make([]int, 0, len(names))
	for _, name := range names {
		out = append(out, b.symbols[name].ordinal)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
