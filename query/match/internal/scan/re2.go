package scan

import (
	"bytes"
	"regexp/syntax"
	"time"

	"github.com/wasilibs/go-re2"
)

// The Go runtime cannot preempt RE2: while RE2 compiles or searches, it keeps its
// processor, and a garbage collection waits, which stops all goroutines. So package
// regexp runs large programs, and RE2 searches text in pieces: for most expressions 64
// KiB take some 200 µs, but for one such as [a-f].{300}x a quarter of a second.
const (
	// maxExpressionBytes and maxProgram bound the expressions that RE2 compiles: about 30
	// ms.
	maxExpressionBytes = 16 << 10
	maxProgram         = 10_000 // instructions and ranges of runes
	// A piece grows if it takes less than quickPieceTime, and shrinks, down to a line, if
	// it takes more than slowPieceTime.
	firstPieceBytes = 4 << 10
	minPieceBytes   = 512
	maxPieceBytes   = 64 << 10
	quickPieceTime  = 300 * time.Microsecond
	slowPieceTime   = time.Millisecond
)

// CompileRE2 compiles an expression with RE2. It returns nil if RE2 rejects the expression
// or if it is too large.
func CompileRE2(expression string) *re2.Regexp {
	if !suitsRE2(expression) {
		return nil
	}
	compiled, err := re2.Compile(expression)
	if err != nil {
		return nil
	}
	return compiled
}

// suitsRE2 reports whether an expression is small enough for RE2 to compile.
func suitsRE2(expression string) bool {
	if len(expression) > maxExpressionBytes {
		return false
	}
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return false
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return false
	}
	size := len(program.Inst)
	for i := range program.Inst {
		size += len(program.Inst[i].Rune)
	}
	return size <= maxProgram
}

// pieceSizer determines the size of the next piece, and adapts it to the time taken.
type pieceSizer struct{ bytes int }

// pieceEnd returns the end, at a line end, of the piece of text that begins at at.
func (p *pieceSizer) pieceEnd(text []byte, at int) int {
	if p.bytes == 0 {
		p.bytes = firstPieceBytes
	}
	if len(text)-at <= p.bytes {
		return len(text)
	}
	if i := bytes.LastIndexByte(text[at:at+p.bytes], '\n'); i > 0 {
		return at + i
	}
	if i := bytes.IndexByte(text[at+p.bytes:], '\n'); i >= 0 {
		return at + p.bytes + i
	}
	return len(text)
}

// adaptSize adapts the size to the duration of the last piece.
func (p *pieceSizer) adaptSize(d time.Duration) {
	switch {
	case d < quickPieceTime:
		p.bytes = min(p.bytes*2, maxPieceBytes)
	case d > slowPieceTime:
		p.bytes = max(p.bytes/2, minPieceBytes)
	}
}

// An RE2 finds the matches of an expression in whole lines, one piece of text after the
// other. It belongs to one goroutine; its compiled expression may be shared.
type RE2 struct {
	re    *re2.Regexp
	stop  func() bool
	sizer pieceSizer
}

// NewRE2 returns an RE2 that calls stop after each piece, and ends when it returns true.
func NewRE2(re *re2.Regexp, stop func() bool) *RE2 { return &RE2{re: re, stop: stop} }

// Each calls emit for the non-empty matches in whole lines, with offsets to which base is
// added, until emit returns false or stop returns true. It returns false if either ended it,
// even after the last piece.
func (r *RE2) Each(text []byte, base int, emit func(start, end int) bool) bool {
	for at := 0; at < len(text); {
		end, started := r.sizer.pieceEnd(text, at), time.Now()
		for _, loc := range r.re.FindAllIndex(text[at:end], -1) {
			if loc[0] < loc[1] && !emit(base+at+loc[0], base+at+loc[1]) {
				return false
			}
		}
		r.sizer.adaptSize(time.Since(started))
		if r.stop() {
			return false
		}
		at = end + 1 // the line feed is no match: no pattern that gets here contains one
	}
	return true
}
