package identifier

import "strings"

// Words splits an identifier into its words, in lower case.
func Words(name string) (words []string) {
	runes := []rune(name)
	start := 0
	cut := func(end int) {
		if end > start {
			words = append(words, strings.ToLower(string(runes[start:end])))
		}
	}
	for i, r := range runes {
		switch {
		case strings.ContainsRune("_-.:$", r):
			cut(i)
			start = i + 1
		case i > start && isUpperASCII(r) && (!isUpperASCII(runes[i-1]) || i+1 < len(runes) && isLowerASCII(runes[i+1])):
			cut(i)
			start = i
		}
	}
	cut(len(runes))
	return words
}

// IsWholeWord reports whether a piece of text has no letter, digit or underscore next to it, or
// none at its own ends.
func IsWholeWord(text []byte, start, end int) bool {
	return (start == 0 || !IsWordByte(text[start-1]) || !IsWordByte(text[start])) &&
		(end >= len(text) || !IsWordByte(text[end]) || end > 0 && !IsWordByte(text[end-1]))
}

// IsWordPart reports whether a piece of text consists of whole words of an identifier. A word
// begins at a letter after a non-letter, at a capital after a lower-case letter, and at a
// capital before a lower-case letter.
func IsWordPart(text []byte, start, end int) bool {
	return IsWordStart(text, start) && IsWordStart(text, end)
}

// IsWordStart reports whether an offset is a word boundary of an identifier.
func IsWordStart(text []byte, at int) bool {
	if at <= 0 || at >= len(text) {
		return true
	}
	before, after := text[at-1], text[at]
	switch {
	case !IsWordByte(before) || !IsWordByte(after) || before == '_' || after == '_':
		return true
	case isDigit(before) || isDigit(after):
		return isDigit(before) != isDigit(after)
	case isUpperASCII(after):
		return !isUpperASCII(before) || at+1 < len(text) && isLowerASCII(text[at+1])
	}
	return false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// IsWordByte reports whether a byte is a letter, a digit, an underscore, or part of a
// character outside ASCII.
func IsWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// IsWordRune reports the same of a rune.
func IsWordRune(r rune) bool { return r >= 0x80 || IsWordByte(byte(r)) }

// Trim trims characters that cannot be part of a name from both ends of a literal. It
// returns an empty string if the rest contains such characters.
func Trim(s string) string {
	s = strings.TrimFunc(s, func(r rune) bool { return r < 0x80 && !IsWordByte(byte(r)) })
	for i := range len(s) {
		if !IsWordByte(s[i]) && strings.IndexByte("-.:$", s[i]) < 0 {
			return ""
		}
	}
	return s
}

func isUpperASCII[C byte | rune](c C) bool { return 'A' <= c && c <= 'Z' }

func isLowerASCII[C byte | rune](c C) bool { return 'a' <= c && c <= 'z' }
