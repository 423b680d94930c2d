package names

import (
	"bytes"
	"sort"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Bounds on reading one file.
const (
	maxTokens   = 1 << 19
	maxBindings = 1 << 16
	maxImports  = 1 << 12
	maxDepth    = 16  // nesting of types and expressions
	maxElements = 256 // in a list of parameters, arguments or names
)

// File is a source file, read for its names. It is immutable.
type File struct {
	Path     string
	Language code.Language
	Text     []byte
	// Definitions are the definitions of the outline, in order.
	Definitions []code.Definition
	// Imports are in file order.
	Imports []Import

	d        *description
	tokens   []token
	lines    indentation // of an indented language
	bindings map[string][]Binding
	bound    int
	// steps is the remaining budget for lookahead while the file is read, which keeps the
	// time linear; -1 afterwards.
	steps int
}

// Read reads a text with the given tokens and definitions. It accepts any text.
func Read(path string, language code.Language, text []byte, tokens []code.Token, definitions []code.Definition) *File {
	f := &File{Path: path, Language: language, Text: text, Definitions: definitions, d: byLanguage[language], bindings: map[string][]Binding{}}
	if f.d == nil {
		f.d = plain
	}
	f.tokens = splitTokens(text, tokens)
	f.steps = stepsPerToken*len(f.tokens) + maxBody
	if f.d.indented && len(f.tokens) > 0 {
		f.readIndentation()
	}
	f.readBindings()
	if f.d.imports != nil {
		f.d.imports(f)
	}
	f.steps = -1
	return f
}

// stepsPerToken bounds the lookahead steps per token. Programs take about ten.
const stepsPerToken = 64

// step counts a lookahead step, and reports whether the budget allows it.
func (f *File) step() bool {
	if f.steps > 0 {
		f.steps--
	}
	return f.steps != 0
}

// TokenAt returns the number of the token that contains the byte at offset, or that ends
// there.
func (f *File) TokenAt(offset int) (int, bool) {
	i := sort.Search(len(f.tokens), func(i int) bool { return int(f.tokens[i].end) > offset })
	if i < len(f.tokens) && int(f.tokens[i].start) <= offset {
		return i, true
	}
	return 0, false
}

// Range returns the byte offsets of token i.
func (f *File) Range(i int) (start, end int) { return int(f.tokens[i].start), int(f.tokens[i].end) }

// Word returns the text of token i.
func (f *File) Word(i int) string { return f.word(i) }

// Offset returns the byte offset of a character from its 1-based line and column, in
// characters. It returns false if there is no such position.
func Offset(text []byte, line, column int) (int, bool) {
	at := 0
	for ; line > 1; line-- {
		for at < len(text) && text[at] != '\n' {
			at++
		}
		if at++; at > len(text) {
			return 0, false
		}
	}
	for ; column > 1; column-- {
		if at >= len(text) || text[at] == '\n' {
			return 0, false
		}
		_, n := utf8.DecodeRune(text[at:])
		at += n
	}
	return at, true
}

// DefinitionAt returns the definition whose name is token i, or nil if there is none.
func (f *File) DefinitionAt(i int) *code.Definition {
	offset := uint32(f.tokens[i].start)
	k := sort.Search(len(f.Definitions), func(k int) bool { return f.Definitions[k].Offset >= offset })
	if k < len(f.Definitions) && f.Definitions[k].Offset == offset {
		return &f.Definitions[k]
	}
	return nil
}

// tokenOf returns the token of the name of a definition.
func (f *File) tokenOf(d *code.Definition) int {
	i, ok := f.TokenAt(int(d.Offset))
	if !ok {
		return -1
	}
	return i
}

// Enclosing returns the innermost definition around token i that has a body and an
// accepted kind, or nil if there is none.
func (f *File) Enclosing(i int, accept func(code.SymbolKind) bool) *code.Definition {
	at := uint32(f.tokens[i].start)
	last := sort.Search(len(f.Definitions), func(k int) bool { return f.Definitions[k].Offset > at })
	for k := last - 1; k >= 0; k-- {
		if d := &f.Definitions[k]; accept(d.Kind) && f.bodyEnd(d) > int(at) {
			return d
		}
	}
	return nil
}

// BodyEnd returns the end of a definition's body, or 0.
func (f *File) BodyEnd(d *code.Definition) int { return f.bodyEnd(d) }

// bodyEnd returns the end of a definition's body, or 0.
func (f *File) bodyEnd(d *code.Definition) int {
	if d.BodyEnd > 0 {
		return int(d.BodyEnd)
	}
	if f.d.indented && (IsFunction(d.Kind) || IsType(d.Kind)) {
		if i := f.tokenOf(d); i >= 0 {
			if end := f.blockEnd(i); end < len(f.tokens) {
				return int(f.tokens[end].start)
			}
			return len(f.Text)
		}
	}
	return 0
}

// Class returns the type around token i by name: the innermost class, or the receiver of
// the method. The name is empty if there is none.
func (f *File) Class(i int) (name string, d *code.Definition) {
	if f.d.typeNext || f.d.languages == rust.languages || f.d.arrowMember {
		if m := f.Enclosing(i, IsFunction); m != nil && m.Parent != "" {
			return m.Parent, nil
		}
	}
	if c := f.Enclosing(i, IsType); c != nil {
		return c.Name, c
	}
	return "", nil
}

// TokenFrom returns the first token at or after offset.
func (f *File) TokenFrom(offset int) (int, bool) {
	i := sort.Search(len(f.tokens), func(i int) bool { return int(f.tokens[i].start) >= offset })
	return i, i < len(f.tokens)
}

// IsTagged reports whether token i is the tag of a structure, union or enumeration in C.
func (f *File) IsTagged(i int) bool {
	if i == 0 {
		return false
	}
	switch f.word(i - 1) {
	case "struct", "union", "enum":
		return true
	}
	return false
}

// InLine reports whether token i is in the line that contains the byte at offset.
func (f *File) InLine(i, offset int) bool {
	return i < len(f.tokens) && bytes.IndexByte(f.Text[offset:max(offset, int(f.tokens[i].start))], '\n') < 0
}
