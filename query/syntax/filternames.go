package syntax

import (
	"maps"
	"slices"
)

// FilterWords returns the values of a filter that takes one of a few words, nil for another filter.
func FilterWords(name string) []string {
	if f := keywords[name]; f != nil {
		return f.words
	}
	return nil
}

// FilterNames returns the names of all filters, such as repo and r, in alphabetical order.
func FilterNames() []string { return slices.Sorted(maps.Keys(keywords)) }
