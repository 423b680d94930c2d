package spelling

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"
	"strings"
)

// maxComparedBytes bounds the names that are compared letter by letter. A longer name is
// checked only for containing the word.
const maxComparedBytes = 200

// minPartBytes is the minimum length of a word that counts as a part of a name: shorter
// words occur in nearly every name.
const minPartBytes = 3

// guess is a name and its distance from the word.
type guess struct {
	name string
	cost int
}

func compareGuesses(a, b guess) int {
	return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(len(a.name), len(b.name)), strings.Compare(a.name, b.name))
}

// Nearest returns at most limit of the names that word may have meant, the likeliest
// first. Letter case does not matter. Names that end in a slash and the word come first,
// then those that contain the word, then those with the fewest typing errors in the whole
// name or in its last elements. Of equally near names, the shorter comes first.
func Nearest(word string, names iter.Seq[string], limit int) []string {
	if word == "" {
		return nil
	}
	w := newTarget(word)
	var best []guess
	for name := range names {
		g := guess{name, w.nameCost(strings.ToLower(name))}
		if g.cost > w.limit || slices.Contains(best, g) {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, g, compareGuesses)
		best = slices.Insert(best, at, g)
		best = best[:min(len(best), limit)]
	}
	out := make([]string, len(best))
	for i, g := range best {
		out[i] = g.name
	}
	return out
}

// target is the word that names are compared with.
type target struct {
	word     string
	limit    int // the maximum cost: one more than the number of errors
	elements int
	letters  uint64
}

func newTarget(word string) *target {
	word = strings.ToLower(word)
	return &target{word, maxCost(word), strings.Count(word, "/") + 1, lettersOf(word)}
}

// maxCost returns the maximum cost of a name, one more than the number of errors that it may
// have.
func maxCost(word string) int { return min(2+len(word)/5, 6) }

// nameCost returns 0 for a name that ends in the word, 1 for one that contains it,
// otherwise the number of errors plus 1, or a number above the limit.
func (w *target) nameCost(name string) int {
	switch {
	case name == w.word || strings.HasSuffix(name, "/"+w.word):
		return 0
	case len(w.word) >= minPartBytes && strings.Contains(name, w.word):
		return 1
	case len(w.word) > maxComparedBytes:
		return w.limit + 1
	}
	errors := w.countErrors(name)
	for end := len(name); end > 0; end = strings.LastIndexByte(name[:end], '/') {
		tail := lastElements(name[:end], w.elements)
		if len(tail) == len(name) {
			break
		}
		if end < len(name) {
			errors = min(errors, 1+w.countErrors(tail)) // such as the element before a version
		} else {
			errors = min(errors, w.countErrors(tail))
		}
	}
	return 1 + errors
}

func (w *target) countErrors(name string) int {
	most := w.limit - 1
	if difference := len(w.word) - len(name); max(difference, -difference) > most {
		return most + 1 // without reading the name
	}
	// One error changes at most two bits of the set of letters.
	if bits.OnesCount64(w.letters^lettersOf(name)) > 2*most {
		return most + 1
	}
	return Distance(w.word, name, most)
}

// lettersOf returns the set of letters of a name as bits. Several letters may share a
// bit.
func lettersOf(name string) uint64 {
	var set uint64
	for i := range len(name) {
		set |= 1 << (name[i] & 63)
	}
	return set
}

// lastElements returns the last n elements of a name with slashes.
func lastElements(name string, n int) string {
	from := len(name)
	for range n {
		if from = strings.LastIndexByte(name[:max(from, 0)], '/'); from < 0 {
			break
		}
	}
	return name[from+1:]
}

// maxShortBytes is the length of b up to which the table of Distance is on the stack.
const maxShortBytes = 63

// Distance returns the number of typing errors that turn a into b, or limit+1 if there are
// more than limit. An error is an extra byte, a missing one, a wrong one, or two swapped
// neighbors (the restricted Damerau-Levenshtein distance). It computes only the cells of
// the table that are at most limit from its diagonal (Ukkonen 1985): (2·limit+1)·len(a).
// limit must not be negative.
func Distance(a, b string, limit int) int {
	if difference := len(a) - len(b); max(difference, -difference) > limit {
		return limit + 1
	}
	var short [3 * (maxShortBytes + 1)]int
	rows, size := short[:], len(b)+1
	if len(b) > maxShortBytes {
		rows = make([]int, 3*size)
	}
	before, row, next := rows[:size], rows[size:2*size], rows[2*size:3*size]
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		from, to := max(i-limit, 0), min(i+limit, len(b)-1)
		next[from] = limit + 1 // outside the band
		if from == 0 {
			next[0] = i + 1
		}
		least := next[from]
		for j := from; j <= to; j++ {
			cost := row[j]
			if a[i] != b[j] {
				cost++
			}
			cost = min(cost, next[j]+1)
			if j < i+limit { // the cell above is near the diagonal
				cost = min(cost, row[j+1]+1)
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				cost = min(cost, before[j-1]+1)
			}
			next[j+1] = cost
			least = min(least, cost)
		}
		if least > limit {
			return limit + 1
		}
		before, row, next = row, next, before
	}
	return min(row[len(b)], limit+1)
}
