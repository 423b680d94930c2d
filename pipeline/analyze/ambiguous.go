package analyze

import (
	"bytes"

	"github.com/quarrysearch/quarry/schemas/code"
)

// quickGuess chooses a language for an extension that several languages share, if a cheap
// check of the content excludes all but one. Empty means that go-enry must decide. The
// rules must agree with go-enry's own rules.
func quickGuess(ext string, head []byte) code.Language {
	switch ext {
	case ".h":
		if !headerOfOtherThanC(head) {
			return "C"
		}
	case ".s":
		return assemblyDialect(head)
	case ".ts":
		if !bytes.Contains(head, []byte("<TS")) {
			return "TypeScript"
		}
	case ".tsx":
		if !bytes.Contains(head, []byte("<?")) {
			return "TSX"
		}
	case ".rs":
		if anyLineStart(head, rustLine) {
			return "Rust"
		}
	case ".cs":
		if !bytes.Contains(head, []byte("methodsFor:")) && anyLine(head, csharpLine) {
			return "C#"
		}
	case ".php":
		if i := bytes.Index(head, []byte("<?")); i >= 0 && i+2 < len(head) && head[i+2] != 'h' && !bytes.Contains(head, []byte("<?hh")) {
			return "PHP"
		}
	case ".md":
		if bytes.Contains(head, []byte("</")) || anyLineStart(head, markdownLine) {
			return "Markdown"
		}
	case ".html":
		if !bytes.Contains(head, []byte("<emu-")) {
			return "HTML"
		}
	case ".json":
		if !bytes.Contains(head, []byte(`"swagger"`)) && !bytes.Contains(head, []byte(`"openapi"`)) {
			return "JSON"
		}
	case ".yaml", ".yml":
		if !bytes.Contains(head, []byte("swagger:")) && !bytes.Contains(head, []byte("openapi:")) && !anyLineStart(head, tabbedLine) {
			return "YAML"
		}
	}
	return ""
}

// anyLine reports whether judge accepts a line, passed without leading blanks.
func anyLine(head []byte, judge func(line []byte) bool) bool {
	for len(head) > 0 {
		i := 0
		for i < len(head) && (head[i] == ' ' || head[i] == '\t') {
			i++
		}
		if judge(head[i:]) {
			return true
		}
		next := bytes.IndexByte(head[i:], '\n')
		if next < 0 {
			return false
		}
		head = head[i+next+1:]
	}
	return false
}

var (
	// anywhereInCPP contains literal parts, rare in C, of the patterns that go-enry
	// searches for.
	anywhereInCPP = [][]byte{[]byte("::"), []byte("plusplus >"), []byte("cpp_attribute")}
	lineOfCPP     = [][]byte{
		[]byte("template"), []byte("try"), []byte("constexpr"), []byte("catch"), []byte("class"), []byte("namespace"),
		[]byte("using"), []byte("private:"), []byte("public:"), []byte("protected:"),
	}
)

// headerOfOtherThanC reports whether a header may be C++ or Objective-C.
func headerOfOtherThanC(head []byte) bool {
	if containsAny(head, anywhereInCPP) {
		return true
	}
	return anyLine(head, func(line []byte) bool {
		if len(line) == 0 {
			return false
		}
		switch line[0] {
		case '@':
			return true
		case '#':
			directive := bytes.TrimLeft(line[1:min(len(line), 40)], " \t")
			return bytes.HasPrefix(directive, []byte("import")) || bytes.HasPrefix(directive, []byte("include <")) && !includesC(directive)
		case 't', 'c', 'n', 'u', 'p':
			for _, word := range lineOfCPP {
				if bytes.HasPrefix(line, word) {
					return true
				}
			}
		}
		return false
	})
}

// includesC reports whether an #include names a header with a suffix or in a directory,
// as those of C do, unlike those of the C++ library.
func includesC(directive []byte) bool {
	end := bytes.IndexByte(directive, '>')
	return end < 0 || bytes.ContainsAny(directive[:end], "./")
}

// anyLineStart works like anyLine, but passes leading blanks to judge.
func anyLineStart(head []byte, judge func(line []byte) bool) bool {
	for len(head) > 0 {
		if judge(head) {
			return true
		}
		next := bytes.IndexByte(head, '\n')
		if next < 0 {
			return false
		}
		head = head[next+1:]
	}
	return false
}

// assemblyDialect distinguishes the two common dialects by the operands of their first
// "mov": go-enry searches anywhere for one with a "%" or "$" operand, then for one with a
// plain operand and a comma.
func assemblyDialect(head []byte) code.Language {
	plain := false
	for i := indexM(head); i >= 0 && i+4 < len(head); {
		if isMov(head[i:]) {
			rest := head[i+3:]
			if len(rest) > 0 && (rest[0]|0x20 == 'l' || rest[0]|0x20 == 'q') && classifyOperand(rest[1:]) == operandMarked {
				return "Unix Assembly"
			}
			switch classifyOperand(rest) {
			case operandMarked:
				return "Unix Assembly"
			case operandPlain:
				plain = true
			}
		}
		next := indexM(head[i+1:])
		if next < 0 {
			break
		}
		i += 1 + next
	}
	switch {
	case plain:
		return "Assembly"
	case containsAny(head, gnuSyntax) && !containsAny(head, motorolaSyntax):
		return "Unix Assembly"
	}
	return ""
}

// Without a "mov", go-enry leaves GNU assembly of other machines to its classifier, which
// takes milliseconds and often returns Motorola or Intel assembly.
var (
	gnuSyntax      = [][]byte{[]byte("/*"), []byte(".globl"), []byte(".text"), []byte(".section"), []byte("#include")}
	motorolaSyntax = [][]byte{[]byte("move."), []byte("moveq"), []byte("movem"), []byte("movep"), []byte("btst"), []byte("dbra")}
)

func containsAny(b []byte, words [][]byte) bool {
	for _, w := range words {
		if bytes.Contains(b, w) {
			return true
		}
	}
	return false
}

// indexM returns the index of the first m, in upper or lower case.
func indexM(b []byte) int {
	for i, c := range b {
		if c|0x20 == 'm' {
			return i
		}
	}
	return -1
}

func isMov(b []byte) bool {
	return len(b) > 3 && b[0]|0x20 == 'm' && b[1]|0x20 == 'o' && b[2]|0x20 == 'v'
}

type operandKind uint8

const (
	operandOther operandKind = iota
	operandMarked
	operandPlain
)

// classifyOperand classifies the text after a mnemonic: blanks, then an operand that is
// marked by "%" or "$", or a plain one of two or more characters before a comma.
func classifyOperand(b []byte) operandKind {
	i := 0
	for i < len(b) && isBlank(b[i]) {
		i++
	}
	if i == 0 || i == len(b) {
		return operandOther
	}
	if b[i] == '%' || b[i] == '$' {
		return operandMarked
	}
	for n := 0; i < len(b) && !isBlank(b[i]) && b[i] != '%'; i++ {
		if b[i] == ',' && n >= 2 {
			return operandPlain
		}
		n++
	}
	return operandOther
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }

var rustItems = [][]byte{
	[]byte("use "), []byte("fn "), []byte("mod "), []byte("pub "), []byte("macro_rules"), []byte("impl"), []byte("#["), []byte("#!["),
}

func rustLine(line []byte) bool {
	for _, item := range rustItems {
		if bytes.HasPrefix(line, item) {
			return true
		}
	}
	return false
}

// csharpLine recognizes comments and "using Some.Name;".
func csharpLine(line []byte) bool {
	if bytes.HasPrefix(line, []byte("//")) {
		return true
	}
	rest, ok := bytes.CutPrefix(line, []byte("using "))
	if !ok || len(rest) == 0 || rest[0] < 'A' || rest[0] > 'Z' {
		return false
	}
	for i, c := range rest {
		switch {
		case c == ';':
			return i > 1
		case c == '.', c == '_', c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		default:
			return false
		}
	}
	return false
}

func markdownLine(line []byte) bool {
	if len(line) == 0 {
		return false
	}
	switch c := line[0]; {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	default:
		return bytes.IndexByte([]byte("-=#!*[|>"), c) >= 0
	}
}

func tabbedLine(line []byte) bool { return len(line) > 0 && line[0] == '\t' }
