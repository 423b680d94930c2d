package codehtml

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// byteClass is how AppendText handles a byte.
type byteClass uint8

const (
	plainByte   byteClass = iota
	specialByte           // has a reference in entities
	controlByte           // a control character without an effect on a page
	wideByte              // the beginning of a multibyte character, or not UTF-8
)

// Byte-indexed tables: AppendText reads each byte of a file once.
var (
	byteClasses = func() (classes [256]byteClass) {
		for c := range classes {
			switch {
			case c == '\t' || c == '\n':
			case entities[c] != "":
				classes[c] = specialByte
			case c < ' ' || c == 0x7f:
				classes[c] = controlByte
			case c >= utf8.RuneSelf:
				classes[c] = wideByte
			}
		}
		return classes
	}()
	entities = [256]string{'&': "&amp;", '<': "&lt;", '>': "&gt;", '"': "&#34;", '\'': "&#39;"}
)

// AppendText appends text as HTML. A browser shows the text as it is, whatever it
// contains.
func AppendText(out, text []byte) []byte {
	plain := 0
	for i := 0; i < len(text); {
		class := byteClasses[text[i]]
		if class == plainByte {
			i++
			continue
		}
		size := 1
		var r rune
		if class == wideByte {
			if r, size = utf8.DecodeRune(text[i:]); !isHidden(r) && (r != utf8.RuneError || size > 1) {
				i += size
				continue
			}
		}
		out = append(out, text[plain:i]...)
		if class == specialByte {
			out = append(out, entities[text[i]]...)
		} else {
			out = appendOdd(out, text, i, r, size)
		}
		i += size
		plain = i
	}
	return append(out, text[plain:]...)
}

// appendOdd appends an invisible character in visible form, or the replacement of an
// invalid byte.
func appendOdd(out, text []byte, i int, r rune, size int) []byte {
	c := text[i]
	switch {
	case c == '\r' && (i+1 == len(text) || text[i+1] == '\n'):
		return append(out, "&#13;"...) // the end of a line; a browser would turn a bare one into a line feed
	case c == '\r':
		return append(out, `<span class=u data-u=CR>&#13;</span>`...)
	case c == 0 || r == utf8.RuneError:
		return fmt.Appendf(out, "<span class=u data-u=x%02X>\uFFFD</span>", c)
	case c < utf8.RuneSelf:
		return fmt.Appendf(out, "<span class=u data-u=x%02X>%c</span>", c, c)
	}
	return append(append(fmt.Appendf(out, "<span class=u data-u=U+%04X>", r), text[i:i+size]...), "</span>"...)
}

// isHidden reports whether a character changes the direction of writing, has no width, or
// ends a line in some programs. Joiners are not hidden: scripts and emoji need them.
func isHidden(r rune) bool {
	switch {
	case r < 0x80 || r > 0xFFFF && r < 0xE0000:
		return false
	case r <= 0x9F: // ISO 6429 control characters
		return true
	case r == 0xAD, r == 0x61C, r == 0x180E, r == 0x200B, r == 0x200E, r == 0x200F, r == 0xFEFF:
		return true
	case r >= 0x2028 && r <= 0x202E, r >= 0x2060 && r <= 0x206F, r >= 0xFFF9 && r <= 0xFFFB:
		return true
	}
	return r >= 0xE0000 && r <= 0xE007F // tags, which can spell hidden text
}

// AppendName appends a text of one line, such as the name of a file: line feeds and tabs
// in it are hidden characters, too.
func AppendName(out []byte, name string) []byte {
	for {
		i := strings.IndexAny(name, "\n\r\t")
		if i < 0 {
			return AppendText(out, []byte(name))
		}
		out = AppendText(out, []byte(name[:i]))
		out = fmt.Appendf(out, "<span class=u data-u=x%02X>&#%d;</span>", name[i], name[i])
		name = name[i+1:]
	}
}

// HasDirectionMarks reports whether a text contains characters that override or isolate
// the direction of writing, with which code can be made to look like other code.
func HasDirectionMarks(text []byte) bool {
	for i := 0; i+2 < len(text); i++ {
		if text[i] != 0xE2 {
			continue
		}
		if r, _ := utf8.DecodeRune(text[i:]); r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 {
			return true
		}
	}
	return false
}

// SpellHidden replaces hidden characters with their names, for titles and other texts
// that cannot contain elements.
func SpellHidden(s string) string {
	if !strings.ContainsFunc(s, isOddRune) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if isOddRune(r) {
			fmt.Fprintf(&b, "[U+%04X]", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isOddRune(r rune) bool { return r < ' ' || r == 0x7f || isHidden(r) }
