package changeset

import (
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// namePaths gives every change a path that is text and that events accept. git's
// paths are bytes: JSON would turn two names in Latin-1 into one, so a byte that is
// not UTF-8 becomes \xHH, as git itself quotes it for people. A path that is too long,
// or that no checkout can have, gets a generated name and is marked. A repository
// that has both a name and its spelling keeps the one that comes first.
func namePaths(changes []Change) []Change {
	renamed := false
	for i := range changes {
		name, valid := code.NamePath(changes[i].Path)
		renamed = renamed || name != changes[i].Path
		changes[i].Path, changes[i].InvalidPath = name, !valid
	}
	// The order of bytes is not that of their spelling; and git sorts trees and has a
	// name once, not those who forge them.
	if !renamed && isAscending(changes) {
		return changes
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(changes, func(a, b Change) bool { return a.Path == b.Path })
}

// isAscending reports whether each path comes after the one before it.
func isAscending(changes []Change) bool {
	for i := 1; i < len(changes); i++ {
		if changes[i].Path <= changes[i-1].Path {
			return false
		}
	}
	return true
}
