package code

import (
	"strings"
	"unicode/utf8"
)

// SpellPath returns a path of git, which is bytes, as text: a byte that is not
// UTF-8 becomes \xHH, as git itself quotes it for people. A path in UTF-8 stays
// as it is.
func SpellPath(path string) string {
	if utf8.ValidString(path) {
		return path
	}
	const digits = "0123456789abcdef"
	var b strings.Builder
	for len(path) > 0 {
		r, n := utf8.DecodeRuneInString(path)
		if r == utf8.RuneError && n == 1 {
			b.Write([]byte{'\\', 'x', digits[path[0]>>4], digits[path[0]&15]})
		} else {
			b.WriteString(path[:n])
		}
		path = path[n:]
	}
	return b.String()
}
