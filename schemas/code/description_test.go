package code_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/schemas/code"
)

// TestKeepDescription checks that descriptions are reduced to one line within the bound.
func TestKeepDescription(t *testing.T) {
	long := strings.Repeat("ü", code.MaxDescriptionBytes)
	for in, want := range map[string]string{
		"": "", " \n\t": "", "plain": "plain", " two\r\nlines\u2028more ": "two lines more", "a\x00b\x1b[31mc": "a b [31mc", "bad \xff byte": "bad \ufffd byte",
		strings.Repeat("x", code.MaxDescriptionBytes): strings.Repeat("x", code.MaxDescriptionBytes),
	} {
		if got := code.KeepDescription(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	got := code.KeepDescription(long)
	if len(got) > code.MaxDescriptionBytes || len(got) < code.MaxDescriptionBytes-4 || !utf8.ValidString(got) || !strings.HasSuffix(got, "ü…") {
		t.Errorf("a description that is too long: %d bytes, ends in %q", len(got), got[len(got)-8:])
	}
}
