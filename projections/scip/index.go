package scip

// Metadata is the first part of an index.
type Metadata struct {
	// Tool and ToolVersion name the indexer; both may be empty.
	Tool, ToolVersion string
}

// Document is what an index says about a file.
type Document struct {
	// Path is relative to the root of the index, with slashes.
	Path string
	// Encoding is the unit of the columns of Occurrences.
	Encoding    Encoding
	Occurrences []Occurrence
	Symbols     []Information
}

// Occurrence is a place where a symbol is written.
type Occurrence struct {
	Start, End Point
	// Symbol is its name, one of SCIP; see IsLocal.
	Symbol string
	Roles  Roles
}

// Point is a place in a text: a line from 0, and a column from 0 in the unit of a
// Document, bytes in what a Reader returns.
type Point struct{ Line, Column int }

// Compare orders points.
func (p Point) Compare(q Point) int {
	if p.Line != q.Line {
		return p.Line - q.Line
	}
	return p.Column - q.Column
}

// Roles are what an occurrence does, in the bits of SCIP.
type Roles uint16

// The roles.
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

// Information is what an index says about a symbol.
type Information struct {
	Symbol      string
	DisplayName string
	// Signature is the declaration without its body, Documentation text in Markdown. Each
	// has at most MaxTextBytes.
	Signature     string
	Documentation string
	// Implements are the symbols that this one implements or overrides.
	Implements []string
}

// IsLocal reports whether a symbol is that of one document.
func IsLocal(symbol string) bool { return len(symbol) > 6 && symbol[:6] == "local " }

// IsSame reports whether two names are those of one symbol, in whichever versions of its
// package.
func IsSame(a, b string) bool {
	return a == b || !IsLocal(a) && !IsLocal(b) && newSymbolKey(a).family == newSymbolKey(b).family
}
