package scan

import "unicode/utf8"

// An automaton finds a folded literal in time linear in the text, even if both are
// repetitive (Knuth, Morris and Pratt, 1977). It reads every rune, so it is used only for
// texts in which the search for the anchor is slow.
type automaton struct {
	literal []byte
	borders []int32 // length of the longest proper border of literal[:i+1]
}

func newAutomaton(literal []byte) *automaton {
	a := &automaton{literal: literal, borders: make([]int32, len(literal))}
	border := int32(0)
	for i := 1; i < len(literal); i++ {
		border = a.nextState(border, literal[i])
		a.borders[i] = border
	}
	return a
}

// nextState returns the number of matched bytes of the literal after c follows the first
// matched bytes.
func (a *automaton) nextState(matched int32, c byte) int32 {
	for matched > 0 && (int(matched) == len(a.literal) || a.literal[matched] != c) {
		matched = a.borders[matched-1]
	}
	if a.literal[matched] == c {
		matched++
	}
	return matched
}

// next returns the first occurrence that starts at or after from, or -1, -1.
func (a *automaton) next(text []byte, from int) (start, end int) {
	var folded [utf8.UTFMax]byte
	matched := int32(0)
	for i := from; i < len(text); {
		size, n := foldAt(&folded, text[i:])
		i += size
		for _, c := range folded[:n] {
			matched = a.nextState(matched, c)
		}
		if int(matched) == len(a.literal) {
			return a.occurrenceStart(text, i), i
		}
	}
	return -1, -1
}

// occurrenceStart returns the start of the occurrence that ends at end.
func (a *automaton) occurrenceStart(text []byte, end int) int {
	var folded [utf8.UTFMax]byte
	for left := len(a.literal); left > 0; {
		_, size := utf8.DecodeLastRune(text[:end])
		end -= size
		_, n := foldAt(&folded, text[end:])
		left -= n
	}
	return end
}
