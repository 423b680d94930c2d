package corpus

import (
	"iter"
	"maps"
	"slices"
	"strings"
)

// A Context is a named set of repositories. It reports whether the set contains the
// repository with the given full name.
type Context func(repository string) bool

// maxContextChecks bounds the comparisons of repositories with search contexts in
// ExistingContexts.
const maxContextChecks = 200_000

// ExistingContexts returns the names of the search contexts that exist for a caller,
// sorted: those that contain one of the repositories, which the caller may see. It
// returns only names that contain letters, in any letter case, and stops after
// maxContextChecks comparisons.
func ExistingContexts(contexts map[string]Context, repositories iter.Seq[string], letters string) iter.Seq[string] {
	letters = strings.ToLower(letters)
	return func(yield func(string) bool) {
		checks := 0
		for _, name := range slices.Sorted(maps.Keys(contexts)) {
			if !strings.Contains(strings.ToLower(name), letters) {
				continue
			}
			found := false
			for repository := range repositories {
				if checks == maxContextChecks {
					return
				}
				if checks++; contexts[name](repository) {
					found = true
					break
				}
			}
			if found && !yield(name) {
				return
			}
		}
	}
}
