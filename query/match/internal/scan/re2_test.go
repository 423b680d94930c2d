package scan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasilibs/go-re2"

	"github.com/quarrysearch/quarry/query/plan"
)

// TestPiecesHaveTheMatchesOfTheWhole checks that matches do not depend on the pieces.
func TestPiecesHaveTheMatchesOfTheWhole(t *testing.T) {
	text := []byte(strings.Repeat("one two\n\n\nthree\r\n four five six\nx\n", 40) + "last")
	for _, expression := range []string{`(?m)^\w+`, `(?m)\w$`, `\b.`, `[^a]+`, `x?`} {
		p, err := plan.Regexp(expression, false)
		if err != nil {
			t.Fatal(err)
		}
		var want [][2]int
		collect := func(into *[][2]int) func(start, end int) bool {
			return func(start, end int) bool { *into = append(*into, [2]int{start, end}); return true }
		}
		eachMatch(p.Regexp, text, 7, collect(&want))
		for _, bytes := range []int{1, 9, 100, 1 << 20} {
			var got [][2]int
			r := NewRE2(re2.MustCompile(p.Expression), func() bool { return false })
			r.sizer.bytes = bytes
			if !r.Each(text, 7, collect(&got)) || !slices.Equal(got, want) {
				t.Errorf("%s in pieces of %d: %d matches, want %d", expression, bytes, len(got), len(want))
			}
		}
	}
}

func TestPieceAdapts(t *testing.T) {
	p := pieceSizer{firstPieceBytes}
	for range 10 {
		p.adaptSize(quickPieceTime / 2)
	}
	if p.bytes != maxPieceBytes {
		t.Errorf("a quick expression gets %d bytes", p.bytes)
	}
	for range 10 {
		p.adaptSize(100 * time.Millisecond)
	}
	if p.bytes != minPieceBytes {
		t.Errorf("a slow one gets %d, want %d", p.bytes, minPieceBytes)
	}
}

// TestLargeProgramsAreNotForRE2 checks that package regexp runs expressions that take RE2
// long to compile.
func TestLargeProgramsAreNotForRE2(t *testing.T) {
	var alternatives []string
	for i := range 5000 {
		alternatives = append(alternatives, fmt.Sprint(i, ".x"))
	}
	for expression, want := range map[string]bool{
		`[a-z]+x`:                       true,
		`(.{0,30}){30}`:                 true,
		strings.Repeat(`\pL`, 40):       false,
		strings.Join(alternatives, "|"): false,
		`[^x]{900}[^y]{900}[^z]{900}`:   false,
	} {
		p, err := plan.Regexp(expression, false)
		if err != nil {
			t.Fatal(err)
		}
		if suitsRE2(p.Expression) != want {
			t.Errorf("%.30s: %v", expression, !want)
		}
	}
}
