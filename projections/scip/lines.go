package scip

import (
	"bytes"
	"slices"

	"github.com/zeebo/xxh3"
)

// HashLines returns a hash of each line of a text, without the line ending. A line ending
// at the end of the text does not begin another line.
func HashLines(text []byte) []uint64 {
	out := make([]uint64, 0, bytes.Count(text, []byte{'\n'})+1)
	for line := range bytes.Lines(text) {
		out = append(out, xxh3.Hash(trimLineEnd(line)))
	}
	return out
}

func trimLineEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'})
}

// MapLines returns, for each line of old, its line in later, or -1 if it is gone. The lines
// keep their order. Lines that occur exactly once in each text are anchors; equal lines
// next to an anchor are mapped along with it. The time is linear in the number of lines,
// apart from a sort of the anchors.
func MapLines(old, later []uint64) []int {
	out := make([]int, len(old))
	for i := range out {
		out[i] = -1
	}
	m := lineMapper{old, later, out}
	first, end, laterEnd := 0, len(old), len(later)
	for first < min(end, laterEnd) && old[first] == later[first] {
		out[first] = first
		first++
	}
	for end > first && laterEnd > first && old[end-1] == later[laterEnd-1] {
		end, laterEnd = end-1, laterEnd-1
		out[end] = laterEnd
	}
	previous, previousLater := first, first
	for _, a := range m.findAnchors(first, end, laterEnd) {
		m.extend(previous, a.old, previousLater, a.later)
		out[a.old] = a.later
		previous, previousLater = a.old+1, a.later+1
	}
	m.extend(previous, end, previousLater, laterEnd)
	return out
}

type lineMapper struct {
	old, later []uint64
	out        []int
}

type linePair struct{ old, later int }

// findAnchors returns pairs of equal lines that are in order in both texts. Each line is
// unique in its text between first and the end.
func (m *lineMapper) findAnchors(first, end, laterEnd int) []linePair {
	type places struct{ oldCount, laterCount, later int }
	lines := make(map[uint64]places, end-first)
	for _, h := range m.old[first:end] {
		p := lines[h]
		p.oldCount++
		lines[h] = p
	}
	for i, h := range m.later[first:laterEnd] {
		if p, ok := lines[h]; ok {
			p.laterCount++
			p.later = first + i
			lines[h] = p
		}
	}
	var pairs []linePair
	for i, h := range m.old[first:end] {
		if p := lines[h]; p.oldCount == 1 && p.laterCount == 1 {
			pairs = append(pairs, linePair{first + i, p.later})
		}
	}
	return longestAscending(pairs)
}

// longestAscending returns a longest subsequence that is also ordered by later. The pairs
// must be ordered by old.
func longestAscending(pairs []linePair) []linePair {
	var tails []int // indexes of pairs: the last pair of the best sequence of each length
	before := make([]int, len(pairs))
	for i, p := range pairs {
		n, _ := slices.BinarySearchFunc(tails, p.later, func(k, later int) int { return pairs[k].later - later })
		before[i] = -1
		if n > 0 {
			before[i] = tails[n-1]
		}
		if n == len(tails) {
			tails = append(tails, i)
		} else {
			tails[n] = i
		}
	}
	out := make([]linePair, len(tails))
	if len(tails) == 0 {
		return out
	}
	for i, k := len(tails)-1, tails[len(tails)-1]; i >= 0; i, k = i-1, before[k] {
		out[i] = pairs[k]
	}
	return out
}

// extend maps equal lines at the beginning and at the end of a gap between anchors.
func (m *lineMapper) extend(first, end, laterFirst, laterEnd int) {
	for first < end && laterFirst < laterEnd && m.old[first] == m.later[laterFirst] {
		m.out[first] = laterFirst
		first, laterFirst = first+1, laterFirst+1
	}
	for end > first && laterEnd > laterFirst && m.old[end-1] == m.later[laterEnd-1] {
		end, laterEnd = end-1, laterEnd-1
		m.out[end] = laterEnd
	}
}
