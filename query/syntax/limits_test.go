package syntax

import (
	"errors"
	"strings"
	"testing"
)

// TestLimits checks every bound of limits.go: a text just within it is parsed, and one
// beyond it is refused with a reason.
func TestLimits(t *testing.T) {
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("a ", n)) }
	nested := func(n int) string { return strings.Repeat("(", n) + "a b" + strings.Repeat(")", n) }
	rx := Options{Regexp: true}
	for _, test := range []struct {
		name    string
		text    string
		o       Options
		message string // empty if within the bounds
	}{
		{"longest", strings.Repeat("x", MaxQueryBytes), Options{}, ""},
		{"too long", strings.Repeat("x", MaxQueryBytes+1), Options{}, "longer than"},
		{"1 MB", strings.Repeat("foo bar ", 1<<17), Options{}, "longer than"},
		{"most terms", words(MaxTerms), Options{}, ""},
		{"too many terms", words(MaxTerms + 1), Options{}, "more than 1000 terms"},
		{"1000 filters", strings.TrimSpace(strings.Repeat("file:a ", MaxTerms)), Options{}, ""},
		{"too many filters", strings.Repeat("file:a ", MaxTerms+1), Options{}, "more than 1000 terms"},
		{"too many empty groups", strings.Repeat("() ", MaxTerms+1), Options{}, "more than 1000 terms"},
		{"deepest", nested(MaxDepth), Options{}, ""},
		{"too deep", nested(MaxDepth + 1), Options{}, "deeper than"},
		{"too deep, regexp mode", nested(MaxDepth + 1), rx, "deeper than"},
		{"too many open", strings.Repeat("(", MaxDepth+1), Options{}, "deeper than"},
		{"deepest not", strings.Repeat("not ", MaxDepth) + "a", Options{}, ""},
		{"too deep not, read as words", strings.Repeat("not ", MaxDepth+1) + "a", Options{}, ""},
		{"too deep minus", strings.Repeat("-(", MaxDepth+1) + "a b" + strings.Repeat(")", MaxDepth+1), Options{}, "deeper than"},
		{"10,000 alternatives", strings.TrimSuffix(strings.Repeat("abcd|", 10_000), "|"), rx, ""},
		{"largest repeat of the library", "a{1000}", rx, ""},
		{"too large", strings.Repeat("(abcdefghij){1000}", 10), rx, "too large"},
		{"too large together", strings.Repeat("(abcdefghij){1000} ", 10), rx, "too large"},
		{"hostile repeat", strings.Repeat("(a|b|c|d|e|f|g|h){50}", 150), rx, ""}, // alternatives of one letter are a class,
		{"too many classes", `[` + strings.Repeat(`\pL`, MaxUnicodeClasses+1) + `]`, rx, "classes"},
		{"regexp nests", "x" + strings.Repeat("(", 1001) + "a" + strings.Repeat(")", 1001), rx, "nests too deeply"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse(test.text, test.o)
			var e *Error
			switch {
			case test.message == "":
				if err != nil {
					t.Fatal(err)
				}
			case !errors.As(err, &e) || !strings.Contains(e.Message, test.message):
				t.Fatalf("error %v, want %q", err, test.message)
			case len(e.Query) > maxErrorQuery || e.Advice == "":
				t.Fatalf("error repeats %d bytes of the query, advice %q", len(e.Query), e.Advice)
			}
		})
	}
}

// TestHostileTexts bounds the work of parsing texts that are crafted to make the parser
// look ahead in vain.
func TestHostileTexts(t *testing.T) {
	const most = maxScanBytes + 8*MaxQueryBytes // includes lookahead in progress when the budget is spent
	for _, unit := range []string{"(", "[", `[\]`, "((", "( ", "(a ", "[ ", `"`, `" `, `"a" (`, "-(", "-(a ", `\Q`, `\Q(`, "not ", "- ",
		"(a b) ", "[[:", "(?:", `(\`, "file:(", "file:[", `file:"a`, "(file:[", "(\"a ", "x[(", "a(b ", ":", "f:f:", "((a b) ", "or "} {
		text := strings.Repeat(unit, MaxQueryBytes/len(unit))
		for _, o := range []Options{{}, {Regexp: true}} {
			p := &parser{scanner: newScanner(text, o.Regexp), o: o}
			if _, err := p.parse(); p.scannedBytes > most {
				t.Errorf("%q repeated, %+v: looked at %d bytes (%.80v)", unit, o, p.scannedBytes, err)
			}
			e := newEstablishedParser(text, o)
			if e.readTree(); e.scannedBytes > most {
				t.Errorf("%q repeated, %+v: looked at %d bytes as the established server", unit, o, e.scannedBytes)
			}
		}
	}
}
