package search

import (
	"bytes"
	"regexp/syntax"
	"time"

	"github.com/quarrysearch/quarry/query/plan"
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

// suitsRE2 reports whether an expression is small enough for RE2 to compile.
func suitsRE2(p *plan.Pattern) bool {
	if len(p.Expression) > maxExpressionBytes {
		return false
	}
	tree, err := syntax.Parse(p.Expression, syntax.Perl)
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
	return lineEnd(text, at+p.bytes)
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

// eachPiece calls emit for the matches of RE2 in whole lines until emit returns false.
func (m *matcher) eachPiece(text []byte, base int, emit func(start, end int) bool) bool {
	for at := 0; at < len(text); {
		end, started := m.pieceSizer.pieceEnd(text, at), time.Now()
		for _, loc := range m.re2.FindAllIndex(text[at:end], -1) {
			if loc[0] < loc[1] && !emit(base+at+loc[0], base+at+loc[1]) {
				return false
			}
		}
		m.pieceSizer.adaptSize(time.Since(started))
		if m.stop() {
			return false
		}
		at = end + 1 // the line feed is no match: no pattern that gets here contains one
	}
	return true
}
