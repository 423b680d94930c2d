package syntax

import (
	"maps"
	"slices"
)

// FilterWords returns the values of a filter that accepts only certain words, or nil for
// other filters.
func FilterWords(name string) []string {
	if f := keywords[name]; f != nil {
		return f.words
	}
	return nil
}

// FilterNames returns the names of all filters, such as repo and r, in alphabetical order.
func FilterNames() []string { return slices.Sorted(maps.Keys(keywords)) }
