package plan

import (
	"regexp/syntax"
	"unicode/utf8"
)

// A run is worth using if it is at least minRunBytes long and its class is rare enough.
const (
	minRunBytes    = 4
	maxRunShare    = 400 // thousandths of the bytes of source code
	unboundedShare = 1000
)

// findRun returns the best run of a simplified tree: the longest run of one class,
// weighted by how rarely the class occurs in text.
func findRun(re *syntax.Regexp) Run {
	var best, current Run
	bestWorth := 0
	for _, sub := range flattenConcat(nil, re) {
		class, n, certain := classOf(sub)
		if n == 0 || class != current.Class {
			current = Run{Class: class}
		}
		current.Bytes += n
		if w := current.runWorth(); w > bestWorth {
			best, bestWorth = current, w
		}
		if !certain { // x+ : what follows is not adjacent to the counted part of the run
			current = Run{}
		}
	}
	return best
}

// flattenConcat appends the parts of nested concatenations in order. Simplify leaves such
// nesting for x{3}.
func flattenConcat(dst []*syntax.Regexp, re *syntax.Regexp) []*syntax.Regexp {
	switch re.Op {
	case syntax.OpCapture:
		return flattenConcat(dst, re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			dst = flattenConcat(dst, sub)
		}
		return dst
	}
	return append(dst, re)
}

func (r Run) runWorth() int {
	share := 0
	for b, in := range r.Class {
		if in {
			share += byteShare(b)
		}
	}
	if r.Bytes < minRunBytes || share > maxRunShare {
		return 0
	}
	return r.Bytes * (unboundedShare - share)
}

// classOf returns the bytes of a single-rune subexpression and its minimum count; certain
// is false if it may repeat more often.
func classOf(re *syntax.Regexp) (class [256]bool, n int, certain bool) {
	switch re.Op {
	case syntax.OpCapture:
		return classOf(re.Sub[0])
	case syntax.OpPlus:
		class, n, _ = classOf(re.Sub[0])
		return class, n, false
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1] && r < utf8.RuneSelf; r++ {
				class[r] = true
			}
			if re.Rune[i+1] >= utf8.RuneSelf {
				for b := utf8.RuneSelf; b < 256; b++ {
					class[b] = true
				}
			}
		}
		return class, 1, true
	}
	return class, 0, false
}
