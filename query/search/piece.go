package search

import (
	"bytes"
	"regexp/syntax"
	"time"

	"github.com/quarrysearch/quarry/query/plan"
)

// The Go runtime cannot preempt RE2: while RE2 compiles or searches, it keeps its
// processor, and a garbage collection waits, which stops all goroutines. So large programs are left to package regexp, and text is searched in
// pieces: for most expressions 64 KiB take some 200 µs, but for one such as
// [a-f].{300}x a quarter of a second.
const (
	// maxExpressionBytes and maxProgram bound what RE2 compiles: some 30 ms.
	maxExpressionBytes = 16 << 10
	maxProgram         = 10_000 // instructions and ranges of runes
	// A piece grows while it takes less than quickPieceTime, and shrinks, down to a
	// line, when it takes more than slowPieceTime.
	firstPieceBytes = 4 << 10
	minPieceBytes   = 512
	maxPieceBytes   = 64 << 10
	quickPieceTime  = 300 * time.Microsecond
	slowPieceTime   = time.Millisecond
)

// suitsRE2 reports whether RE2 compiles an expression soon.
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

// pieceSizer is how much text is searched at once. It adapts itself.
type pieceSizer struct{ bytes int }

// pieceEnd returns where the piece of text ends that begins at at: where a line does.
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

// adaptSize learns how long a piece took.
func (p *pieceSizer) adaptSize(d time.Duration) {
	switch {
	case d < quickPieceTime:
		p.bytes = min(p.bytes*2, maxPieceBytes)
	case d > slowPieceTime:
		p.bytes = max(p.bytes/2, minPieceBytes)
	}
}

// eachPiece emits the matches of RE2 in whole lines until emit returns false.
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
		at = end + 1 // the line feed is no match: no pattern here has one
	}
	return true
}
