package scan

import (
	"bytes"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/projections/postings"
)

// A literal finds the occurrences of one literal.
type literal struct {
	text   []byte // folded if fold
	fold   bool
	plain  bool // fold, and only ASCII bytes
	anchor int  // index in text of the byte to search for
	lower  byte
	upper  byte // same as lower if the byte has no case
	// foldsToForeign means that the anchor may appear in a text as a rune outside ASCII:
	// k as the Kelvin sign, s as the long s.
	foldsToForeign bool
	// foreign is the first rune outside ASCII; the anchor is its first byte then. It is 0
	// if there is no such rune or letter case matters.
	foreign rune
	// comparedBytes counts the bytes compared in the current text. If there are too many,
	// the automaton takes over.
	comparedBytes int
	automaton     *automaton
	// neighborStep is the offset from the anchor of the neighbor to compare first; 0 for
	// none.
	neighborStep int
}

// The automaton takes over from comparing around an anchor after maxCompared times the
// bytes of the text. A literal shorter than minRepetitive cannot cost much.
const (
	maxCompared   = 4
	minRepetitive = 32
)

// A cursor caches the next position of the anchor in each case, so that the search does
// not look again for a case that does not occur after every occurrence. A position before
// that of the search is unknown; len(text) means none.
type cursor struct{ lower, upper int }

func newLiteral(text string, fold bool) *literal {
	l := &literal{text: []byte(text), fold: fold, plain: true}
	for i := range len(text) {
		c := text[i]
		if c >= utf8.RuneSelf {
			l.plain = false
		}
		if byteFrequency(c) < byteFrequency(text[l.anchor]) {
			l.anchor = i
		}
	}
	l.lower = text[l.anchor]
	l.upper = l.lower
	if l.lower >= 'a' && l.lower <= 'z' {
		l.upper = l.lower - 'a' + 'A'
	}
	l.foldsToForeign = l.lower == 'k' || l.lower == 's'
	if fold && !l.plain {
		l.anchorForeign()
	}
	if l.neighborStep = 1; l.anchor == len(l.text)-1 {
		l.neighborStep = -1
	}
	if len(l.text) == 1 || !l.plain {
		l.neighborStep = 0
	}
	return l
}

// anchorForeign makes the first rune outside ASCII the anchor: it always appears in a
// text as a rune outside ASCII, and such runes are rare.
func (l *literal) anchorForeign() {
	for l.anchor = 0; l.text[l.anchor] < utf8.RuneSelf; {
		l.anchor++
	}
	r, size := utf8.DecodeRune(l.text[l.anchor:])
	if r == utf8.RuneError && size == 1 {
		l.foldsToForeign = true // not valid UTF-8: try every position
		return
	}
	l.foreign, l.foldsToForeign = r, false
}

// byteFrequency ranks bytes of source code by frequency. A byte outside ASCII, or one
// that folds with one, is the last choice for an anchor.
func byteFrequency(c byte) int {
	const byRank = "jqzx@`~^?\\$%|!v#&w'+y[]{}7689gbh453/:m<u2cp1df>*\"=l.,;()-0airnote_\n\t "
	if c >= utf8.RuneSelf {
		return 1000
	}
	if c == 'k' || c == 's' {
		return 500
	}
	return bytes.IndexByte([]byte(byRank), postings.FoldByte(c))
}

// needsASCII reports whether next is faster if the text is known to be ASCII.
func (l *literal) needsASCII() bool { return l.fold && l.foldsToForeign && l.plain }

// next returns the first occurrence that starts at or after from, or -1, -1. ascii means
// that the text is known to be ASCII.
func (l *literal) next(text []byte, from int, ascii bool, c *cursor) (start, end int) {
	switch {
	case from+1 > len(text):
		return -1, -1
	case !l.fold:
		if i := bytes.Index(text[from:], l.text); i >= 0 {
			return from + i, from + i + len(l.text)
		}
		return -1, -1
	case l.needsAutomaton(text):
		return l.automaton.next(text, from)
	case l.foreign != 0:
		return l.nextForeign(text, from)
	case l.foldsToForeign && !ascii:
		return l.nextByRune(text, from)
	}
	return l.nextAnchored(text, from, c)
}

// needsAutomaton reports whether comparing has taken too long in this text. If so, it
// prepares the automaton.
func (l *literal) needsAutomaton(text []byte) bool {
	if len(l.text) < minRepetitive || l.comparedBytes <= maxCompared*len(text) {
		return false
	}
	if l.automaton == nil {
		l.automaton = newAutomaton(l.text)
	}
	return true
}

// nextAnchored tries every position of the anchor, in either case.
func (l *literal) nextAnchored(text []byte, from int, c *cursor) (start, end int) {
	if l.upper == l.lower {
		c.upper = len(text)
	}
	repetitive := len(l.text) >= minRepetitive
	for at := from; ; {
		if c.lower < at {
			c.lower = indexFrom(text, at, l.lower)
		}
		if c.upper < at {
			c.upper = indexFrom(text, at, l.upper)
		}
		i := min(c.lower, c.upper)
		if i >= len(text) {
			return -1, -1
		}
		if l.neighborMatches(text, i) {
			if start, end, ok := l.matchAround(text, i); ok && start >= from {
				return start, end
			}
		}
		if at = i + 1; repetitive && l.needsAutomaton(text) {
			return l.automaton.next(text, from)
		}
	}
}

func indexFrom(text []byte, at int, c byte) int {
	if i := bytes.IndexByte(text[at:], c); i >= 0 {
		return at + i
	}
	return len(text)
}

// neighborMatches compares one byte next to an anchor. It returns false if there is no
// occurrence around the anchor, which excludes most anchors.
func (l *literal) neighborMatches(text []byte, i int) bool {
	i += l.neighborStep
	if l.neighborStep == 0 || i < 0 || i >= len(text) || text[i] >= utf8.RuneSelf {
		return true
	}
	return postings.FoldByte(text[i]) == l.text[l.anchor+l.neighborStep]
}

// matchAround compares the literal around an anchor found at i.
func (l *literal) matchAround(text []byte, i int) (start, end int, ok bool) {
	start, end = i-l.anchor, i-l.anchor+len(l.text)
	if start >= 0 && end <= len(text) && l.plain {
		foreign := false
		for j, c := range text[start:end] {
			if c >= utf8.RuneSelf {
				foreign = true
				break
			}
			if postings.FoldByte(c) != l.text[j] {
				l.comparedBytes += j
				return 0, 0, false
			}
		}
		l.comparedBytes += len(l.text)
		if !foreign {
			return start, end, true
		}
	}
	start, ok = l.matchBackward(text, i)
	if !ok {
		return 0, 0, false
	}
	end, ok = l.matchForward(text, i, l.anchor)
	return start, end, ok
}

// matchForward matches the literal, from its byte at at on, against the text from i on,
// rune by rune.
func (l *literal) matchForward(text []byte, i, at int) (end int, ok bool) {
	var folded [utf8.UTFMax]byte
	first := at
	for at < len(l.text) && i < len(text) {
		size, n := foldAt(&folded, text[i:])
		if n > len(l.text)-at || string(folded[:n]) != string(l.text[at:at+n]) {
			break
		}
		i += size
		at += n
	}
	l.comparedBytes += at - first
	return i, at == len(l.text)
}

// matchBackward matches the part of the literal before its anchor against the text
// before i.
func (l *literal) matchBackward(text []byte, i int) (start int, ok bool) {
	var folded [utf8.UTFMax]byte
	at := l.anchor
	for at > 0 && i > 0 {
		_, size := utf8.DecodeLastRune(text[:i])
		_, n := foldAt(&folded, text[i-size:])
		if n > at || string(folded[:n]) != string(l.text[at-n:at]) {
			break
		}
		i -= size
		at -= n
	}
	l.comparedBytes += l.anchor - at
	return i, at == 0
}

// foldAt folds the first rune of text. It returns the size of the rune and of its fold.
func foldAt(dst *[utf8.UTFMax]byte, text []byte) (size, n int) {
	if text[0] < utf8.RuneSelf {
		dst[0] = postings.FoldByte(text[0])
		return 1, 1
	}
	r, size := utf8.DecodeRune(text)
	if r == utf8.RuneError && size == 1 {
		dst[0] = text[0]
		return 1, 1
	}
	return size, utf8.EncodeRune(dst[:], postings.FoldRune(r))
}

// nextForeign tries every rune outside ASCII.
func (l *literal) nextForeign(text []byte, from int) (start, end int) {
	for i := postings.IndexForeign(text, from); i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if (r != utf8.RuneError || size > 1) && postings.FoldRune(r) == l.foreign {
			if start, end, ok := l.matchAround(text, i); ok && start >= from {
				return start, end
			}
			if l.needsAutomaton(text) {
				return l.automaton.next(text, from)
			}
		}
		i = postings.IndexForeign(text, i+size)
	}
	return -1, -1
}

// nextByRune tries every rune, because the literal has no byte with a single spelling. It
// runs only on texts that the index selects.
func (l *literal) nextByRune(text []byte, from int) (start, end int) {
	for i := from; i < len(text); {
		if end, ok := l.matchForward(text, i, 0); ok {
			return i, end
		}
		if l.needsAutomaton(text) {
			return l.automaton.next(text, from)
		}
		_, size := utf8.DecodeRune(text[i:])
		i += size
	}
	return -1, -1
}

func isASCII(b []byte) bool { return postings.IndexForeign(b, 0) == len(b) }

// mayCross reports whether the text ends, or may end, with the beginning of the literal.
func (l *literal) mayCross(text []byte) bool {
	tail := text[max(0, len(text)-len(l.text)+1):]
	if l.fold && (!l.plain || !isASCII(text[max(0, len(text)-utf8.UTFMax*len(l.text)):])) {
		return true
	}
	for i := range tail {
		if l.isPrefix(tail[i:]) {
			return true
		}
	}
	return false
}

// isPrefix reports whether an ASCII text shorter than the literal is a prefix of it.
func (l *literal) isPrefix(text []byte) bool {
	for i, c := range text {
		if l.fold {
			c = postings.FoldByte(c)
		}
		if c != l.text[i] {
			return false
		}
	}
	return true
}
