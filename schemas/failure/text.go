package failure

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxDetailBytes bounds the message of a program that failed.
	MaxDetailBytes = 1 << 10
	// maxInputBytes bounds the input: the rest is dropped.
	maxInputBytes = 16 << 10
	// ellipsis ends a truncated text.
	ellipsis = "…"
)

// Detail returns the text of an error as owners see it.
func Detail(err error) string {
	if err == nil {
		return ""
	}
	return Clean(err.Error(), MaxDetailBytes)
}

// Clean returns text in a form that is safe to store and show: credentials masked,
// control characters escaped, at most max bytes of UTF-8.
func Clean(text string, max int) string { return cleanWith(text, max, Mask) }

// Quote is a Clean for the output of git and other programs that repositories or hosts
// control. It also shortens object names, since a key may look like one.
func Quote(text string, max int) string { return cleanWith(text, max, maskStrictly) }

func cleanWith(text string, max int, mask func(string) string) string {
	if len(text) > maxInputBytes {
		text = text[:maxInputBytes]
	}
	return Cut(escapeUnsafe(mask(strings.ToValidUTF8(text, "\uFFFD"))), max)
}

// Cut truncates text to at most max bytes, between two characters. A truncated text ends
// with an ellipsis.
func Cut(text string, max int) string {
	if len(text) <= max {
		return text
	}
	n := max - len(ellipsis)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	if n <= 0 {
		return ""
	}
	return text[:n] + ellipsis
}

// escapeUnsafe escapes characters that move the cursor, or hide or reorder text, in the
// syntax of Go: \n, \x1b, \u202e.
func escapeUnsafe(text string) string {
	if strings.IndexFunc(text, isUnsafeRune) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !isUnsafeRune(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// isUnsafeRune reports whether r is a control character, a line separator or a format
// character, such as those that change the direction of text.
func isUnsafeRune(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}
