package scan

import (
	"io"
	"regexp"
	"unicode/utf8"
)

// maxSteps bounds the steps, in program instructions times bytes, that package regexp may
// take without a check for cancellation: about 30 ms. Finding one match may take the
// instructions of the program times the remaining bytes of the text; finding all matches
// may take that for each match.
const maxSteps = 1 << 22

// pollSteps is the number of steps between two calls of stop: about a millisecond.
const pollSteps = 1 << 17

// A Regexp finds the matches of a regular expression in a text of any length, and can be
// stopped in the middle. It belongs to one goroutine.
type Regexp struct {
	re           *regexp.Regexp
	expression   string
	instructions int
	stop         func() bool
	long         *longRegexp     // created when a text needs it
	anchored     *anchoredRegexp // created by EachAt
}

// NewRegexp returns a Regexp for a compiled expression and the number of instructions of
// its program. Each does not call stop in its first maxSteps steps; after that it calls it
// about every millisecond, and ends when it returns true.
func NewRegexp(re *regexp.Regexp, expression string, instructions int, stop func() bool) *Regexp {
	return &Regexp{re: re, expression: expression, instructions: max(instructions, 1), stop: stop}
}

// Each calls emit for the non-empty matches in a text, with offsets to which base is
// added, until emit returns false or stop returns true. It reports whether it reached the
// end.
func (r *Regexp) Each(text []byte, base int, emit func(start, end int) bool) bool {
	steps := max(len(text)*r.instructions, 1)
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
		locs := r.re.FindAllIndex(text, most)
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
	return r.eachFrom(text, at, base, emit)
}

// eachFrom calls emit for the non-empty matches from at on, one at a time.
func (r *Regexp) eachFrom(text []byte, at, base int, emit func(start, end int) bool) bool {
	if r.long == nil {
		r.long = newLongRegexp(r)
	}
	return r.long.eachMatch(text, at, base, r.stop, emit)
}

// EachAt is Each for an expression whose matches begin only at certain offsets: next
// returns the first of them at or after at, or -1. It reads the text only from there on,
// unless the attempts to match read more than the text has.
func (r *Regexp) EachAt(text []byte, base int, next func(at int) int, emit func(start, end int) bool) bool {
	if r.anchored == nil {
		r.anchored = newAnchoredRegexp(r)
	}
	at, left := next(0), len(text)+minAttempts
	for at >= 0 && left > 0 {
		end, read := r.anchored.matchAt(text, at, r.stop)
		left -= read
		switch {
		case r.stop():
			return false
		case end < 0:
			at++
		case !emit(base+at, base+end):
			return false
		default:
			at = end
		}
		at = next(at)
	}
	if at < 0 {
		return true
	}
	return r.eachFrom(text, at, base, emit)
}

// minAttempts is the number of runes that EachAt reads in addition to those of the text
// before it searches the text as a whole.
const minAttempts = 4 << 10

// An anchoredRegexp matches an expression at one offset of a text.
type anchoredRegexp struct {
	first *regexp.Regexp // at the beginning of the text
	next  *regexp.Regexp // after a rune, because ^ and \b depend on it
	poll  int            // runes to read between two calls of stop
}

func newAnchoredRegexp(r *Regexp) *anchoredRegexp {
	return &anchoredRegexp{
		first: regexp.MustCompile(`\A(?:` + r.expression + `)`),
		next:  regexp.MustCompile(`\A(?s:.)(?:` + r.expression + `)`),
		poll:  max(pollSteps/r.instructions, 1),
	}
}

// matchAt returns the end of the match that starts at at, or -1, and the number of runes
// read. The result is invalid once stop returns true.
func (a *anchoredRegexp) matchAt(text []byte, at int, stop func() bool) (end, read int) {
	re, from := a.first, 0
	if at > 0 {
		_, size := utf8.DecodeLastRune(text[:at])
		re, from = a.next, at-size
	}
	in := runeReader{text: text[from:], poll: a.poll, stop: stop}
	loc := re.FindReaderIndex(&in)
	if loc == nil {
		return -1, in.read
	}
	return from + loc[1], in.read
}

// afterMatch returns the offset at which the next match may start.
func afterMatch(text []byte, loc []int) int {
	if loc[0] < loc[1] {
		return loc[1]
	}
	_, size := utf8.DecodeRune(text[loc[0]:])
	return loc[0] + max(size, 1)
}

// A longRegexp finds the matches of a regular expression in a long text and can be
// stopped at any time. It holds one match at a time, and takes up to twice as long as
// FindAllIndex.
type longRegexp struct {
	first *regexp.Regexp
	// next also matches the rune before the match, because ^ and \b depend on it.
	next *regexp.Regexp
	poll int // runes to read between two calls of stop
}

func newLongRegexp(r *Regexp) *longRegexp {
	next := regexp.MustCompile(`(?s:.)(` + r.expression + `)`)
	return &longRegexp{first: r.re, next: next, poll: max(pollSteps/r.instructions, 1)}
}

// eachMatch calls emit for the non-empty matches from at on, until emit returns false or
// stop returns true.
func (l *longRegexp) eachMatch(text []byte, at, base int, stop func() bool, emit func(start, end int) bool) bool {
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
func (l *longRegexp) findFrom(text []byte, at int, stop func() bool) (start, end int) {
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
