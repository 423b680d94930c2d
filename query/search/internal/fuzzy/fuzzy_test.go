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

// TestScore checks the points of the placement that Score estimates.
func TestScore(t *testing.T) {
	for _, tc := range []struct {
		path, letters string
		want          int
	}{
		{"a/fuzzy.go", "fuz", (16 + 4 + 12) + (16 + 4 + 8) + (16 + 4 + 8)}, // in the file name, together
		{"ab/c", "ab", (16 + 9) + (16 + 8)},                                // in a folder
		{"x_a/b", "ab", (16 + 8) + (16 + 4 + 12 - 3)},                      // a word of the folder, and a gap
		{"fooBar", "ob", (16 + 4) + (16 + 4 + 7 - 3)},                      // the first o, and a capital
		{"axxxb", "ab", (16 + 4 + 12) + (16 + 4 - 3 - 2)},                  // a gap of three
		{"ab/ab", "ab", (16 + 4 + 12) + (16 + 4 + 8)},                      // the file name comes first
		{"aab/x", "ab", 16 + (16 + 8)},                                     // the latest a of the folder
		{"aab", "ab", (16 + 4 + 12) + (16 + 4 - 3)},                        // the first a of the file name
		{"Read.Me", "rm", (16 + 4 + 12) + (16 + 4 + 8 - 3 - 3)},            // capitals match, and the dot begins a word
		{"b/a", "ab", -1}, // the wrong order
		{"src/" + strings.Repeat("x", 300) + "/ab", "ab", 16 + 4 + 12 + 28}, // a long path
	} {
		have, ok := Score([]byte(tc.path), tc.letters)
		if !ok {
			have = -1
		}
		if have != tc.want {
			t.Errorf("%s in %.40s: %d, want %d", tc.letters, tc.path, have, tc.want)
		}
		if ok {
			if best, _ := Place([]byte(tc.path), tc.letters); best < have {
				t.Errorf("%s in %.40s: Score estimates %d, more than the %d of the best placement", tc.letters, tc.path, have, best)
			}
		}
	}
}
