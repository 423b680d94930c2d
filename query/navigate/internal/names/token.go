package names

import (
	"bytes"

	"github.com/quarrysearch/quarry/schemas/code"
)

// A token is a source token; comments have none. Runs of punctuation are split into
// operators.
type token struct {
	start, end int32
	// pair is the number of the matching bracket, and around that of the innermost open
	// bracket; -1 if there is none.
	pair, around int32
	kind         tokenKind
	keyword      bool // a keyword of the language; it may still be a name after a dot
	newline      bool // the first token of its line
}

type tokenKind uint8

const (
	kindWord tokenKind = iota
	kindNumber
	kindString
	kindOperator
)

// operators are the multi-byte operators, longest first. All others are single bytes.
var operators = []string{"...", ":=", "::", "->", "=>", "?.", "==", "!=", "<=", "&&", "||", "??", "+=", "-=", "*=", "/=", "|=", "&=", "%=", "^="}

// splitTokens splits display tokens into at most maxTokens tokens.
func splitTokens(text []byte, tokens []code.Token) []token {
	out := make([]token, 0, min(len(tokens), maxTokens))
	line := 0 // position up to which line breaks were found
	for _, t := range tokens {
		if len(out) >= maxTokens {
			break
		}
		if t.Class == code.TokenComment || int(t.End) > len(text) || t.Start >= t.End {
			continue
		}
		next := token{start: int32(t.Start), end: int32(t.End), pair: -1, around: -1}
		next.newline = line == 0 || bytes.IndexByte(text[line:t.Start], '\n') >= 0
		line = int(t.End)
		switch t.Class {
		case code.TokenString:
			next.kind = kindString
		case code.TokenNumber:
			next.kind = kindNumber
		case code.TokenOperator:
			next.kind = kindOperator
			out = appendOperators(out, text, next)
			continue
		case code.TokenKeyword:
			next.keyword = true
		}
		out = append(out, next)
	}
	pairBrackets(text, out)
	return out
}

func appendOperators(out []token, text []byte, t token) []token {
	for t.start < t.end {
		n := int32(1)
		for _, op := range operators {
			if bytes.HasPrefix(text[t.start:t.end], []byte(op)) {
				n = int32(len(op))
				break
			}
		}
		one := t
		one.end = t.start + n
		out = append(out, one)
		t.start += n
		t.newline = false
	}
	return out
}

// pairBrackets sets pair and around. A closing bracket that does not match the innermost
// open bracket also closes the brackets in between.
func pairBrackets(text []byte, tokens []token) {
	var open []int32
	for i := range tokens {
		t := &tokens[i]
		if len(open) > 0 {
			t.around = open[len(open)-1]
		}
		if t.kind != kindOperator || t.end != t.start+1 {
			continue
		}
		var opening byte
		switch text[t.start] {
		case '(', '[', '{':
			open = append(open, int32(i))
			continue
		case ')':
			opening = '('
		case ']':
			opening = '['
		case '}':
			opening = '{'
		default:
			continue
		}
		for k := len(open) - 1; k >= 0 && k >= len(open)-maxMismatch; k-- {
			if text[tokens[open[k]].start] == opening {
				t.pair, tokens[open[k]].pair = open[k], int32(i)
				t.around = tokens[open[k]].around
				open = open[:k]
				break
			}
		}
	}
}

// maxMismatch bounds the brackets that one closing bracket may close.
const maxMismatch = 8

// word returns the text of token i, or an empty string if there is no such token.
func (f *File) word(i int) string {
	if i < 0 || i >= len(f.tokens) {
		return ""
	}
	t := &f.tokens[i]
	return string(f.Text[t.start:t.end])
}

// is reports whether token i is s.
func (f *File) is(i int, s string) bool {
	if i < 0 || i >= len(f.tokens) {
		return false
	}
	t := &f.tokens[i]
	return int(t.end-t.start) == len(s) && string(f.Text[t.start:t.end]) == s && t.kind != kindString
}

// isWord reports whether token i is a name or keyword. isName reports whether it is a
// name.
func (f *File) isWord(i int) bool {
	return i >= 0 && i < len(f.tokens) && f.tokens[i].kind == kindWord
}

func (f *File) isName(i int) bool { return f.isWord(i) && !f.tokens[i].keyword }

func (f *File) isKind(i int, k tokenKind) bool {
	return i >= 0 && i < len(f.tokens) && f.tokens[i].kind == k
}

// startsLine reports whether token i is the first of its line, or past the last token.
func (f *File) startsLine(i int) bool { return i >= len(f.tokens) || f.tokens[i].newline }

// pairOf returns the matching bracket of token i, or i if there is none.
func (f *File) pairOf(i int) int {
	if i < 0 || i >= len(f.tokens) || f.tokens[i].pair < 0 {
		return i
	}
	return int(f.tokens[i].pair)
}

// isMemberDot reports whether token i is a dot or other operator before a member's name.
func (f *File) isMemberDot(i int) bool {
	if !f.isKind(i, kindOperator) {
		return false
	}
	switch f.word(i) {
	case ".", "?.", "::":
		return true
	case "->":
		return f.d.arrowMember
	}
	return false
}

// skipAngles returns the token after the group in angle brackets that begins at i, or i
// if there is none.
func (f *File) skipAngles(i int) int {
	if !f.is(i, "<") {
		return i
	}
	depth := 0
	for k := i; k < len(f.tokens) && k < i+maxAngles && f.step(); k++ {
		switch f.word(k) {
		case "<":
			depth++
		case ">":
			if depth--; depth == 0 {
				return k + 1
			}
		case ">=", ">>":
			return i
		case ";", "&&", "||", ")", "}":
			return i
		case "(", "[", "{":
			k = f.pairOf(k)
		}
	}
	return i
}

// anglesBefore returns the "<" of the group in angle brackets that ends at i, or -1 if
// there is none.
func (f *File) anglesBefore(i int) int {
	depth := 0
	for k := i; k >= 0 && k > i-maxAngles && f.step(); k-- {
		switch f.word(k) {
		case ">":
			depth++
		case "<":
			if depth--; depth == 0 {
				return k
			}
		case ";", "&&", "||", "(", "{", "=":
			return -1
		case ")", "]", "}":
			k = f.pairOf(k)
		}
	}
	return -1
}

// maxAngles bounds the tokens of type arguments.
const maxAngles = 128
