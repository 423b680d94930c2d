package config

import (
	"slices"

	"github.com/quarrysearch/quarry/schemas/spelling"
)

// nearestName returns the candidate that was most likely meant by word, or "".
func nearestName(word string, candidates []string) string {
	for _, name := range spelling.Nearest(word, slices.Values(candidates), 1) {
		return name
	}
	return ""
}
