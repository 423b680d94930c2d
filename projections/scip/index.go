package scip

import "strings"

// Metadata is the first part of an index.
type Metadata struct {
	// Tool and ToolVersion name the indexer; both may be empty.
	Tool, ToolVersion string
}

// Document is the part of an index about one file.
type Document struct {
	// Path is slash-separated and relative to the root of the index.
	Path string
	// Encoding is the unit of the columns of Occurrences.
	Encoding    Encoding
	Occurrences []Occurrence
	Symbols     []Information
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
