package fuzzy

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestPlace compares the chosen placement with all possible placements.
func TestPlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 93))
	for range 3000 {
		path, letters := "", ""
		for range 1 + rng.IntN(10) {
			path += string("abAB_/."[rng.IntN(7)])
		}
		for range 1 + rng.IntN(3) {
			letters += string("ab_"[rng.IntN(3)])
		}
		want := bestPlacement([]byte(path), letters, 0, -1)
		if want <= impossibleScore/2 {
			continue
		}
		if have, positions := Place([]byte(path), letters); have != want {
			t.Fatalf("%s in %s: %d at %v, want %d", letters, path, have, positions, want)
		}
	}
}

// bestPlacement tries every placement of the remaining letters from an offset on.
func bestPlacement(path []byte, letters string, from, last int) int {
	if letters == "" {
		return 0
	}
	best := impossibleScore
	for i := from; i < len(path); i++ {
		if lowerASCII[path[i]] != letters[0] {
			continue
		}
		score := pointsAt(path, i, strings.LastIndexByte(string(path), '/')+1) + bestPlacement(path, letters[1:], i+1, i)
		if last >= 0 {
			score += pointsOfGap(i - last - 1)
		}
		best = max(best, score)
	}
	return best
}
