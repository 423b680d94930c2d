package scip

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Reader reads an object. It keeps the paths of the documents and one symbol in 128 in
// memory.
type Reader struct {
	r           io.ReaderAt
	size        uint64
	header      Header
	documents   []documentEntry
	byPath      map[string]int
	information []blockRef
	symbols     []symbolBlock
	symbolCount int
	memory      int64
}

type symbolBlock struct {
	first string
	ref   blockRef
}

// Open reads the tables of an object of the given size. It returns ErrCorrupt if no Builder
// wrote the object, or an error of r.
func Open(r io.ReaderAt, size int64) (*Reader, error) {
	out := &Reader{r: r, size: uint64(size), byPath: map[string]int{}}
	if size < int64(footerBytes) {
		return nil, fmt.Errorf("%w: it has %d bytes", ErrCorrupt, size)
	}
	footer := make([]byte, footerBytes)
	if _, err := r.ReadAt(footer, size-int64(footerBytes)); err != nil {
		return nil, fmt.Errorf("read the precise index: %w", err)
	}
	if string(footer[3*blockRefBytes:]) != magic {
		return nil, fmt.Errorf("%w: it does not end as one", ErrCorrupt)
	}
	d := decoder{b: footer}
	symbols, documents, header := d.blockRef(), d.blockRef(), d.blockRef()
	text, err := out.readBlock(header)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &out.header); err != nil {
		return nil, fmt.Errorf("%w: its header: %w", ErrCorrupt, err)
	}
	if err := out.loadDocuments(documents); err != nil {
		return nil, err
	}
	return out, out.loadSymbols(symbols)
}

func (r *Reader) loadDocuments(ref blockRef) error {
	b, err := r.readBlock(ref)
	if err != nil {
		return err
	}
	r.memory += int64(2 * len(b))
	d := decoder{b: b}
	r.documents = make([]documentEntry, d.count())
	for i := range r.documents {
		e := &r.documents[i]
		e.path = d.text()
		if e.blob, err = code.ParseBlobID(d.text()); err != nil {
			return fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		e.ref = d.blockRef()
		e.information = d.coordinate()
		r.byPath[e.path] = i
	}
	r.information = make([]blockRef, d.count())
	for i := range r.information {
		r.information[i] = d.blockRef()
	}
	return d.err
}

func (r *Reader) loadSymbols(ref blockRef) error {
	b, err := r.readBlock(ref)
	if err != nil {
		return err
	}
	r.memory += int64(2 * len(b))
	d := decoder{b: b}
	r.symbolCount = d.coordinate()
	for len(d.b) > 0 {
		r.symbols = append(r.symbols, symbolBlock{d.text(), d.blockRef()})
	}
	return d.err
}

// readBlock reads a block, verifies its checksum and decodes it.
func (r *Reader) readBlock(ref blockRef) ([]byte, error) {
	if ref.offset > r.size || ref.size > r.size-ref.offset {
		return nil, fmt.Errorf("%w: a block is beyond its end", ErrCorrupt)
	}
	b := make([]byte, ref.size)
	if _, err := r.r.ReadAt(b, int64(ref.offset)); err != nil {
		return nil, fmt.Errorf("read the precise index: %w", err)
	}
	if xxh3.Hash(b) != ref.sum {
		return nil, fmt.Errorf("%w: the checksum of a block is wrong", ErrCorrupt)
	}
	return decodeBlock(b)
}

// Header returns the header of the object.
func (r *Reader) Header() Header { return r.header }

// MemoryBytes returns an estimate of the memory that the Reader uses.
func (r *Reader) MemoryBytes() int64 { return r.memory }

// FindDocument returns the number of the document at a path.
func (r *Reader) FindDocument(path string) (number int, ok bool) {
	number, ok = r.byPath[path]
	return number, ok
}

// DocumentPath returns the path of the document with the given number.
func (r *Reader) DocumentPath(number int) string { return r.documents[number].path }

// Contents holds the lines and occurrences of a document.
type Contents struct {
	Blob code.BlobID
	// Lines are the hashes of the lines; see MapLines.
	Lines []uint64
	// Occurrences are sorted by position; columns are in bytes.
	Occurrences []Occurrence
}

// ReadContents returns the contents of the document with the given number.
func (r *Reader) ReadContents(number int) (*Contents, error) {
	b, err := r.readBlock(r.documents[number].ref)
	if err != nil {
		return nil, err
	}
	d := decoder{b: b}
	out := &Contents{Blob: r.documents[number].blob}
	d.text()
	out.Lines = make([]uint64, d.count())
	for i := range out.Lines {
		out.Lines[i] = d.fixed64()
	}
	names := make([]string, d.count())
	for i := range names {
		names[i] = d.text()
	}
	out.Occurrences = make([]Occurrence, d.count())
	line := 0
	for i := range out.Occurrences {
		o := &out.Occurrences[i]
		line += d.coordinate()
		o.Start = Point{line, d.coordinate()}
		o.End = Point{line + d.coordinate(), d.coordinate()}
		name := d.number()
		o.Roles = Roles(d.number())
		if d.err != nil || name >= uint64(len(names)) {
			return nil, fmt.Errorf("%w: an occurrence", ErrCorrupt)
		}
		o.Symbol = names[name]
	}
	return out, d.err
}

// Symbol is an entry of the symbol table.
type Symbol struct {
	Name string
	// Documents are the documents in which the symbol occurs.
	Documents []DocumentUse
	// Described reports whether ReadInformation returns a description.
	Described    bool
	information  int
	implementers []int
}

// DocumentUse is a document in which a symbol occurs.
type DocumentUse struct {
	Number int
	// Defined reports whether the document defines the symbol.
	Defined bool
}

// FindSymbols returns at most max entries of a symbol that is not local: the entry of
// exactly that name or, if anyVersion is set, those of all versions of its package.
func (r *Reader) FindSymbols(name string, anyVersion bool, max int) ([]Symbol, error) {
	wanted := newSymbolKey(name)
	from := wanted
	if anyVersion {
		from = symbolKey{family: wanted.family}
	}
	first, found := slices.BinarySearchFunc(r.symbols, from, func(b symbolBlock, k symbolKey) int { return newSymbolKey(b.first).compare(k) })
	if !found && first > 0 {
		first--
	}
	var out []Symbol
	for i := first; i < len(r.symbols); i++ {
		block, err := r.readSymbols(i)
		if err != nil {
			return nil, err
		}
		for k := range block {
			key := newSymbolKey(block[k].Name)
			if key == wanted || anyVersion && key.family == wanted.family {
				out = append(out, block[k])
			}
			if len(out) == max || key.family > wanted.family || !anyVersion && key.compare(wanted) >= 0 {
				return out, nil
			}
		}
	}
	return out, nil
}

// Implementers returns at most max symbols that implement s.
func (r *Reader) Implementers(s *Symbol, max int) ([]Symbol, error) {
	var out []Symbol
	loaded, block := -1, []Symbol(nil)
	for _, ordinal := range s.implementers[:min(len(s.implementers), max)] {
		if ordinal/symbolsPerBlock != loaded {
			loaded = ordinal / symbolsPerBlock
			if loaded >= len(r.symbols) {
				return nil, fmt.Errorf("%w: a symbol beyond the table", ErrCorrupt)
			}
			var err error
			if block, err = r.readSymbols(loaded); err != nil {
				return nil, err
			}
		}
		if k := ordinal % symbolsPerBlock; k < len(block) {
			out = append(out, block[k])
		}
	}
	return out, nil
}

// readSymbols reads a block of the symbol table.
func (r *Reader) readSymbols(i int) ([]Symbol, error) {
	b, err := r.readBlock(r.symbols[i].ref)
	if err != nil {
		return nil, err
	}
	d := decoder{b: b}
	out := make([]Symbol, d.count())
	before := ""
	for k := range out {
		s := &out[k]
		shared := d.coordinate()
		if shared > len(before) {
			return nil, fmt.Errorf("%w: a name", ErrCorrupt)
		}
		s.Name = before[:shared] + d.text()
		before = s.Name
		s.information = d.coordinate()
		s.Described = s.information > 0
		s.Documents = make([]DocumentUse, d.count())
		last := uint64(0)
		for n := range s.Documents {
			last += d.number()
			if last>>1 >= uint64(len(r.documents)) {
				return nil, fmt.Errorf("%w: a document beyond the table", ErrCorrupt)
			}
			s.Documents[n] = DocumentUse{int(last >> 1), last&1 != 0}
		}
		s.implementers = make([]int, d.count())
		for n := range s.implementers {
			s.implementers[n] = d.coordinate()
		}
	}
	return out, d.err
}

// ReadInformation returns the description of a symbol, or nil if there is none.
func (r *Reader) ReadInformation(s *Symbol) (*Information, error) {
	if !s.Described {
		return nil, nil
	}
	return r.findInformation(s.information-1, s.Name)
}

// ReadLocalInformation returns the description of a local symbol of the document with the
// given number, or nil if there is none.
func (r *Reader) ReadLocalInformation(number int, symbol string) (*Information, error) {
	return r.findInformation(r.documents[number].information, symbol)
}

func (r *Reader) findInformation(block int, symbol string) (*Information, error) {
	if block >= len(r.information) {
		return nil, fmt.Errorf("%w: a description beyond the table", ErrCorrupt)
	}
	b, err := r.readBlock(r.information[block])
	if err != nil {
		return nil, err
	}
	d := decoder{b: b}
	for range d.count() {
		i := d.information()
		if i.Symbol == symbol && d.err == nil {
			return &i, nil
		}
	}
	return nil, d.err
}
