package changeset

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/schemas/code"
)

// spell makes every path UTF-8. git's paths are bytes, ours are text: they go
// through JSON, which would turn two names in Latin-1 into one. A byte that is
// not UTF-8 becomes \xHH, as git itself quotes it for people. A repository that
// has both a byte and its spelling keeps the one that comes first.
func spell(changes []Change) []Change {
	spelled := false
	for i := range changes {
		if !utf8.ValidString(changes[i].Path) {
			changes[i].Path = code.SpellPath(changes[i].Path)
			spelled = true
		}
	}
	if !spelled {
		return changes
	}
	// The order of bytes is not that of their spelling.
	slices.SortStableFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(changes, func(a, b Change) bool { return a.Path == b.Path })
}
