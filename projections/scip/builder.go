package scip

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Header describes an object.
type Header struct {
	Repository code.RepositoryID `json:"repository"`
	Commit     code.CommitID     `json:"commit"`
	// UploadedAt is in nanoseconds since 1970. It makes an object unique, so that deleting
	// one never affects a later upload of the same index.
	UploadedAt  int64  `json:"uploadedAt"`
	Tool        string `json:"tool,omitempty"`
	ToolVersion string `json:"toolVersion,omitempty"`
	Documents   int    `json:"documents"`
	Occurrences int64  `json:"occurrences"`
	Symbols     int    `json:"symbols"`
}

// documentEntry is a row of the table of documents.
type documentEntry struct {
	path string
	blob code.BlobID
	ref  blockRef
	// information is the number of the block that describes the document's symbols.
	information int
}

// Builder writes an object: document by document, then its tables. What the tables need is
// sorted in files in Limits.Directory, so that its memory does not depend on the number of
// symbols. Close must be called in the end.
type Builder struct {
	w         io.Writer
	hash      *xxh3.Hasher
	written   uint64
	header    Header
	limits    Limits
	paths     map[uint64]bool // by hash
	pathBytes int
	// documents and descriptions are the rows of the table of documents, and references to
	// the blocks that describe symbols.
	documents, descriptions spool
	// records are about the symbols that are not local: see appendSymbolRecord.
	records sorter
	// groups counts the descriptions of symbols that implement others.
	groups uint64
	// externals are the encoded descriptions of external symbols that are not yet written to
	// a block.
	externals pieces
	record    []byte // reused
	row       []byte // reused
	block     blockWriter
}

// The kinds of records about a symbol. Numbers in records are big-endian, so that records
// have the order of their numbers.
const (
	// recordUse is followed by the number of a document shifted left by one bit; the lowest
	// bit is set if the document defines the symbol.
	recordUse = iota
	// recordDescription is followed by the number of the block that describes the symbol,
	// plus 1, and by the group of the symbols that it implements, or 0.
	recordDescription
	// recordImplementer is followed by the group of a symbol that implements this one.
	recordImplementer
)

// NewBuilder returns a Builder that writes to w.
func NewBuilder(w io.Writer, h Header, l Limits) *Builder {
	b := &Builder{w: w, hash: xxh3.New(), header: h, limits: l.withDefaults(), paths: map[uint64]bool{}}
	b.records.directory, b.documents.directory, b.descriptions.directory = l.Directory, l.Directory, l.Directory
	b.block.b = b
	return b
}

// Close releases the files of the Builder.
func (b *Builder) Close() {
	b.records.release()
	b.documents.release()
	b.descriptions.release()
}

// SetTool records the indexer in the header.
func (b *Builder) SetTool(m *Metadata) { b.header.Tool, b.header.ToolVersion = m.Tool, m.ToolVersion }

// AddDocument adds the document of the file at path, which has the given blob and text. It
// changes the document. It returns ErrInvalid if a position of the document does not exist
// in the text.
func (b *Builder) AddDocument(d *Document, path string, blob code.BlobID, text []byte) error {
	hash := xxh3.HashString(path)
	if b.paths[hash] {
		return invalidf("%q is in the index twice", path)
	}
	if b.pathBytes += len(path); b.pathBytes > maxPathsBytes {
		return tooLargef("its paths have more than %d bytes; index parts of the repository, and upload each with its path", maxPathsBytes)
	}
	b.paths[hash] = true
	if err := d.toBytes(text, b.limits.MaxDocumentMemory); err != nil {
		return fmt.Errorf("%.200q: %w", path, err)
	}
	contents, err := b.writeContents(d, blob, HashLines(text))
	if err != nil {
		return err
	}
	number := uint64(b.header.Documents)
	b.header.Documents++
	b.header.Occurrences += int64(len(d.occurrences))
	defined := make([]bool, len(d.names))
	for i := range d.occurrences {
		o := &d.occurrences[i]
		defined[o.symbol] = defined[o.symbol] || o.roles&RoleDefinition != 0
	}
	for i, name := range d.names {
		bit := uint64(0)
		if defined[i] {
			bit = 1
		}
		if err := b.addRecord(name, recordUse, number<<1|bit); err != nil {
			return err
		}
	}
	if err := b.addDescriptions(&d.symbols, d.relations.list); err != nil {
		return err
	}
	b.row = appendText(appendText(b.row[:0], path), blob.String())
	b.row = binary.AppendUvarint(contents.append(b.row), uint64(b.descriptions.entries-1))
	return b.documents.addEntry(b.row)
}

// addRecord adds a record about a symbol that is not local.
func (b *Builder) addRecord(symbol string, kind byte, numbers ...uint64) error {
	if IsLocal(symbol) {
		return nil
	}
	b.record = appendSymbolRecord(b.record[:0], symbol, kind)
	for _, n := range numbers {
		b.record = binary.BigEndian.AppendUint64(b.record, n)
	}
	return b.records.addRecord(b.record)
}

// AddExternal adds the description of a symbol that is defined outside of the index.
func (b *Builder) AddExternal(i *Information) error {
	b.row = i.append(b.row[:0])
	b.externals.addEntry(b.row)
	var relations [][]byte
	if len(i.Implements) > 0 {
		relation := binary.AppendUvarint(appendText(nil, i.Symbol), uint64(len(i.Implements)))
		for _, target := range i.Implements {
			relation = appendText(relation, target)
		}
		relations = [][]byte{relation}
	}
	// The description is in the block that is written next.
	if err := b.addRelations(relations); err != nil {
		return err
	}
	if b.externals.entries < descriptionsPerBlock && b.externals.size < externalBytes {
		return nil
	}
	return b.flushExternals()
}

// externalBytes is the size from which on a block of external symbols is written.
const externalBytes = 1 << 20

func (b *Builder) flushExternals() error {
	all := b.externals
	b.externals = pieces{}
	if all.entries == 0 {
		return nil
	}
	return b.addDescriptions(&all, nil)
}

// addDescriptions writes a block that describes symbols, and adds records about those that
// are not local, and about the symbols that they implement.
func (b *Builder) addDescriptions(all *pieces, relations [][]byte) error {
	count := binary.AppendUvarint(nil, uint64(all.entries))
	b.block.beginBlock(uint64(len(count) + all.size))
	b.block.addBytes(count)
	for _, piece := range all.list {
		b.block.addBytes(piece)
	}
	ref, err := b.block.endBlock()
	if err != nil {
		return err
	}
	if err := b.descriptions.addEntry(ref.append(nil)); err != nil {
		return err
	}
	for _, piece := range all.list {
		for d := (decoder{b: piece}); len(d.b) > 0; {
			symbol := d.text()
			_, _, _ = d.bytes(), d.bytes(), d.bytes()
			if err := b.addRecord(symbol, recordDescription, uint64(b.descriptions.entries), 0); err != nil {
				return err
			}
		}
	}
	return b.addRelations(relations)
}

// addRelations adds records about the symbols that others implement. Each others has a
// description; its group connects it to them.
func (b *Builder) addRelations(relations [][]byte) error {
	for _, piece := range relations {
		for d := (decoder{b: piece}); len(d.b) > 0; {
			symbol := d.text()
			b.groups++
			if !IsLocal(symbol) {
				if err := b.addRecord(symbol, recordDescription, noBlock, b.groups); err != nil {
					return err
				}
			}
			for range d.count() {
				target := d.text()
				if IsLocal(symbol) {
					continue
				}
				if err := b.addRecord(target, recordImplementer, b.groups); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// noBlock is the number of no block. It is after all others in the order of records.
const noBlock = 1<<64 - 1

// toBytes sorts the occurrences by position and converts their columns to bytes of the text.
// It returns ErrTooLarge if the lines of the text take more memory than a document may.
func (d *Document) toBytes(text []byte, maxMemory int) error {
	if n := lineCost * bytes.Count(text, []byte{'\n'}); n > maxMemory {
		return tooLargef("its lines take more than %d MiB of memory; exclude the file from the index", maxMemory>>20)
	}
	starts := []uint32{0}
	for at := range text {
		if text[at] == '\n' {
			starts = append(starts, uint32(at+1))
		}
	}
	convert := func(line, column uint32) (uint32, error) {
		if int(line) >= len(starts) {
			return 0, invalidf("an occurrence is at line %d, but the file of the commit has %d lines: was the index made of this commit?", line+1, len(starts))
		}
		rest := text[starts[line]:]
		if int(line)+1 < len(starts) {
			rest = text[starts[line]:starts[line+1]]
		}
		offset, ok := d.Encoding.byteColumn(trimLineEnd(rest), int(column))
		if !ok {
			return 0, invalidf("an occurrence is at column %d of line %d, which is shorter in the commit: was the index made of this commit?", column+1, line+1)
		}
		return uint32(offset), nil
	}
	for i := range d.occurrences {
		o := &d.occurrences[i]
		var first, second error
		o.startColumn, first = convert(o.startLine, o.startColumn)
		o.endColumn, second = convert(o.endLine, o.endColumn)
		if err := cmp.Or(first, second); err != nil {
			return err
		}
	}
	slices.SortStableFunc(d.occurrences, func(a, b packedOccurrence) int {
		return cmp.Or(a.startPoint().Compare(b.startPoint()), a.endPoint().Compare(b.endPoint()))
	})
	return nil
}

// writeContents writes the block with the lines and occurrences of a document.
func (b *Builder) writeContents(d *Document, blob code.BlobID, lines []uint64) (blockRef, error) {
	out := appendText(nil, blob.String())
	out = slices.Grow(binary.AppendUvarint(out, uint64(len(lines))), 8*len(lines))
	for _, h := range lines {
		out = binary.LittleEndian.AppendUint64(out, h)
	}
	// The symbols are numbered in the order of their first occurrence.
	const none = 1<<32 - 1
	numbers := slices.Repeat([]uint32{none}, len(d.names))
	used := make([]uint32, 0, len(d.names))
	for i := range d.occurrences {
		if s := d.occurrences[i].symbol; numbers[s] == none {
			numbers[s] = uint32(len(used))
			used = append(used, s)
		}
	}
	out = binary.AppendUvarint(out, uint64(len(used)))
	for _, s := range used {
		out = appendText(out, d.names[s])
	}
	out = binary.AppendUvarint(out, uint64(len(d.occurrences)))
	line := uint32(0)
	for i := range d.occurrences {
		o := &d.occurrences[i]
		out = binary.AppendUvarint(out, uint64(o.startLine-line))
		out = binary.AppendUvarint(out, uint64(o.startColumn))
		out = binary.AppendUvarint(out, uint64(o.endLine-o.startLine))
		out = binary.AppendUvarint(out, uint64(o.endColumn))
		out = binary.AppendUvarint(out, uint64(numbers[o.symbol]))
		out = binary.AppendUvarint(out, uint64(o.roles))
		line = o.startLine
	}
	return b.writeBlock(out)
}

func (i *Information) append(b []byte) []byte {
	b = appendText(b, i.Symbol)
	b = appendText(b, i.DisplayName)
	b = appendText(b, i.Signature)
	return appendText(b, i.Documentation)
}

func (b *Builder) write(p []byte) error {
	_, _ = b.hash.Write(p) // never fails
	b.written += uint64(len(p))
	if _, err := b.w.Write(p); err != nil {
		return fmt.Errorf("write the precise index: %w", err)
	}
	return nil
}

// Finish writes the tables. It returns the header, the size of the object, and the
// checksum of its bytes in hexadecimal.
func (b *Builder) Finish() (Header, int64, string, error) {
	if err := b.flushExternals(); err != nil {
		return b.header, 0, "", err
	}
	clear(b.paths)
	symbols, err := b.writeSymbols()
	if err != nil {
		return b.header, 0, "", err
	}
	documents, err := b.writeDocuments()
	if err != nil {
		return b.header, 0, "", err
	}
	text, err := json.Marshal(b.header)
	if err != nil {
		return b.header, 0, "", fmt.Errorf("write the precise index: %w", err)
	}
	header, err := b.writeBlock(text)
	if err != nil {
		return b.header, 0, "", err
	}
	footer := append(header.append(documents.append(symbols.append(nil))), magic...)
	err = b.write(footer)
	sum := b.hash.Sum128().Bytes()
	return b.header, int64(b.written), hex.EncodeToString(sum[:]), err
}
