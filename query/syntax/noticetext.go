package syntax

import (
	"fmt"
	"strings"
	"unicode"
)

// ShowNames lists names in a message of one line.
func ShowNames(names []string, between string) string {
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = ShowFilter(name)
	}
	return strings.Join(shown, between)
}

// maxFilterShown bounds the bytes of a filter or a name that a message repeats.
const maxFilterShown = 100

// ShowFilter returns a filter or a name for a message of one line, shortened.
func ShowFilter(filter string) string {
	filter = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, filter)
	if len(filter) <= maxFilterShown {
		return filter
	}
	return strings.ToValidUTF8(filter[:maxFilterShown], "") + "…"
}

// ShowCount formats a count with its noun: "1 file", "2 files".
func ShowCount(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
