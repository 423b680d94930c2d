package scan

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/plan"
)

// newRegexp returns a Regexp for a pattern.
func newRegexp(p *plan.Pattern, stop func() bool) *Regexp {
	return NewRegexp(p.Regexp, p.Expression, p.Instructions, stop)
}

// eachMatch calls emit for the non-empty matches that package regexp finds at once.
func eachMatch(re *regexp.Regexp, text []byte, base int, emit func(start, end int) bool) {
	for _, loc := range re.FindAllIndex(text, -1) {
		if loc[0] < loc[1] {
			emit(base+loc[0], base+loc[1])
		}
	}
}

// TestLongRegexpFindsWhatRegexpFinds checks that a long text has the same matches
// whether or not its search can be stopped.
func TestLongRegexpFindsWhatRegexpFinds(t *testing.T) {
	texts := []string{"", "a", "aab\nxay a", "k\u212a\xff\xc3(a\xe4\xbd", strings.Repeat("ab \n\u00e9", 50), "\r\na\r\n\r\n"}
	for _, expression := range []string{`a`, `a*`, `(?m)^a|b$`, `\ba\b`, `\Ba`, `[^b]+`, `a|ab|`, `(a)(b)?`, `\Aa`, `b\z`, `(?s).`, `x*?y?`, `\x{e9}|\xff`} {
		p, err := plan.Regexp(expression, false)
		if err != nil || p.Regexp == nil {
			continue // a choice of literals
		}
		for _, text := range texts {
			var got, want [][2]int
			eachMatch(p.Regexp, []byte(text), 7, func(start, end int) bool { want = append(want, [2]int{start, end}); return true })
			never := func() bool { return false }
			done := newLongRegexp(newRegexp(p, never)).eachMatch([]byte(text), 0, 7, never, func(start, end int) bool { got = append(got, [2]int{start, end}); return true })
			if !done || !slices.Equal(got, want) {
				t.Errorf("%s in %q: got %v, want %v", expression, text, got, want)
			}
		}
	}
}

// TestMatchesAtPrefixes checks that a search which tries only the places of prefixes finds
// the same matches, also if the attempts read more than the text.
func TestMatchesAtPrefixes(t *testing.T) {
	long := strings.Repeat("ab\n", 5000)
	texts := []string{"", "ab", "ab\n\n  cab\nc ab\n", "xab\nab\nc", "\xffab\n\u00e9c", "AB\nC", long, long + "c", "ab\n" + strings.Repeat("\n", 20000) + "ab\nc"}
	for _, expression := range []string{`ab\n\s*c`, `ab\n`, `ab\n+`, `\bab\n[\s\S]*?c`, `^ab\n[ab\n]*c`, `(ab|xa)\n?b?\n+`, `ab\n.`, `ab\n(?:ab\n)*`, `\Aab[\s\n]`} {
		for _, fold := range []bool{false, true} {
			p, err := plan.Regexp(expression, fold)
			if err != nil || p.Exact || p.Prefixes == nil {
				t.Fatalf("%s: exact %v, prefixes %q, error %v", expression, p.Exact, p.Prefixes, err)
			}
			for _, text := range texts {
				var got, want [][2]int
				eachMatch(p.Regexp, []byte(text), 7, func(start, end int) bool { want = append(want, [2]int{start, end}); return true })
				prefixes := NewLiterals(p.Prefixes, p.Fold)
				prefixes.Reset([]byte(text))
				next := func(at int) int { start, _ := prefixes.Next(at); return start }
				done := newRegexp(p, func() bool { return false }).EachAt([]byte(text), 7, next, func(start, end int) bool { got = append(got, [2]int{start, end}); return true })
				if !done || !slices.Equal(got, want) {
					t.Errorf("%s (fold %v) in %.20q, %d bytes: %d matches, want %d", expression, fold, text, len(text), len(got), len(want))
				}
			}
		}
	}
}

// TestAttemptsAreBounded checks that attempts that read far do not take time quadratic in
// the length of the text.
func TestAttemptsAreBounded(t *testing.T) {
	p, err := plan.Regexp(`ab\n[ab\n]*c`, false)
	if err != nil {
		t.Fatal(err)
	}
	text := []byte(strings.Repeat("ab\n", 20000))
	attempts := 0
	r := newRegexp(p, func() bool { return false })
	r.EachAt(text, 0, func(at int) int {
		attempts++
		if i := bytes.Index(text[at:], []byte("ab\n")); i >= 0 {
			return at + i
		}
		return -1
	}, func(int, int) bool { return true })
	if attempts > 4 {
		t.Errorf("%d attempts of up to %d bytes in a text of %d", attempts, len(text), len(text))
	}
}

// TestDearMatchesAreFoundAsByRegexp checks a text whose matches are expensive. It is
// searched in two ways, one after the other, which must agree.
func TestDearMatchesAreFoundAsByRegexp(t *testing.T) {
	for _, expression := range []string{`a.*b|c`, `\bc\b|a.*b`, `c?`, `a.*b|c?`, `(?:a.*b){3}|c+`, `^a|c$`, `\Bc|.\z`} {
		p, err := plan.Regexp(expression, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, unit := range []string{"ac ", "ac\u00e9", "c", "\xffc ca", "xacx "} {
			text := []byte(strings.Repeat(unit, 4000/len(unit)))
			var got, want [][2]int
			eachMatch(p.Regexp, text, 7, func(start, end int) bool { want = append(want, [2]int{start, end}); return true })
			r := newRegexp(p, func() bool { return false })
			done := r.Each(text, 7, func(start, end int) bool { got = append(got, [2]int{start, end}); return true })
			if !done || !slices.Equal(got, want) {
				t.Errorf("%s in %q…: %d matches, want %d", expression, unit, len(got), len(want))
			}
			if r.long == nil && len(want) > 1000 {
				t.Errorf("%s in %q…: was searched at once", expression, unit)
			}
		}
	}
}

// TestLongLineIsLeftWhenTheTimeIsOver checks that a canceled search ends within a line,
// however expensive the line is.
func TestLongLineIsLeftWhenTheTimeIsOver(t *testing.T) {
	p, err := plan.Regexp("(?:x?[a-z]y?){900}[0-9]", true)
	if err != nil {
		t.Fatal(err)
	}
	looks := 0
	r := newRegexp(p, func() bool { looks++; return looks > 2 })
	text := bytes.Repeat([]byte("a"), 1<<20) // minutes of work
	if r.Each(text, 0, func(int, int) bool { return true }) {
		t.Fatal("the search went on")
	}
}
