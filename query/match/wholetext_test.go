package match

import (
	"slices"
	"testing"
)

// TestCarriageReturns removes the carriage returns before line feeds, also at the beginning
// of a text, and converts each offset back.
func TestCarriageReturns(t *testing.T) {
	for _, text := range []string{"", "a", "\r\n", "\r\na\r\nb", "a\r\n\r\n", "\ra\rb\n", "\r\r\n", "a\r\nb\r"} {
		var left carriageReturns
		short := stripCarriageReturns(nil, &left, []byte(text))
		var want []byte
		for i := range len(text) {
			if text[i] != '\r' || i+1 == len(text) || text[i+1] != '\n' {
				if have := left.originalOffset(len(want)); have != i {
					t.Errorf("%q: offset %d of the shortened text is %d, want %d", text, len(want), have, i)
				}
				want = append(want, text[i])
			}
		}
		if !slices.Equal(short, want) {
			t.Errorf("%q: %q, want %q", text, short, want)
		}
	}
}
