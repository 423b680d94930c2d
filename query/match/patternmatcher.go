package match

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/internal/identifier"
	"github.com/quarrysearch/quarry/query/match/internal/scan"
	"github.com/quarrysearch/quarry/query/plan"
)

// runBlocks bounds the successive blocks that are searched in one run: 64 KiB.
const runBlocks = 16

// longLine is the minimum length in bytes of a line that is searched separately, so that
// the search can be stopped inside it.
const longLine = 2 << 10

// maxFoldGrowth bounds the ratio of the length of an occurrence to that of its folded
// literal: the Kelvin sign has three bytes for one.
const maxFoldGrowth = 3

// A patternMatcher finds the matches of one pattern in the text of one segment at a time. It
// belongs to one goroutine.
type patternMatcher struct {
	pattern      *plan.Pattern
	literals     *scan.Literals
	literalTexts []string       // source of literals
	reach        int            // length of the longest occurrence of a literal
	prefixes     *scan.Literals // of a pattern that may span lines; nil if it has none
	regexp       *scan.Regexp
	re2          *scan.RE2 // nil if regexp searches
	work         *Work
	text         *segment.Text
	onePerLine   bool // one match per line is enough, because a symbol either matches or not
	// continues means that the current run begins at the beginning of a line: at the
	// start of the document, or where the previous run ended.
	continues bool
	// withoutCR and returns hold a document without its carriage returns, for eachWhole.
	withoutCR       []byte
	carriageReturns carriageReturns
	// stop is called between two runs and reports whether the search should stop.
	stop func() bool
}

// newPatternMatcher returns a matcher for an atom. It calls stop between two runs, and ends when
// stop returns true.
func newPatternMatcher(a *Atom, work *Work, stop func() bool) *patternMatcher {
	m := &patternMatcher{pattern: a.pattern, work: work, onePerLine: a.Symbols, stop: stop}
	if p := a.pattern; p != nil && p.Regexp != nil {
		m.regexp = scan.NewRegexp(p.Regexp, p.Expression, p.Instructions, stop)
	}
	if p := a.pattern; p != nil && p.Prefixes != nil {
		m.prefixes = scan.NewLiterals(p.Prefixes, p.Fold)
	}
	if a.re2 != nil {
		m.re2 = scan.NewRE2(a.re2, stop)
	}
	return m
}

// prepareSegment prepares the matcher for a segment; f holds the literals that occur in
// it.
func (m *patternMatcher) prepareSegment(text *segment.Text, f *atomCandidates) {
	m.text = text
	if len(f.literals) > 0 && !slices.Equal(f.literals, m.literalTexts) {
		m.literalTexts = f.literals
		m.literals = scan.NewLiterals(f.literals, m.pattern.Fold)
		m.reach = 0
		for _, s := range f.literals {
			m.reach = max(m.reach, len(s))
		}
		if m.pattern.Fold {
			m.reach *= maxFoldGrowth
		}
	}
}

// eachInRange calls emit for every match in the text between lo and hi, which are offsets
// in the text space, in order, until emit returns false. It reads only the blocks of f.
// Matches do not overlap and are not empty.
func (m *patternMatcher) eachInRange(lo, hi int, f *atomCandidates, emit func(start, end int) bool) error {
	if m.pattern.Multiline && !m.pattern.Exact && !m.onePerLine {
		return m.eachWhole(lo, hi, emit)
	}
	next := lo
	for block := f.next(lo / postings.BlockBytes); block >= 0 && block*postings.BlockBytes < hi && !m.stop(); {
		last := block
		for (last+1)%runBlocks != 0 && f.next(last+1) == last+1 {
			last++
		}
		from, to := max(block*postings.BlockBytes, next), min((last+1)*postings.BlockBytes, hi)
		if from < to {
			m.continues = from == next
			end, more, err := m.runPattern(lo, hi, from, to, emit)
			if err != nil || !more {
				return err
			}
			next = max(next, end)
		}
		block = f.next(last + 1)
	}
	return nil
}

// next returns the first candidate block at or after block, or -1.
func (f *atomCandidates) next(block int) int {
	if f.all {
		return block
	}
	return f.blocks.Next(block)
}

// runPattern finds the matches that start between from and to. It returns the offset at
// which the next match may start, and whether emit wants more.
func (m *patternMatcher) runPattern(lo, hi, from, to int, emit func(start, end int) bool) (int, bool, error) {
	if m.pattern.Exact {
		return m.runExact(hi, from, to, emit)
	}
	if m.pattern.IsWord() && m.literals != nil && m.re2 == nil && !m.onePerLine {
		return m.runWord(lo, hi, from, to, emit)
	}
	return m.runLines(lo, hi, from, to, emit)
}

// runWord is runExact for a literal between word boundaries.
func (m *patternMatcher) runWord(lo, hi, from, to int, emit func(start, end int) bool) (int, bool, error) {
	base := max(from-1, lo)
	text, err := m.text.Bytes(base, min(hi, to+m.reach))
	m.work.ScannedBytes += int64(len(text))
	if err != nil {
		return 0, false, err
	}
	m.literals.Reset(text)
	for at := from - base; ; {
		start, end := m.literals.Next(at)
		switch {
		case start < 0 || base+start >= to:
			return base + at, true, nil
		case !m.hasWordBounds(text, base, lo, hi, base+start, base+end):
			at = start + 1
			continue
		case !emit(base+start, base+end):
			return base + end, false, nil
		}
		at = end
	}
}

// hasWordBounds is hasLineBounds for word boundaries, which are those of \b.
func (m *patternMatcher) hasWordBounds(text []byte, base, lo, hi, start, end int) bool {
	isWord := func(at int) bool { return at >= lo && at < hi && isWordCharacter(text[at-base]) }
	return (!m.pattern.WordStart || isWord(start-1) != isWord(start)) && (!m.pattern.WordEnd || isWord(end-1) != isWord(end))
}

// isWordCharacter reports whether a byte is in \w.
func isWordCharacter(c byte) bool { return c < utf8.RuneSelf && identifier.IsWordByte(c) }

func (m *patternMatcher) runExact(hi, from, to int, emit func(start, end int) bool) (int, bool, error) {
	text, err := m.text.Bytes(from, min(hi, to+m.reach-1))
	m.work.ScannedBytes += int64(len(text))
	if err != nil {
		return 0, false, err
	}
	m.literals.Reset(text)
	at := 0
	for {
		start, end := m.literals.Next(at)
		if start < 0 || from+start >= to {
			return from + at, true, nil
		}
		if !emit(from+start, from+end) {
			return from + end, false, nil
		}
		if at = end; m.onePerLine {
			at = lineEnd(text, end)
		}
	}
}

// hasLineBounds reports whether an occurrence of the literal meets the line bounds of the
// pattern. The document spans lo to hi. base is the offset of text, which includes the
// text around the occurrence.
func (m *patternMatcher) hasLineBounds(text []byte, base, lo, hi, start, end int) bool {
	if m.pattern.LineStart && start > lo && text[start-base-1] != '\n' {
		return false
	}
	if !m.pattern.LineEnd || end == hi {
		return true
	}
	rest := text[end-base : min(hi-base, len(text))]
	if rest[0] == '\r' { // not part of the line, because the literal does not contain it
		return len(rest) == 1 || rest[1] == '\n'
	}
	return rest[0] == '\n'
}

// lineEnd returns the offset of the first line feed at or after at.
func lineEnd(text []byte, at int) int {
	if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(text)
}

// runLines runs the regular expression on the lines that it may match.
func (m *patternMatcher) runLines(lo, hi, from, to int, emit func(start, end int) bool) (int, bool, error) {
	text, base, err := m.wholeLines(lo, hi, from, to)
	if err != nil {
		return 0, false, err
	}
	if m.re2 != nil || m.literals == nil && m.pattern.Run.Bytes == 0 {
		return m.runRegion(text, base, emit)
	}
	if m.literals != nil {
		m.literals.Reset(text)
	}
	for at := from - base; at < len(text); {
		hit := m.nextHint(text, at)
		if hit < 0 {
			break
		}
		start := bytes.LastIndexByte(text[:hit], '\n') + 1
		end := lineEnd(text, hit)
		if !m.eachInLine(text[start:end], base+start, emit) {
			return base + end, false, nil
		}
		at = end + 1
	}
	return base + len(text), true, nil
}

// nextHint returns the next offset whose line may match, or -1.
func (m *patternMatcher) nextHint(text []byte, at int) int {
	if m.literals == nil {
		return postings.NextRun(text, at, m.pattern.Run.Bytes, &m.pattern.Run.Class)
	}
	start, _ := m.literals.Next(at)
	return start
}

// eachInLine calls emit for the matches of the regular expression in one line.
func (m *patternMatcher) eachInLine(line []byte, base int, emit func(start, end int) bool) bool {
	m.work.RegexpsConsidered++
	if n := len(line); !m.pattern.KeepCR && n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	if !m.onePerLine {
		return m.regexp.Each(line, base, emit)
	}
	// Even an empty match means that the line matches.
	loc := m.pattern.Regexp.FindIndex(line)
	return loc == nil || emit(base+loc[0], base+max(loc[1], loc[0]+1))
}

// LineMargin is the initial distance around a run within which a line end is searched.
const LineMargin = 256

// wholeLines returns the text from lo ≤ base ≤ from to past to. The text begins and ends
// at line ends or at the bounds of the document.
func (m *patternMatcher) wholeLines(lo, hi, from, to int) (text []byte, base int, err error) {
	base, end := lo, hi
	if m.continues {
		base = from
	}
	for margin := LineMargin; !m.continues && from-margin > lo; margin *= 8 {
		b, err := m.text.Bytes(from-margin, from)
		if err != nil {
			return nil, 0, err
		}
		if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
			base = from - margin + i + 1
			break
		}
	}
	for margin := LineMargin; to-1+margin < hi; margin *= 8 {
		b, err := m.text.Bytes(to-1, to-1+margin)
		if err != nil {
			return nil, 0, err
		}
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			end = to + i
			break
		}
	}
	text, err = m.text.Bytes(base, end)
	m.work.ScannedBytes += int64(len(text))
	return text, base, err
}

// runRegion runs the regular expression on a region of whole lines in one call, because
// there is no hint to skip to. Every block is a candidate then, so the region begins
// where the previous one ended.
func (m *patternMatcher) runRegion(text []byte, base int, emit func(start, end int) bool) (int, bool, error) {
	end := base + len(text)
	m.work.RegexpsConsidered++
	if m.re2 == nil || m.onePerLine || m.pattern.TextAnchors || bytes.IndexByte(text, '\r') >= 0 && !m.pattern.KeepCR || hasLongLine(text) || !utf8.Valid(text) {
		return m.eachLine(text, base, emit)
	}
	return end, m.re2.Each(text, base, emit), nil
}

// hasLongLine reports whether a text has a line of at least longLine bytes.
func hasLongLine(text []byte) bool {
	for at := 0; len(text)-at >= longLine; {
		last := bytes.LastIndexByte(text[at:at+longLine], '\n')
		if last < 0 {
			return true
		}
		at += last + 1
	}
	return false
}

func (m *patternMatcher) eachLine(text []byte, base int, emit func(start, end int) bool) (int, bool, error) {
	for at, lines := 0, 1; at < len(text); lines++ {
		end := lineEnd(text, at)
		if !m.eachInLine(text[at:end], base+at, emit) || lines%stopLines == 0 && m.stop() {
			return base + end, false, nil
		}
		at = end + 1
	}
	return base + len(text), true, nil
}

// stopLines is the number of lines between two calls of stop: package regexp may take
// some 100 µs for a line.
const stopLines = 8
