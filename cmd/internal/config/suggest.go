package config

import (
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/schemas/spelling"
)

// nearestName returns the candidate that was most likely meant by word, or "".
func nearestName(word string, candidates []string) string {
	for _, name := range spelling.Nearest(word, slices.Values(candidates), 1) {
		return name
	}
	return ""
}

// maxSuggestedPaths bounds the settings that the error about an unknown one names.
const maxSuggestedPaths = 5

// suggestPath names the settings that were likely meant by a path: the nearest one, or
// those whose last part is near.
func suggestPath(path string, known []string) string {
	if near := nearestName(path, known); near != "" {
		return "; did you mean \"" + near + "\"?"
	}
	lastOf := func(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }
	last := strings.ToLower(lastOf(path))
	var near []string
	for _, name := range known {
		if part := strings.ToLower(lastOf(name)); len(near) < maxSuggestedPaths && (spelling.Distance(part, last, 1) <= 1 || len(last) > 3 && strings.Contains(part, last)) {
			near = append(near, name)
		}
	}
	if len(near) > 0 {
		return "; did you mean " + strings.Join(near, ", ") + "?"
	}
	return "; quarry serve --print-config prints all of them"
}
