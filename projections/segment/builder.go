package segment

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/schemas/code"
)

// DefaultMaxTextBytes is the default bound of a segment's document text. It is large
// enough that a query reads few segments, and small enough that a build fits into 200 MiB
// of memory and a merge takes seconds.
const DefaultMaxTextBytes = 128 << 20

// maxTextSpace bounds the text and symbol text together, because the number of blocks is
// bounded.
const maxTextSpace = postings.MaxBlocks * postings.BlockBytes

// Document is one document to add to a segment.
type Document struct {
	Key   code.DocumentKey
	Flags code.Flags
	// Text is mostly UTF-8. The caller may reuse it once Add has returned.
	Text []byte
	// Symbols are ordered by offset.
	Symbols []code.Symbol
}

// Options configure a Builder. The zero value is valid.
type Options struct {
	// Seed is part of the ID. Segments of different partitions need different seeds,
	// because equal content must not give them the same ID.
	Seed []byte
	// Grams adds the filter that Reader.MayHave uses. It takes a quarter more work, which
	// is worthwhile for large, long-lived segments. Merges set it.
	Grams bool
	// MaxTextBytes bounds the text of the documents; 0 means DefaultMaxTextBytes. It must
	// not exceed 3/4 of the maximum text space.
	MaxTextBytes int64
}

func (o *Options) ensureDefaults() {
	if o.MaxTextBytes <= 0 {
		o.MaxTextBytes = DefaultMaxTextBytes
	}
	o.MaxTextBytes = min(o.MaxTextBytes, maxTextSpace/4*3)
}

// Meta describes a sealed segment.
type Meta struct {
	ID                   ID
	SizeBytes, TextBytes int64
	Documents, Symbols   int
}

// Builder builds segments, one after the other. While it builds one of
// DefaultMaxTextBytes, it holds about as many bytes: the postings, the compressed frames
// and the symbol text.
type Builder struct {
	options   Options
	postings  *postings.Accumulator
	hash      xxh3.Hasher
	keys      map[code.DocumentKey]struct{}
	blobs     []byte
	rows      []byte
	languages nameTable
	symbols   symbolWriter
	defined   definitionWriter
	head      header

	text       []byte // not yet framed
	packer     *packer
	frames     [][]byte
	lines      uint32
	runs       [postings.RunClasses][]byte // a column of levels for each class
	symbolText symbolText
	grams      *postings.GramSet // nil unless Options.Grams is set
}

// NewBuilder returns an empty Builder.
func NewBuilder(o Options) *Builder {
	b := &Builder{postings: postings.NewAccumulator(), packer: &packer{}}
	b.Reset(o)
	return b
}

// Reset empties the builder and keeps its memory for the next segment.
func (b *Builder) Reset(o Options) {
	o.ensureDefaults()
	b.postings.Reset()
	*b = Builder{
		options: o, postings: b.postings, runs: b.runs, keys: map[code.DocumentKey]struct{}{},
		defined: definitionWriter{order: b.defined.order[:0], definitions: b.defined.definitions[:0], folded: b.defined.folded}, head: header{version: formatVersion},
		text: b.text[:0], packer: b.packer, blobs: b.blobs[:0], rows: b.rows[:0],
	}
	b.symbolText.add("") // the line feed before the first name
	for c := range b.runs {
		b.runs[c] = b.runs[c][:0]
	}
	if o.Grams {
		b.grams = new(postings.GramSet)
	}
	b.head.frameLines = []uint32{0}
	_, _ = b.hash.Write([]byte{formatVersion})
	_, _ = b.hash.Write(o.Seed)
}

// TextBytes returns the size of the added documents.
func (b *Builder) TextBytes() int64 { return int64(b.head.textBytes) }

// Documents returns the number of added documents.
func (b *Builder) Documents() int { return b.head.documents }

// Add adds a document. If the segment would exceed its bounds, it adds nothing and
// returns ErrFull. For a document that exceeds the bounds of an empty segment, it returns
// another error.
func (b *Builder) Add(d Document) error {
	if _, ok := b.keys[d.Key]; ok {
		return fmt.Errorf("document %s (%s) is in the segment already", d.Key.Blob, d.Key.Language)
	}
	names := symbolTextBytes(d.Symbols)
	if int64(len(d.Text)) > b.options.MaxTextBytes || len(d.Text)+names > maxTextSpace {
		return fmt.Errorf("document %s of %d bytes: a segment holds %d", d.Key.Blob, len(d.Text), b.options.MaxTextBytes)
	}
	text := b.head.textBytes + len(d.Text)
	if int64(text) > b.options.MaxTextBytes || text+b.symbolText.bytes+names > maxTextSpace || len(b.languages.names) == maxNames {
		return ErrFull
	}
	if err := checkSymbols(d); err != nil {
		return err
	}
	b.addRow(d, names)
	for i := range d.Symbols {
		b.symbolText.add(d.Symbols[i].Name)
	}
	if err := b.symbols.add(d.Symbols, b.packer); err != nil {
		return err
	}
	b.defined.add(DocID(b.head.documents-1), d.Symbols, &b.symbols.kinds)
	return b.addText(d.Text)
}

func symbolTextBytes(symbols []code.Symbol) int {
	n := len(symbols)
	for i := range symbols {
		n += len(symbols[i].Name)
	}
	return n
}

// symbolText collects the symbol text in chunks, because a slice that grows exists twice
// while it is copied.
type symbolText struct {
	chunks [][]byte
	bytes  int
}

// A chunk is as large as those before it together, within these bounds.
const (
	minSymbolChunk = 4 << 10
	maxSymbolChunk = 256 << 10
)

// add adds a name and a line feed.
func (t *symbolText) add(name string) {
	size, last := len(name)+1, len(t.chunks)-1
	if last < 0 || cap(t.chunks[last])-len(t.chunks[last]) < size {
		room := min(max(t.bytes, minSymbolChunk), maxSymbolChunk)
		t.chunks, last = append(t.chunks, make([]byte, 0, max(room, size))), last+1
	}
	t.chunks[last] = append(append(t.chunks[last], name...), '\n')
	t.bytes += size
}

// checkSymbols checks the invariants on which readers rely.
func checkSymbols(d Document) error {
	if len(d.Symbols) > code.MaxSymbolsPerDocument {
		return fmt.Errorf("document %s: %d symbols, at most %d", d.Key.Blob, len(d.Symbols), code.MaxSymbolsPerDocument)
	}
	var last code.Symbol
	for i := range d.Symbols {
		s := &d.Symbols[i]
		switch {
		case s.Name == "" || len(s.Name) > code.MaxSymbolBytes || bytes.IndexByte([]byte(s.Name), '\n') >= 0:
			return fmt.Errorf("document %s: symbol %d has the name %.40q", d.Key.Blob, i, s.Name)
		case s.Offset < last.Offset || s.Line < last.Line:
			return fmt.Errorf("document %s: symbol %q is out of order", d.Key.Blob, s.Name)
		case int(s.Offset)+len(s.Name) > len(d.Text) || string(d.Text[s.Offset:int(s.Offset)+len(s.Name)]) != s.Name:
			return fmt.Errorf("document %s: symbol %q is not at offset %d", d.Key.Blob, s.Name, s.Offset)
		}
		last = *s
	}
	return nil
}

func (b *Builder) addRow(d Document, names int) {
	b.keys[d.Key] = struct{}{}
	_, _ = b.hash.Write(d.Key.Blob[:])
	_, _ = b.hash.WriteString(string(d.Key.Language))
	_, _ = b.hash.Write([]byte{0})
	b.blobs = append(b.blobs, d.Key.Blob[:]...)
	row := documentRow{
		textBytes: len(d.Text), symbolBytes: names, lines: bytes.Count(d.Text, lineFeed),
		symbols: len(d.Symbols), language: b.languages.numberOf(string(d.Key.Language)), flags: d.Flags,
	}
	b.rows = row.append(b.rows)
	b.head.documents++
	b.head.symbols += len(d.Symbols)
	b.head.textBytes += len(d.Text)
}

var lineFeed = []byte{'\n'}

// addText appends to the text space, and seals every frame whose last block has a
// complete window.
func (b *Builder) addText(text []byte) error {
	for len(text) > 0 {
		n := min(len(text), FrameBytes)
		b.text = append(b.text, text[:n]...)
		text = text[n:]
		if err := b.sealFrames(FrameBytes + postings.WindowBytes); err != nil {
			return err
		}
	}
	return nil
}

// sealFrames seals frames while at least need bytes are pending.
func (b *Builder) sealFrames(need int) error {
	for len(b.text) >= need && len(b.text) > 0 {
		n := min(FrameBytes, len(b.text))
		if err := b.sealFrame(n); err != nil {
			return err
		}
		b.text = append(b.text[:0], b.text[n:]...)
	}
	return nil
}

func (b *Builder) sealFrame(n int) error {
	for at := 0; at < n; at += postings.BlockBytes {
		block := min(postings.BlockBytes, n-at)
		for class, level := range b.postings.AddBlock(b.text[at:], block) {
			b.runs[class] = postings.AppendRunLevel(b.runs[class], b.postings.Blocks()-1, level)
		}
	}
	if b.grams != nil {
		b.grams.Add(b.text, n)
	}
	frame, err := b.packer.packPiece(nil, b.text[:n])
	if err != nil {
		return err
	}
	b.frames = append(b.frames, frame)
	b.lines += uint32(bytes.Count(b.text[:n], lineFeed))
	b.head.frameLines = append(b.head.frameLines, b.lines)
	return nil
}

// Finish seals the segment and writes it as a synced table to path. The builder must be
// Reset before it is used again.
func (b *Builder) Finish(path string) (Meta, error) {
	if b.head.documents == 0 {
		return Meta{}, fmt.Errorf("segment %s: no documents", path)
	}
	if b.head.symbols > 0 {
		b.head.symbolBytes = b.symbolText.bytes
		for _, chunk := range b.symbolText.chunks {
			if err := b.addText(chunk); err != nil {
				return Meta{}, err
			}
		}
	}
	if err := b.sealFrames(0); err != nil {
		return Meta{}, err
	}
	if err := b.symbols.flush(b.packer); err != nil {
		return Meta{}, err
	}
	meta := Meta{TextBytes: int64(b.head.textBytes), Documents: b.head.documents, Symbols: b.head.symbols}
	sum := b.hash.Sum128()
	binary.BigEndian.PutUint64(meta.ID[:8], sum.Hi)
	binary.BigEndian.PutUint64(meta.ID[8:], sum.Lo)
	size, err := b.write(path, meta.ID)
	if err != nil {
		return Meta{}, fmt.Errorf("write segment %s: %w", path, err)
	}
	meta.SizeBytes = size
	return meta, nil
}
