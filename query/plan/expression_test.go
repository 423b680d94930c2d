package plan

import (
	"reflect"
	"regexp"
	"regexp/syntax"
	"testing"
)

var expressions = []string{
	``, `foo`, `(?i)foo|Bar`, `[^"]*foo`, `func \w+\([^)]*\)`, `a|b|`, `(a|bc)d`, `(?P<name>x+?)y*?z??`, `a{2,}b{3}c{1,4}?`, `^a$|\Ab\z`, `(?m)^a$`,
	`(?s).*.`, `.*(?s:.)`, `\bw\B`, `[a-zA-Z_]`, `(?i)[k-s]x`, `(?i:k)K`, `[^\x00-\x{10FFFF}]`, `(?:)`, `(?:a*)+`, `\x{1F600}+`, `\pL[^\pN]`, `x(?:|y)`,
	"a\nb", `\Q[(\E`, `$`, `(?:^)*`, `(?U)a+b+?`, `(?i)straße`, `[\]\-^]`, `\x{D800}`, `(?i)\x{DFFF}x`, `\x{FFFD}`,
}

// TestFormatExpression checks that formatExpression compiles to the same program as
// syntax.Regexp.String.
func TestFormatExpression(t *testing.T) {
	for _, e := range expressions {
		checkFormat(t, e)
	}
}

func checkFormat(t *testing.T, expression string) {
	t.Helper()
	for _, flags := range []syntax.Flags{syntax.Perl, syntax.Perl &^ syntax.OneLine, syntax.Perl | syntax.FoldCase} {
		tree, err := syntax.Parse(expression, flags)
		if err != nil {
			continue
		}
		text := formatExpression(tree)
		if got, want := program(t, text), program(t, tree.String()); got != want {
			t.Errorf("%q with flags %b is formatted as %q, with another program:\n%s\nwant:\n%s", expression, flags, text, got, want)
		}
	}
}

// program returns the instructions of a compiled expression.
func program(t *testing.T, expression string) string {
	t.Helper()
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		t.Fatalf("parse %q: %v", expression, err)
	}
	p, err := syntax.Compile(tree.Simplify())
	if err != nil {
		t.Fatalf("compile %q: %v", expression, err)
	}
	return p.String()
}

// FuzzFormatExpression compares what both expressions match.
func FuzzFormatExpression(f *testing.F) {
	for _, e := range expressions {
		f.Add(e, "foo bar KITS \u017f\n a bb ccc")
	}
	f.Fuzz(func(t *testing.T, expression, text string) {
		tree, err := syntax.Parse(expression, syntax.Perl)
		if err != nil || len(expression) > 200 {
			return
		}
		formatted := formatExpression(tree)
		got, err := regexp.Compile(formatted)
		if err != nil {
			t.Fatalf("%q is formatted as %q: %v", expression, formatted, err)
		}
		want := regexp.MustCompile(tree.String())
		if a, b := got.FindAllStringSubmatchIndex(text, -1), want.FindAllStringSubmatchIndex(text, -1); !reflect.DeepEqual(a, b) {
			t.Errorf("%q, formatted as %q, matches %v of %q, want %v", expression, formatted, a, text, b)
		}
	})
}
