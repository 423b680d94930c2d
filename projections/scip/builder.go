package scip

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
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

// Builder writes an object: document by document, then its tables. It keeps the symbols
// that are not local in memory, within Limits.
type Builder struct {
	w           io.Writer
	hash        *xxh3.Hasher
	written     uint64
	header      Header
	limits      Limits
	documents   []documentEntry
	paths       map[string]bool
	symbols     map[string]*symbolEntry
	symbolBytes int64
	// descriptions refer to the blocks that describe symbols. externals are the descriptions
	// of external symbols that are not yet written to a block.
	descriptions []blockRef
	externals    []Information
}

type documentEntry struct {
	path string
	blob code.BlobID
	ref  blockRef
	// information is the number of the block that describes the document's symbols.
	information int
}

type symbolEntry struct {
	// documents are document numbers shifted left by one bit; the lowest bit is set if the
	// document defines the symbol.
	documents []uint64
	// information is the number of the block that describes the symbol, plus 1; 0 if none
	// does.
	information  int
	implementers []string
	ordinal      int
}

// NewBuilder returns a Builder that writes to w.
func NewBuilder(w io.Writer, h Header, l Limits) *Builder {
	return &Builder{w: w, hash: xxh3.New(), header: h, limits: l.withDefaults(), paths: map[string]bool{}, symbols: map[string]*symbolEntry{}}
}

// SetTool records the indexer in the header.
func (b *Builder) SetTool(m *Metadata) { b.header.Tool, b.header.ToolVersion = m.Tool, m.ToolVersion }

// AddDocument adds the document of the file at path, which has the given blob and text. It
// returns ErrInvalid if a position of the document does not exist in the text.
func (b *Builder) AddDocument(d *Document, path string, blob code.BlobID, text []byte) error {
	if b.paths[path] {
		return invalidf("%q is in the index twice", path)
	}
	occurrences, err := d.inBytes(text)
	if err != nil {
		return fmt.Errorf("%.200q: %w", path, err)
	}
	number := uint64(len(b.documents))
	contents, defined := encodeContents(blob, HashLines(text), occurrences)
	entry := documentEntry{path: path, blob: blob}
	if entry.ref, err = b.writeBlock(contents); err != nil {
		return err
	}
	b.paths[path] = true
	b.documents = append(b.documents, entry)
	b.header.Occurrences += int64(len(occurrences))
	for _, symbol := range slices.Sorted(maps.Keys(defined)) {
		if IsLocal(symbol) {
			continue
		}
		e, err := b.symbol(symbol)
		if err != nil {
			return err
		}
		bit := uint64(0)
		if defined[symbol] {
			bit = 1
		}
		e.documents = append(e.documents, number<<1|bit)
	}
	return b.addDescriptions(d.Symbols, number)
}

// AddExternal adds the description of a symbol that is defined outside of the index.
func (b *Builder) AddExternal(i *Information) error {
	if b.externals = append(b.externals, *i); len(b.externals) < descriptionsPerBlock {
		return nil
	}
	return b.flushExternals()
}

func (b *Builder) flushExternals() error {
	all := b.externals
	b.externals = nil
	if len(all) == 0 {
		return nil
	}
	return b.addDescriptions(all, noDocument)
}

// noDocument stands for the document of an external symbol.
const noDocument = 1<<63 - 1

// symbol returns the entry of a symbol and adds one if there is none.
func (b *Builder) symbol(name string) (*symbolEntry, error) {
	if e := b.symbols[name]; e != nil {
		return e, nil
	}
	if len(b.symbols) == b.limits.MaxSymbols {
		return nil, tooLargef("more than %d symbols", b.limits.MaxSymbols)
	}
	if b.symbolBytes += int64(len(name)); b.symbolBytes > b.limits.MaxSymbolBytes {
		return nil, tooLargef("its symbols have more than %d bytes", b.limits.MaxSymbolBytes)
	}
	e := &symbolEntry{}
	b.symbols[name] = e
	return e, nil
}

// addDescriptions writes a block that describes symbols, and records the block in the
// entries of those that are not local.
func (b *Builder) addDescriptions(all []Information, document uint64) error {
	block := binary.AppendUvarint(nil, uint64(len(all)))
	for i := range all {
		block = all[i].append(block)
	}
	ref, err := b.writeBlock(block)
	if err != nil {
		return err
	}
	b.descriptions = append(b.descriptions, ref)
	if document != noDocument {
		b.documents[document].information = len(b.descriptions) - 1
	}
	for i := range all {
		if IsLocal(all[i].Symbol) {
			continue
		}
		e, err := b.symbol(all[i].Symbol)
		if err != nil {
			return err
		}
		if e.information == 0 {
			e.information = len(b.descriptions)
		}
		for _, target := range all[i].Implements {
			if IsLocal(target) {
				continue
			}
			t, err := b.symbol(target)
			if err != nil {
				return err
			}
			t.implementers = append(t.implementers, all[i].Symbol)
		}
	}
	return nil
}

// inBytes returns the occurrences sorted by position, with columns in bytes.
func (d *Document) inBytes(text []byte) ([]Occurrence, error) {
	lines := bytes.SplitAfter(text, []byte{'\n'})
	convert := func(p *Point) error {
		if p.Line >= len(lines) {
			return invalidf("an occurrence is at line %d, but the file of the commit has %d lines: was the index made of this commit?", p.Line+1, len(lines))
		}
		column, ok := d.Encoding.byteColumn(trimLineEnd(lines[p.Line]), p.Column)
		if !ok {
			return invalidf("an occurrence is at column %d of line %d, which is shorter in the commit: was the index made of this commit?", p.Column+1, p.Line+1)
		}
		p.Column = column
		return nil
	}
	out := slices.Clone(d.Occurrences)
	for i := range out {
		if err := cmp.Or(convert(&out[i].Start), convert(&out[i].End)); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(out, func(a, b Occurrence) int { return cmp.Or(a.Start.Compare(b.Start), a.End.Compare(b.End)) })
	return out, nil
}

// encodeContents encodes a document. It also returns the document's symbols, each mapped
// to whether the document defines it.
func encodeContents(blob code.BlobID, lines []uint64, occurrences []Occurrence) (b []byte, defined map[string]bool) {
	b = appendText(nil, blob.String())
	b = binary.AppendUvarint(b, uint64(len(lines)))
	for _, h := range lines {
		b = binary.LittleEndian.AppendUint64(b, h)
	}
	numbers := map[string]int{}
	var names []string
	defined = map[string]bool{}
	for i := range occurrences {
		o := &occurrences[i]
		if _, ok := numbers[o.Symbol]; !ok {
			numbers[o.Symbol] = len(names)
			names = append(names, o.Symbol)
		}
		defined[o.Symbol] = defined[o.Symbol] || o.Roles&RoleDefinition != 0
	}
	b = binary.AppendUvarint(b, uint64(len(names)))
	for _, name := range names {
		b = appendText(b, name)
	}
	b = binary.AppendUvarint(b, uint64(len(occurrences)))
	line := 0
	for i := range occurrences {
		o := &occurrences[i]
		b = binary.AppendUvarint(b, uint64(o.Start.Line-line))
		b = binary.AppendUvarint(b, uint64(o.Start.Column))
		b = binary.AppendUvarint(b, uint64(o.End.Line-o.Start.Line))
		b = binary.AppendUvarint(b, uint64(o.End.Column))
		b = binary.AppendUvarint(b, uint64(numbers[o.Symbol]))
		b = binary.AppendUvarint(b, uint64(o.Roles))
		line = o.Start.Line
	}
	return b, defined
}

func (i *Information) append(b []byte) []byte {
	b = appendText(b, i.Symbol)
	b = appendText(b, i.DisplayName)
	b = appendText(b, i.Signature)
	return appendText(b, i.Documentation)
}

func (b *Builder) writeBlock(block []byte) (blockRef, error) {
	if len(block) > maxBlockBytes {
		return blockRef{}, tooLargef("a document takes %d bytes, at most %d", len(block), maxBlockBytes)
	}
	packed, err := encodeBlock(block)
	if err != nil {
		return blockRef{}, err
	}
	ref := blockRef{b.written, uint64(len(packed)), checksum(packed)}
	return ref, b.write(packed)
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
	b.header.Documents, b.header.Symbols = len(b.documents), len(b.symbols)
	symbols, err := b.writeSymbols()
	if err != nil {
		return b.header, 0, "", err
	}
	documents, err := b.writeBlock(b.encodeDocuments())
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
