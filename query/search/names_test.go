package search

import (
	"slices"
	"testing"
)

// TestJoinedNames checks the identifiers that the terms of a query may form.
func TestJoinedNames(t *testing.T) {
	for text, want := range map[string][]string{
		"parse release":       {"parserelease", "parse_release"},
		"test Reader read at": {"testreaderreadat", "test_Reader_read_at", "test_Readerreadat", "testReader_readat", "testReaderread_at"},
		"one":                 nil,
	} {
		c, err := compileQuery(&Request{Query: parse(t, text)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, n := range namesOf(c) {
			if n.joined {
				names = append(names, n.exact)
			}
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: %q, want %q", text, names, want)
		}
	}
}
