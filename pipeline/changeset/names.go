package changeset

import (
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// namePaths gives every change a path that is text and valid in events. git's paths are
// bytes: JSON would merge two names in Latin-1 into one, so an invalid byte of UTF-8
// becomes \xHH, as in git's own quoting. A path that is too long, or that no checkout can
// contain, gets a generated name and is marked. If a repository contains both a name and
// its escaped form, the first is kept.
func namePaths(changes []Change) []Change {
	renamed := false
	for i := range changes {
		name, valid := code.NamePath(changes[i].Path)
		renamed = renamed || name != changes[i].Path
		changes[i].Path, changes[i].InvalidPath = name, !valid
	}
	// Escaping changes the order of paths. git sorts trees and writes each name once, but
	// a forged tree may not.
	if !renamed && isAscending(changes) {
		return changes
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(changes, func(a, b Change) bool { return a.Path == b.Path })
}

// isAscending reports whether the paths are strictly ascending.
func isAscending(changes []Change) bool {
	for i := 1; i < len(changes); i++ {
		if changes[i].Path <= changes[i-1].Path {
			return false
		}
	}
	return true
}
