package mcp

import (
	"cmp"
	"slices"
	"strings"
)

// maxSuggestions bounds the names that a failure suggests.
const maxSuggestions = 5

// nearest returns the names that somebody who wrote name may have meant, the
// likeliest first.
func nearest(name string, names []string) []string {
	type guess struct {
		name string
		cost int
	}
	name = strings.ToLower(name)
	var guesses []guess
	for _, candidate := range names {
		if cost := distance(name, strings.ToLower(candidate)); cost <= maxDistance(name) {
			guesses = append(guesses, guess{candidate, cost})
		}
	}
	slices.SortFunc(guesses, func(a, b guess) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(len(a.name), len(b.name)), strings.Compare(a.name, b.name))
	})
	var out []string
	for _, g := range guesses[:min(len(guesses), maxSuggestions)] {
		out = append(out, g.name)
	}
	return out
}

// maxDistance is how many letters may be wrong.
func maxDistance(name string) int { return min(2+len(name)/5, 6) }

// maxCompared bounds the bytes of names that are compared: the costs of edits grow
// with their square.
const maxCompared = 200

// distance is 0 if a is an end of b at a slash, 1 if it is a part of it; else the
// number of edits between a and the end of b with as many elements, plus 1.
func distance(a, b string) int {
	switch {
	case a == b || strings.HasSuffix(b, "/"+a):
		return 0
	case len(a) > 2 && strings.Contains(b, a):
		return 1
	}
	from := len(b)
	for range strings.Count(a, "/") + 1 {
		if from = strings.LastIndexByte(b[:max(from, 0)], '/'); from < 0 {
			break
		}
	}
	return 1 + min(edits(a, b), edits(a, b[from+1:]))
}

// edits is the Levenshtein distance.
func edits(a, b string) int {
	if d := len(a) - len(b); max(d, -d) > maxDistance(a) || len(a) > maxCompared {
		return maxDistance(a) + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
