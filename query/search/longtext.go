package search

import (
	"io"
	"regexp"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/query/plan"
)

// maxSteps bounds the steps, in program instructions times bytes, that package regexp may
// take without a check for cancellation: about 30 ms. Finding one match may take the
// instructions of the program times the remaining bytes of the text; finding all matches
// may take that for each match.
const maxSteps = 1 << 22

// pollSteps is the number of steps between two calls of stop: about a millisecond.
const pollSteps = 1 << 17

// eachMatch calls emit for the non-empty matches of the regular expression in a text,
// until emit returns false or m.stop returns true.
func (m *matcher) eachMatch(text []byte, base int, emit func(start, end int) bool) bool {
	steps := max(len(text)*m.pattern.Instructions, 1)
	at, most := 0, -1 // matches to look for in one call
	switch {
	case steps > maxSteps:
		most = 0
	case steps*len(text) > maxSteps:
		most = maxSteps / steps
	}
	if most != 0 {
		// FindAllIndex sees the text before a match, which \b and ^ need. FindIndex on
		// the rest of the text does not.
		locs := m.pattern.Regexp.FindAllIndex(text, most)
		for _, loc := range locs {
			if loc[0] < loc[1] && !emit(base+loc[0], base+loc[1]) {
				return false
			}
		}
		if len(locs) != most {
			return true
		}
		at = afterMatch(text, locs[most-1])
	}
	if m.long == nil {
		m.long = newLongMatcher(m.pattern)
	}
	return m.long.eachMatch(text, at, base, m.stop, emit)
}

// eachMatch calls emit for the non-empty matches of an expression in a short text.
func eachMatch(re *regexp.Regexp, text []byte, base int, emit func(start, end int) bool) bool {
	for _, loc := range re.FindAllIndex(text, -1) {
		if loc[0] < loc[1] && !emit(base+loc[0], base+loc[1]) {
			return false
		}
	}
	return true
}

// afterMatch returns the offset at which the next match may start.
func afterMatch(text []byte, loc []int) int {
	if loc[0] < loc[1] {
		return loc[1]
	}
	_, size := utf8.DecodeRune(text[loc[0]:])
	return loc[0] + max(size, 1)
}

// A longMatcher finds the matches of a regular expression in a long text and can be
// stopped at any time. It holds one match at a time, and takes up to twice as long as
// FindAllIndex.
type longMatcher struct {
	first *regexp.Regexp
	// next also matches the rune before the match, because ^ and \b depend on it.
	next *regexp.Regexp
	poll int // runes to read between two calls of stop
}

func newLongMatcher(p *plan.Pattern) *longMatcher {
	next := regexp.MustCompile(`(?s:.)(` + p.Expression + `)`)
	return &longMatcher{first: p.Regexp, next: next, poll: max(pollSteps/max(p.Instructions, 1), 1)}
}

// eachMatch calls emit for the non-empty matches from at on, until emit returns false or
// stop returns true.
func (l *longMatcher) eachMatch(text []byte, at, base int, stop func() bool, emit func(start, end int) bool) bool {
	for at < len(text) {
		start, end := l.findFrom(text, at, stop)
		if start < 0 || stop() {
			return !stop()
		}
		if start < end && !emit(base+start, base+end) {
			return false
		}
		at = afterMatch(text, []int{start, end})
	}
	return true
}

// findFrom returns the first match that starts at or after at, or -1. The result is
// invalid once stop returns true.
func (l *longMatcher) findFrom(text []byte, at int, stop func() bool) (start, end int) {
	if at == 0 {
		if loc := l.first.FindReaderIndex(&runeReader{text: text, poll: l.poll, stop: stop}); loc != nil {
			return loc[0], loc[1]
		}
		return -1, -1
	}
	_, size := utf8.DecodeLastRune(text[:at])
	base := at - size
	if loc := l.next.FindReaderSubmatchIndex(&runeReader{text: text[base:], poll: l.poll, stop: stop}); loc != nil {
		return base + loc[2], base + loc[3]
	}
	return -1, -1
}

// A runeReader reads a text until it ends or stop returns true.
type runeReader struct {
	text []byte
	at   int
	read int
	poll int
	stop func() bool
}

// ReadRune implements io.RuneReader.
func (r *runeReader) ReadRune() (rune, int, error) {
	if r.read++; r.at >= len(r.text) || r.read%r.poll == 0 && r.stop() {
		return 0, 0, io.EOF
	}
	c, size := utf8.DecodeRune(r.text[r.at:])
	r.at += size
	return c, size, nil
}
