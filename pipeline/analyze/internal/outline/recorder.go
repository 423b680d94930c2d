package outline

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// definition is a symbol whose strings are ranges of the text.
type definition struct {
	name, parent     span
	kind, parentKind code.SymbolKind
	bodyEnd          int32 // end offset of its body; 0 if unknown
}

// recorder collects the definitions of one text.
type recorder struct {
	src  []byte
	defs []definition
	// limited means that definitions may be missing, because the text nests too deep or
	// has too many.
	limited bool
}

// add records a definition and returns its index. It returns -1 if the name cannot be a
// symbol or there are already too many.
func (r *recorder) add(name span, kind code.SymbolKind, in scope) int32 {
	if name.isEmpty() || name.end-name.start > code.MaxSymbolBytes {
		return -1
	}
	if len(r.defs) >= code.MaxSymbolsPerDocument {
		r.limited = true
		return -1
	}
	for _, c := range r.src[name.start:name.end] {
		if c == '\n' || c == '\r' {
			return -1
		}
	}
	r.defs = append(r.defs, definition{name: name, kind: kind, parent: in.name, parentKind: in.kind})
	return int32(len(r.defs) - 1)
}

// close sets the end of the body of definition i. i may be -1.
func (r *recorder) close(i int32, end int) {
	if i >= 0 {
		r.defs[i].bodyEnd = int32(end)
	}
}

// adoptParent sets the parent name of the definitions from index first on that were
// recorded in an unnamed scope of the given kind.
func (r *recorder) adoptParent(first int32, kind code.SymbolKind, name span) {
	for i := first; i < int32(len(r.defs)); i++ {
		if d := &r.defs[i]; d.parent.isEmpty() && d.parentKind == kind {
			d.parent = name
		}
	}
}

// buildSymbols returns the recorded symbols, ordered by offset.
func (r *recorder) buildSymbols() []code.Symbol {
	if len(r.defs) == 0 {
		return nil
	}
	byOffset := func(a, b definition) int { return cmp.Compare(a.name.start, b.name.start) }
	if !slices.IsSortedFunc(r.defs, byOffset) {
		slices.SortStableFunc(r.defs, byOffset)
	}
	names := r.newArena()
	out := make([]code.Symbol, len(r.defs))
	line, counted := uint32(1), int32(0)
	for i, d := range r.defs {
		line += uint32(bytes.Count(r.src[counted:d.name.start], newline))
		counted = d.name.start
		s := &out[i]
		s.Name = names.nextName(d.name)
		s.Kind = d.kind
		if !d.parent.isEmpty() {
			s.Parent, s.ParentKind = names.parentText(d.parent), d.parentKind
		}
		s.Offset, s.Line = uint32(d.name.start), line
		if d.bodyEnd > d.name.start {
			s.EndLine = line + uint32(bytes.Count(r.src[d.name.start:d.bodyEnd], newline))
		}
	}
	return out
}

var newline = []byte{'\n'}

// nameArena holds the names of all symbols of a text in one string, so that they need one
// allocation and do not keep the text in memory.
type nameArena struct {
	text       string
	pos        int
	src        []byte
	lastSpan   span
	lastParent string
}

func (r *recorder) newArena() *nameArena {
	size := 0
	for i := range r.defs {
		size += int(r.defs[i].name.end - r.defs[i].name.start)
	}
	var b strings.Builder
	b.Grow(size)
	for i := range r.defs {
		b.Write(r.src[r.defs[i].name.start:r.defs[i].name.end])
	}
	return &nameArena{text: b.String(), src: r.src}
}

// nextName returns the next name, whose range in the text is s.
func (a *nameArena) nextName(s span) string {
	n := int(s.end - s.start)
	a.pos += n
	return a.text[a.pos-n : a.pos]
}

// parentText returns the text of s. Neighbors with the same parent share the string.
func (a *nameArena) parentText(s span) string {
	if s != a.lastSpan {
		a.lastSpan, a.lastParent = s, string(a.src[s.start:s.end])
	}
	return a.lastParent
}
