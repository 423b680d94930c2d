package outline

import (
	"bytes"
	"sort"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Describe returns the definitions in text, like Extract, with details that the index
// does not store: columns, bodies, signatures, visibility and documentation. It takes a
// few times as long as Extract, because it also reads the comments.
func Describe(language code.Language, text []byte, deadline time.Time) ([]code.Definition, error) {
	g, ok := grammarOf(language)
	if !ok || len(text) > maxTextBytes {
		return nil, nil
	}
	rec, err := record(language, g, text, deadline)
	if rec == nil {
		return nil, err
	}
	symbols := rec.buildSymbols()
	d := describer{language: language, text: text, comments: readComments(language, text)}
	out := make([]code.Definition, len(symbols))
	for i, s := range symbols {
		out[i] = d.describe(s, int(rec.defs[i].bodyEnd))
	}
	return out, err
}

// readComments returns the ranges of the comments in a text, in order.
func readComments(language code.Language, text []byte) []span {
	t := NewTokenizer(language, text)
	if t == nil {
		return nil
	}
	var comments []span
	for {
		token, ok := t.Next()
		if !ok {
			return comments
		}
		if token.Class == code.TokenComment {
			comments = append(comments, span{int32(token.Start), int32(token.End)})
		}
	}
}

type describer struct {
	language code.Language
	text     []byte
	comments []span

	// line is the start of the last symbol's line. columns counts its characters up to
	// at, so that a long line is read once.
	line    uint32
	at      int
	columns uint32

	signature []byte // buffer of oneLine
}

func (d *describer) describe(s code.Symbol, bodyEnd int) code.Definition {
	out := code.Definition{Symbol: s, Column: d.column(s)}
	start := d.declarationStart(int(s.Offset))
	stop := d.signatureEnd(int(s.Offset)+len(s.Name), bodyEnd)
	out.Signature = d.oneLine(d.text[start:stop])
	if bodyEnd > stop {
		out.BodyStart, out.BodyEnd = uint32(stop), uint32(bodyEnd)
	}
	out.Visibility = d.visibility(s, d.text[start:int(s.Offset)])
	out.Declaration = isDeclaration(s, bodyEnd, d.text[int(s.Offset):stop])
	out.Doc = d.documentation(start, stop)
	return out
}

// column returns the column of a symbol. It must be called with symbols in order.
func (d *describer) column(s code.Symbol) uint32 {
	if s.Line != d.line {
		d.line, d.columns = s.Line, 0
		d.at = bytes.LastIndexByte(d.text[:s.Offset], '\n') + 1
	}
	d.columns += uint32(utf8.RuneCount(d.text[d.at:s.Offset]))
	d.at = int(s.Offset)
	return d.columns + 1
}

// Bounds on the text read around a name, so that the work for a definition does not grow
// with the text.
const (
	maxHeadBytes  = 256 // before a name, on its line
	maxHeadLines  = 8   // above the name: annotations, a type on its own line
	maxDocLines   = 200 // of comments above the declaration
	maxLineToRead = 1024
)

// declarationStart returns the start of the declaration whose name is at an offset: on
// the same line or, in the C style with the type on its own line, on the line above.
func (d *describer) declarationStart(name int) int {
	from := max(0, name-maxHeadBytes)
	start := name
	if i := bytes.LastIndexByte(d.text[from:name], '\n'); i >= 0 {
		start = from + i + 1
	} else {
		start = from
	}
	if start == name && start > 0 && (d.language == "C" || d.language == "C++") {
		if above := d.lineAbove(start); above != nil && isTypeLine(above) {
			start -= len(above) + 1
		}
	}
	for start < name && isBlank(d.text[start]) {
		start++
	}
	for start < name && start > 0 && !utf8.RuneStart(d.text[start]) {
		start++
	}
	return start
}

// lineAbove returns the line above the one that begins at start.
func (d *describer) lineAbove(start int) []byte {
	if start == 0 {
		return nil
	}
	end := start - 1
	from := max(0, end-maxLineToRead)
	i := bytes.LastIndexByte(d.text[from:end], '\n')
	if i < 0 && from > 0 {
		return nil // the line is too long
	}
	return d.text[from+i+1 : end]
}

// isTypeLine reports whether a line contains only words, as does the line with the type
// before a function in C.
func isTypeLine(line []byte) bool {
	if len(line) == 0 || isBlank(line[0]) {
		return false
	}
	for _, c := range line {
		if !isLetter(c) && c != '_' && c != '*' && c != ' ' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// signatureEnd returns the end of the declaration whose name ends at from: before its
// body, or at the end of its line outside brackets.
func (d *describer) signatureEnd(from, bodyEnd int) int {
	limit := min(len(d.text), from+code.MaxSignatureBytes)
	if bodyEnd > from {
		limit = min(limit, bodyEnd)
	}
	depth := 0
	for i := from; i < limit; i++ {
		switch c := d.text[i]; c {
		case '(', '[':
			depth++
		case ')', ']':
			if depth--; depth < 0 {
				return i
			}
		case '{', ';', '\n':
			if depth == 0 {
				return i
			}
		case '"':
			if j := bytes.IndexByte(d.text[i+1:limit], '"'); j >= 0 && bytes.IndexByte(d.text[i+1:i+1+j], '\n') < 0 {
				i += j + 1
			}
		}
	}
	for limit < len(d.text) && limit > from && !utf8.RuneStart(d.text[limit]) {
		limit--
	}
	return limit
}

// oneLine returns text on one line, at most MaxSignatureBytes, without the characters
// that separate it from its body. A run of blanks becomes one blank, and a run of bytes
// that are not UTF-8 one U+FFFD.
func (d *describer) oneLine(text []byte) string {
	out := d.signature[:0]
	blank, invalid := false, false
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		i += n
		wasInvalid := invalid
		invalid = r == utf8.RuneError && n == 1
		switch {
		case unicode.IsSpace(r):
			blank = true
		case invalid && wasInvalid:
		default:
			if blank && len(out) > 0 {
				out = append(out, ' ')
			}
			blank = false
			out = utf8.AppendRune(out, r)
		}
	}
	d.signature = out
	out = bytes.TrimRight(out, " ,:=")
	end := min(len(out), code.MaxSignatureBytes)
	for end < len(out) && !utf8.RuneStart(out[end]) {
		end--
	}
	return string(out[:end])
}

// isDeclaration reports whether a symbol is declared without a body.
func isDeclaration(s code.Symbol, bodyEnd int, signature []byte) bool {
	switch s.Kind {
	case "prototype", "methodSpec", "callback", "rpc":
		return true
	case "function", "method":
		return bodyEnd == 0 && bytes.IndexByte(signature, '=') < 0 && bytes.IndexByte(signature, '(') >= 0
	}
	return false
}

// visibilities maps access keywords to visibilities.
var visibilities = map[string]string{
	"public": "public", "open": "public", "pub": "public", "export": "public",
	"protected": "protected", "internal": "internal", "package": "internal",
	"private": "private", "fileprivate": "private", "defp": "private", "defmacrop": "private", "local": "private", "my": "private",
}

// visibility returns the visibility of a symbol whose declaration begins with head.
func (d *describer) visibility(s code.Symbol, head []byte) string {
	for w := range bytes.FieldsFuncSeq(head, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if v := visibilities[string(w)]; v != "" {
			if v == "public" && bytes.Contains(head, []byte("pub(")) {
				return "internal"
			}
			return v
		}
	}
	first, _ := utf8.DecodeRuneInString(s.Name)
	switch d.language {
	case "Go":
		if unicode.IsUpper(first) {
			return "public"
		}
		return "internal"
	case "Python", "Dart":
		if first == '_' {
			return "private"
		}
		return "public"
	case "Rust":
		return "private"
	case "Java":
		if s.ParentKind == "interface" {
			return "public"
		}
		return "internal"
	case "C":
		if bytes.HasPrefix(head, []byte("static ")) {
			return "internal"
		}
	case "JavaScript", "TypeScript", "TSX":
		if first == '#' {
			return "private"
		}
	case "Kotlin", "Scala", "Groovy":
		return "public"
	}
	return ""
}

// documentation returns the first line of the comment above a declaration, or of a Python
// docstring.
func (d *describer) documentation(start, stop int) string {
	if d.language == "Python" {
		return d.docString(stop)
	}
	// Annotations may be between the comment and the declaration.
	line := bytes.LastIndexByte(d.text[max(0, start-maxHeadBytes):start], '\n') + 1 + max(0, start-maxHeadBytes)
	for range maxHeadLines {
		above := d.lineAbove(line)
		trimmed := bytes.TrimLeft(above, " \t")
		if len(trimmed) == 0 || trimmed[0] != '@' && trimmed[0] != '[' && !bytes.HasPrefix(trimmed, []byte("#[")) && !bytes.HasPrefix(trimmed, []byte("template")) {
			break
		}
		line -= len(above) + 1
	}
	i := sort.Search(len(d.comments), func(i int) bool { return int(d.comments[i].end) > line }) - 1
	if i < 0 || !d.adjacent(int(d.comments[i].end), line) || !d.firstOnLine(int(d.comments[i].start)) {
		return ""
	}
	for n := 0; i > 0 && n < maxDocLines && d.adjacent(int(d.comments[i-1].end), int(d.comments[i].start)) && d.firstOnLine(int(d.comments[i-1].start)); n++ {
		i--
	}
	return d.firstLine(d.text[d.comments[i].start:d.comments[i].end])
}

// adjacent reports whether there are only blanks and one line break between two offsets.
func (d *describer) adjacent(from, to int) bool {
	if to < from || to-from > maxLineToRead {
		return false
	}
	between := d.text[from:to]
	return len(bytes.TrimSpace(between)) == 0 && bytes.Count(between, newline) <= 1
}

func (d *describer) firstOnLine(at int) bool {
	from := max(0, at-maxHeadBytes)
	line := bytes.LastIndexByte(d.text[from:at], '\n') + 1
	return len(bytes.TrimSpace(d.text[from+line:at])) == 0
}

// firstLine returns the first nonblank line of a comment.
func (d *describer) firstLine(comment []byte) string {
	if len(comment) > 4*maxLineToRead {
		comment = comment[:4*maxLineToRead]
	}
	for line := range bytes.Lines(comment) {
		s := strings.TrimSpace(strings.ToValidUTF8(string(line), "\uFFFD"))
		s = strings.TrimSpace(strings.TrimLeft(s, "/*!#-;%{(|^"))
		for _, mark := range []string{"*/", "-}", "*)", "|#", "-->"} {
			s = strings.TrimSpace(strings.TrimSuffix(s, mark))
		}
		if s != "" {
			return cutDoc(s)
		}
	}
	return ""
}

// docString returns the first line of the string at the beginning of a Python body.
func (d *describer) docString(stop int) string {
	body := bytes.TrimLeft(d.text[min(stop, len(d.text)):min(len(d.text), stop+maxLineToRead)], ": \t\r\n")
	body = bytes.TrimLeft(body, "rRuU")
	for _, quote := range []string{`"""`, "'''"} {
		if rest, ok := bytes.CutPrefix(body, []byte(quote)); ok {
			rest = bytes.TrimLeft(rest, " \t\r\n\\")
			line, _, _ := bytes.Cut(rest, newline)
			line, _, _ = bytes.Cut(line, []byte(quote))
			return cutDoc(strings.TrimSpace(strings.ToValidUTF8(string(line), "\uFFFD")))
		}
	}
	return ""
}

// cutDoc bounds a line of documentation. It replaces carriage returns inside the line with
// blanks.
func cutDoc(s string) string {
	s = strings.ReplaceAll(s, "\r", " ")
	for len(s) > code.MaxDocBytes {
		_, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
	}
	return s
}
