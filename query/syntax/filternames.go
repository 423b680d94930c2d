package syntax

import (
	"maps"
	"slices"
)

// FilterNames returns the names of all filters, such as repo and r, in alphabetical order.
func FilterNames() []string { return slices.Sorted(maps.Keys(keywords)) }
