// Package fuzzy scores how well the letters that somebody typed fit a path: qsf fits
// query/search/fuzzy.go.
//
// A letter scores higher at the beginning of a word, in the file name, and directly after
// the previous letter. Score estimates the placement in linear time. Place finds the best one
// by dynamic programming over letters and positions, with affine costs of gaps (Gotoh 1982).
// The letters must be in lower case. A letter is one byte; ASCII letters match in any case.
package fuzzy

import (
	"bytes"
	"strings"
)

const (
	// MaxLetters bounds the letters, in bytes. Score panics if there are more.
	MaxLetters = 128
	// maxScoredPath bounds the part at the end of a path in which the best placement is
	// computed.
	maxScoredPath = 256
)

// Points of a placement.
const (
	pointsLetter   = 16
	pointsTogether = 8  // directly after the previous letter
	pointsFolder   = 9  // at the beginning of a path element
	pointsWord     = 8  // at the beginning of a word
	pointsCapital  = 7  // an upper-case letter after a lower-case one
	pointsBase     = 4  // in the file name
	pointsStart    = 12 // at the beginning of the file name
	pointsGap      = -3 // first character between two letters
	pointsBetween  = -1 // each further character between them
)

// Score scores the letters in the file name if it contains them all, and otherwise at their
// latest positions in the path. It returns false if the path does not contain them.
func Score(path []byte, letters string) (score int, ok bool) {
	base := bytes.LastIndexByte(path, '/') + 1
	var buffer [MaxLetters]int
	positions := buffer[:len(letters)]
	if !placeBackward(path, letters, positions) {
		return 0, false
	}
	if positions[0] >= base {
		placeForward(path, base, letters, positions)
	}
	for j, i := range positions {
		score += pointsAt(path, i, base)
		if j > 0 {
			score += pointsOfGap(i - positions[j-1] - 1)
		}
	}
	return score, true
}

// impossibleScore is the score of an impossible placement.
const impossibleScore = -1 << 30

// Place returns the highest score of the letters and their positions: byte offsets in the
// path, ascending. The path must contain the letters. If its last maxScoredPath bytes do not,
// Place returns the result of Score and the latest positions.
func Place(path []byte, letters string) (score int, positions []int) {
	base := bytes.LastIndexByte(path, '/') + 1
	skip := max(len(path)-maxScoredPath, 0)
	positions = make([]int, len(letters))
	if skip > 0 && !placeBackward(path[skip:], letters, positions) {
		placeBackward(path, letters, positions)
		score, _ = Score(path, letters)
		return score, positions
	}
	n := len(path) - skip
	// before[i] is the score with the last letter at i; from[j][i] is the position of the
	// previous letter then.
	before, next := make([]int, n), make([]int, n)
	from := make([][]int16, len(letters))
	for j := range letters {
		from[j] = make([]int16, n)
		gap, gapAt := impossibleScore, -1 // best position before i-1, with the points for the gap to i
		for i := range n {
			if gap > impossibleScore {
				gap += pointsBetween
			}
			if j > 0 && i >= 2 && before[i-2] > impossibleScore && before[i-2]+pointsGap > gap {
				gap, gapAt = before[i-2]+pointsGap, i-2
			}
			next[i] = impossibleScore
			if lowerASCII[path[skip+i]] != letters[j] {
				continue
			}
			points := pointsAt(path, skip+i, base)
			switch {
			case j == 0:
				next[i] = points
			case i > 0 && before[i-1] > impossibleScore && before[i-1]+pointsTogether >= gap:
				next[i], from[j][i] = points+before[i-1]+pointsTogether, int16(i-1)
			case gap > impossibleScore:
				next[i], from[j][i] = points+gap, int16(gapAt)
			}
		}
		before, next = next, before
	}
	last := 0
	for i := range n {
		if before[i] > before[last] {
			last = i
		}
	}
	score = before[last]
	for j := len(letters) - 1; j >= 0; j-- {
		positions[j] = skip + last
		last = int(from[j][last])
	}
	return score, positions
}

// placeBackward places letters as late as possible, and reports whether every letter has
// a position.
func placeBackward(path []byte, letters string, positions []int) bool {
	j := len(letters) - 1
	for i := len(path) - 1; i >= 0 && j >= 0; i-- {
		if lowerASCII[path[i]] == letters[j] {
			positions[j] = i
			j--
		}
	}
	return j < 0
}

// placeForward places letters as early as possible, starting at an offset from which on the
// path contains them.
func placeForward(path []byte, from int, letters string, positions []int) {
	j := 0
	for i := from; i < len(path) && j < len(letters); i++ {
		if lowerASCII[path[i]] == letters[j] {
			positions[j] = i
			j++
		}
	}
}

// pointsAt returns the points for a letter at a position of a path whose file name begins
// at base.
func pointsAt(path []byte, i, base int) int {
	points := pointsLetter
	if i >= base {
		points += pointsBase
	}
	switch {
	case i == base:
		points += pointsStart
	case i == 0 || path[i-1] == '/':
		points += pointsFolder
	case strings.IndexByte("_-. ", path[i-1]) >= 0:
		points += pointsWord
	case 'A' <= path[i] && path[i] <= 'Z' && 'a' <= path[i-1] && path[i-1] <= 'z':
		points += pointsCapital
	}
	return points
}

func pointsOfGap(between int) int {
	if between == 0 {
		return pointsTogether
	}
	return pointsGap + pointsBetween*(between-1)
}

// lowerASCII maps capital ASCII letters to lower case and every other byte to itself.
var lowerASCII = func() (table [256]byte) {
	for c := range table {
		if table[c] = byte(c); 'A' <= c && c <= 'Z' {
			table[c] += 'a' - 'A'
		}
	}
	return table
}()
