package search

import (
	"io"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/query/plan"
)

// longText is the size from which on a text may take package regexp too long to
// be left alone with it, and maxSteps the instructions by bytes that it may: about
// half a second. Only a line or a document of its own is as long as that.
const (
	longText = 4 << 10
	maxSteps = 1 << 24
)

// pollRunes is how many runes are read between two looks at stop.
const pollRunes = 256

// A longMatcher finds the matches of a regular expression in a long text so that
// it can be stopped within. It is slower than FindAllIndex, and holds one match at
// a time.
type longMatcher struct {
	first *regexp.Regexp
	// next matches the rune before the match, too: ^ and \b look at it.
	next *regexp.Regexp
	size int // instructions of the program
}

func newLongMatcher(p *plan.Pattern) *longMatcher {
	next := regexp.MustCompile(`(?s:.)(` + p.Expression + `)`)
	size := maxSteps
	if tree, err := syntax.Parse(p.Expression, syntax.Perl); err == nil {
		if program, err := syntax.Compile(tree.Simplify()); err == nil {
			size = len(program.Inst)
		}
	}
	return &longMatcher{first: p.Regexp, next: next, size: size}
}

// takesLong reports whether a text needs each.
func (l *longMatcher) takesLong(text []byte) bool { return len(text)*l.size > maxSteps }

// each emits the matches that are not empty until emit returns false or stop
// returns true.
func (l *longMatcher) each(text []byte, base int, stop func() bool, emit func(start, end int) bool) bool {
	for at := 0; at < len(text); {
		start, end := l.find(text, at, stop)
		if start < 0 || stop() {
			return !stop()
		}
		if start == end {
			_, size := utf8.DecodeRune(text[start:])
			at = start + max(size, 1)
			continue
		}
		if !emit(base+start, base+end) {
			return false
		}
		at = end
	}
	return true
}

// find returns the first match that starts at or after at, or -1. It is not to be
// believed once stop returns true.
func (l *longMatcher) find(text []byte, at int, stop func() bool) (start, end int) {
	if at == 0 {
		if loc := l.first.FindReaderIndex(&runeReader{text: text, stop: stop}); loc != nil {
			return loc[0], loc[1]
		}
		return -1, -1
	}
	_, size := utf8.DecodeLastRune(text[:at])
	base := at - size
	if loc := l.next.FindReaderSubmatchIndex(&runeReader{text: text[base:], stop: stop}); loc != nil {
		return base + loc[2], base + loc[3]
	}
	return -1, -1
}

// A runeReader reads a text until it ends or stop returns true.
type runeReader struct {
	text []byte
	at   int
	read int
	stop func() bool
}

// ReadRune implements io.RuneReader.
func (r *runeReader) ReadRune() (rune, int, error) {
	if r.read++; r.at >= len(r.text) || r.read%pollRunes == 0 && r.stop() {
		return 0, 0, io.EOF
	}
	c, size := utf8.DecodeRune(r.text[r.at:])
	r.at += size
	return c, size, nil
}
