package scip

import (
	"iter"
	"strings"
)

// Metadata is the first part of an index.
type Metadata struct {
	// Tool and ToolVersion name the indexer; both may be empty.
	Tool, ToolVersion string
}

// Document is the part of an index about one file. It keeps its occurrences and symbols in a
// compact form.
type Document struct {
	// Path is slash-separated and relative to the root of the index.
	Path string
	// Encoding is the unit of the columns of its occurrences.
	Encoding    Encoding
	names       []string // of the symbols that occur
	occurrences []packedOccurrence
	// symbols holds the encoded descriptions of symbols, and relations the symbol and the
	// implemented symbols of those that implement any.
	symbols   pieces
	relations pieces
}

// packedOccurrence is an Occurrence whose symbol is a number in Document.names.
type packedOccurrence struct {
	startLine, startColumn, endLine, endColumn, symbol uint32
	roles                                              Roles
}

func (o *packedOccurrence) startPoint() Point { return Point{int(o.startLine), int(o.startColumn)} }
func (o *packedOccurrence) endPoint() Point   { return Point{int(o.endLine), int(o.endColumn)} }

// Occurrences returns the occurrences in the order of the index.
func (d *Document) Occurrences() iter.Seq[Occurrence] {
	return func(yield func(Occurrence) bool) {
		for i := range d.occurrences {
			o := &d.occurrences[i]
			if !yield(Occurrence{o.startPoint(), o.endPoint(), d.names[o.symbol], o.roles}) {
				return
			}
		}
	}
}

// Symbols returns the descriptions of symbols, without Information.Implements.
func (d *Document) Symbols() iter.Seq[Information] {
	return func(yield func(Information) bool) {
		for _, piece := range d.symbols.list {
			for r := (decoder{b: piece}); len(r.b) > 0; {
				if !yield(r.information()) {
					return
				}
			}
		}
	}
}

// pieces holds entries in several slices, so that it grows without copying. No entry is in
// two slices.
type pieces struct {
	list    [][]byte
	entries int
	size    int
}

const (
	minPieceBytes = 512
	maxPieceBytes = 256 << 10
)

func (p *pieces) addEntry(entry []byte) {
	last := len(p.list) - 1
	if last < 0 || len(p.list[last])+len(entry) > cap(p.list[last]) {
		next := minPieceBytes
		if last >= 0 {
			next = min(2*cap(p.list[last]), maxPieceBytes)
		}
		p.list = append(p.list, make([]byte, 0, max(next, len(entry))))
		last++
	}
	p.list[last] = append(p.list[last], entry...)
	p.entries++
	p.size += len(entry)
}

// Occurrence is a range of text that names a symbol.
type Occurrence struct {
	Start, End Point
	// Symbol is a SCIP symbol name; see IsLocal.
	Symbol string
	Roles  Roles
}

// Point is a position in a text: a zero-based line and a zero-based column. The column is in
// the unit of the Document, or in bytes if a Reader returns it.
type Point struct{ Line, Column int }

// Compare orders points by line, then by column.
func (p Point) Compare(q Point) int {
	if p.Line != q.Line {
		return p.Line - q.Line
	}
	return p.Column - q.Column
}

// Roles are the roles of an occurrence, with the bits of SCIP.
type Roles uint16

// Roles of an occurrence.
const (
	RoleDefinition Roles = 1 << iota
	RoleImport
	RoleWrite
	RoleRead
	RoleGenerated
	RoleTest
	RoleForwardDefinition
	allRoles = 1<<iota - 1
)

// Information describes a symbol.
type Information struct {
	Symbol      string
	DisplayName string
	// Signature is the declaration without its body. Documentation is Markdown. Each has at
	// most MaxTextBytes.
	Signature     string
	Documentation string
	// Implements are the symbols that this one implements or overrides.
	Implements []string
}

// IsLocal reports whether a symbol is local to one document.
func IsLocal(symbol string) bool { return len(symbol) > 6 && symbol[:6] == "local " }

// IsSame reports whether two names denote the same symbol, regardless of the version of
// its package.
func IsSame(a, b string) bool {
	return a == b || !IsLocal(a) && !IsLocal(b) && newSymbolKey(a).family == newSymbolKey(b).family
}

// Package names the package that defines a symbol, without its version.
type Package struct {
	// Manager is the package manager, such as gomod or npm.
	Manager string
	Name    string
}

// PackageOf returns the package of a symbol. ok is false if the symbol names none, as local
// symbols and those of some indexers do.
func PackageOf(symbol string) (p Package, ok bool) {
	ends, ok := splitSymbol(symbol)
	if !ok || IsLocal(symbol) {
		return p, false
	}
	unescape := func(s string) string { return strings.ReplaceAll(s, "  ", " ") }
	p = Package{unescape(symbol[ends[0]+1 : ends[1]]), unescape(symbol[ends[1]+1 : ends[2]])}
	return p, p.Name != "" && p.Name != "."
}
