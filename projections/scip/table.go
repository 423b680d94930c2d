package scip

import (
	"bytes"
	"encoding/binary"
)

// writeDocuments writes the table of documents, ordered by number, followed by the table of
// the blocks that describe symbols.
func (b *Builder) writeDocuments() (blockRef, error) {
	count := binary.AppendUvarint(nil, uint64(b.documents.entries))
	descriptions := binary.AppendUvarint(nil, uint64(b.descriptions.entries))
	b.block.beginBlock(uint64(len(count)) + b.documents.size + uint64(len(descriptions)) + b.descriptions.size)
	b.block.addBytes(count)
	if err := b.documents.writeTo(&b.block); err != nil {
		return blockRef{}, err
	}
	b.block.addBytes(descriptions)
	if err := b.descriptions.writeTo(&b.block); err != nil {
		return blockRef{}, err
	}
	return b.block.endBlock()
}

// writeSymbols writes the blocks of the symbol table, then a table of the first symbol of
// each block. It reads the records twice: the ordinal of a symbol that implements another
// one is known only after the first time.
func (b *Builder) writeSymbols() (blockRef, error) {
	implementers := sorter{directory: b.limits.Directory}
	defer implementers.release()
	if err := b.sortImplementers(&implementers); err != nil {
		return blockRef{}, err
	}
	records, err := b.records.mergeRuns()
	if err != nil {
		return blockRef{}, err
	}
	others, err := implementers.mergeRuns()
	if err != nil {
		return blockRef{}, err
	}
	other, err := others.nextRecord()
	if err != nil {
		return blockRef{}, err
	}
	w := symbolWriter{b: b, table: spool{directory: b.limits.Directory}}
	defer w.table.release()
	var key []byte
	for ordinal := uint64(0); ; {
		record, err := records.nextRecord()
		if err != nil {
			return blockRef{}, err
		}
		if key != nil && (record == nil || !bytes.HasPrefix(record, key)) {
			for other != nil && binary.BigEndian.Uint64(other) == ordinal {
				w.addImplementer(binary.BigEndian.Uint64(other[8:]))
				if other, err = others.nextRecord(); err != nil {
					return blockRef{}, err
				}
			}
			if err := w.endSymbol(recordName(key)); err != nil {
				return blockRef{}, err
			}
			ordinal, key = ordinal+1, nil
		}
		if record == nil {
			break
		}
		if key == nil {
			found, _ := recordKey(record)
			key = bytes.Clone(found)
		}
		w.addRecord(record[len(key):])
	}
	return w.endTable()
}

// sortImplementers counts the symbols, and adds for each symbol and each one that implements
// it a record of both ordinals.
func (b *Builder) sortImplementers(out *sorter) error {
	groups := sorter{directory: b.limits.Directory}
	defer groups.release()
	records, err := b.records.mergeRuns()
	if err != nil {
		return err
	}
	var key []byte
	nameBytes := int64(0)
	ordinal := uint64(0)
	for {
		record, err := records.nextRecord()
		if err != nil {
			return err
		}
		if record == nil {
			break
		}
		if key == nil || !bytes.HasPrefix(record, key) {
			if key != nil {
				ordinal++
			}
			found, _ := recordKey(record)
			key = append(key[:0], found...)
			if b.header.Symbols++; b.header.Symbols > b.limits.MaxSymbols {
				return tooLargef("more than %d symbols; index parts of the repository, and upload each with its path", b.limits.MaxSymbols)
			}
			if nameBytes += int64(len(key) - 4); nameBytes > b.limits.MaxSymbolBytes {
				return tooLargef("its symbols have more than %d bytes; index parts of the repository, and upload each with its path", b.limits.MaxSymbolBytes)
			}
		}
		rest := record[len(key):]
		switch rest[0] {
		case recordDescription:
			if group := binary.BigEndian.Uint64(rest[9:]); group > 0 {
				err = groups.addRecord(appendNumbers(nil, group, 0, ordinal))
			}
		case recordImplementer:
			err = groups.addRecord(appendNumbers(nil, binary.BigEndian.Uint64(rest[1:]), 1, ordinal))
		}
		if err != nil {
			return err
		}
	}
	members, err := groups.mergeRuns()
	if err != nil {
		return err
	}
	implementer := uint64(0)
	for {
		member, err := members.nextRecord()
		if err != nil || member == nil {
			return err
		}
		ordinal := binary.BigEndian.Uint64(member[16:])
		if binary.BigEndian.Uint64(member[8:]) == 0 {
			implementer = ordinal
		} else if err := out.addRecord(appendNumbers(nil, ordinal, implementer)); err != nil {
			return err
		}
	}
}

func appendNumbers(b []byte, numbers ...uint64) []byte {
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

// symbolWriter encodes blocks of symbols: each name as the length of the prefix that it
// shares with the previous name, and the rest.
type symbolWriter struct {
	b *Builder
	// These are about the current symbol: the number of its block plus 1, its documents and
	// its implementers, encoded, with their counts and the last of each.
	information                     uint64
	documents, implementers         []byte
	documentCount, implementerCount uint64
	lastDocument, lastImplementer   uint64
	block                           []byte
	blockCount                      int
	first, before                   string
	table                           spool
	firstBytes, symbols             int
}

// addRecord adds a record of the current symbol, without its key.
func (w *symbolWriter) addRecord(record []byte) {
	n := binary.BigEndian.Uint64(record[1:])
	switch record[0] {
	case recordUse:
		w.documents = binary.AppendUvarint(w.documents, n-w.lastDocument)
		w.lastDocument = n
		w.documentCount++
	case recordDescription:
		if w.information == 0 && n != noBlock {
			w.information = n
		}
	}
}

// addImplementer adds the ordinal of a symbol that implements the current one. Ordinals are
// added in order.
func (w *symbolWriter) addImplementer(ordinal uint64) {
	if w.implementerCount > 0 && w.lastImplementer == ordinal {
		return
	}
	w.implementers = binary.AppendUvarint(w.implementers, ordinal)
	w.lastImplementer = ordinal
	w.implementerCount++
}

func (w *symbolWriter) endSymbol(name string) error {
	if w.blockCount == 0 {
		w.first, w.before = name, ""
	}
	if len(w.block)+len(w.documents)+len(w.implementers) > maxSymbolBlock {
		return tooLargef("symbols such as %.200q occur in too many files, or are implemented too often; index parts of the repository, and upload each with its path", name)
	}
	shared := commonPrefix(w.before, name)
	w.block = binary.AppendUvarint(w.block, uint64(shared))
	w.block = appendText(w.block, name[shared:])
	w.block = binary.AppendUvarint(w.block, w.information)
	w.block = append(binary.AppendUvarint(w.block, w.documentCount), w.documents...)
	w.block = append(binary.AppendUvarint(w.block, w.implementerCount), w.implementers...)
	w.before = name
	w.blockCount++
	w.symbols++
	w.information, w.documents, w.implementers = 0, w.documents[:0], w.implementers[:0]
	w.documentCount, w.implementerCount, w.lastDocument, w.lastImplementer = 0, 0, 0, 0
	if w.blockCount < symbolsPerBlock {
		return nil
	}
	return w.endBlock()
}

func (w *symbolWriter) endBlock() error {
	count := binary.AppendUvarint(nil, uint64(w.blockCount))
	w.b.block.beginBlock(uint64(len(count) + len(w.block)))
	w.b.block.addBytes(count)
	w.b.block.addBytes(w.block)
	ref, err := w.b.block.endBlock()
	if err != nil {
		return err
	}
	w.block, w.blockCount = w.block[:0], 0
	if w.firstBytes += len(w.first); w.firstBytes > maxFirstBytes {
		return tooLargef("its symbols have too long names; index parts of the repository, and upload each with its path")
	}
	return w.table.addEntry(ref.append(appendText(nil, w.first)))
}

// endTable writes the last block and the table of blocks.
func (w *symbolWriter) endTable() (blockRef, error) {
	if w.blockCount > 0 {
		if err := w.endBlock(); err != nil {
			return blockRef{}, err
		}
	}
	count := binary.AppendUvarint(nil, uint64(w.symbols))
	w.b.block.beginBlock(uint64(len(count)) + w.table.size)
	w.b.block.addBytes(count)
	if err := w.table.writeTo(&w.b.block); err != nil {
		return blockRef{}, err
	}
	return w.b.block.endBlock()
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
