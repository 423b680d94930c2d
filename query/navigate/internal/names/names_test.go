package names_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/query/navigate/internal/names"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
)

var languages = []code.Language{"Go", "Java", "C#", "C", "C++", "TypeScript", "JavaScript", "TSX", "Python", "Rust", "Ruby", "YAML", ""}

func read(language code.Language, text string) *names.File {
	o := analyze.Outline{Timeout: -1}
	tokens, _ := o.Tokens(language, []byte(text), 1<<20)
	definitions, _ := o.Describe(language, []byte(text))
	return names.Read("a/b/c", language, []byte(text), tokens, definitions)
}

// useAll calls every function that package navigate calls for a token.
func useAll(f *names.File, i int) {
	f.Binding(f.Word(i), i)
	f.Receiver(i)
	f.LiteralOfKey(i)
	f.CalleeOfKey(i)
	f.ImportAt(i)
	f.ImportOf(f.Word(i))
	f.Class(i)
	f.Classes(i)
	f.ParseType(i)
	f.ParseExpr(i)
	f.DeclaredSource(i)
	f.ArrowSource(i)
	f.Parameter(i, "x")
	f.IsStatic(i)
	f.IsMemberOfValue(i)
	f.MayBeMethodOfRust(i, true)
	f.OtherCrate(f.ExtendedType(i), "host/x")
	f.OtherCrate(names.Type{File: f, Name: f.Word(i), At: i}, "host/x")
	if d := f.DefinitionAt(i); d != nil {
		f.Members(d, "x")
		f.Heirs(d)
	}
}

// TestAnyText reads texts that are not programs: no input may cause a panic.
func TestAnyText(t *testing.T) {
	words := strings.Fields("( ) [ ] { } < > . , ; : := = => -> :: | & * ! ? @ ... a b Foo Bar x func def class struct import from as for in let const var new return if else interface type package use using lambda self this super \"s\" 1 \n \n\t #include // /* */ ' `")
	for _, language := range languages {
		r := rand.New(rand.NewPCG(1, uint64(len(language))))
		for range 300 {
			var b strings.Builder
			for range r.IntN(60) {
				b.WriteString(words[r.IntN(len(words))])
				if r.IntN(3) > 0 {
					b.WriteByte(' ')
				}
			}
			text := b.String()
			f := read(language, text)
			for at := 0; ; {
				i, ok := f.TokenFrom(at)
				if !ok {
					break
				}
				useAll(f, i)
				start, end := f.Range(i)
				if start < at || end <= start {
					t.Fatalf("%s: token %d of %q: %d-%d", language, i, text, start, end)
				}
				at = end
			}
		}
	}
}

// TestHostile reads large repetitive texts: the cost must grow linearly with their size.
func TestHostile(t *testing.T) {
	for _, language := range languages {
		for _, piece := range []string{
			"(", "{", "[", "<", "a.", "f(", "a := ", "a = ", "a, ", "def f(a):\n ", "for x in ", "func f(a int) {\n", "class A {\n", "let a = ", "if a {", "(a) => ", "x: ", "|a| ",
			"new A<", "import a\n", "from a import b\n", "use a::{", "return ", "\n", "  \n a = b\n", "case ", "a[", "lambda a: ", "List<A> a = ", "a as ", "*a", "{a: ",
			"match a { b => ", "match a { (b, C(d)) => ", "auto [a] = ", "x def f(a): ", "var a, b = ", "a, b = c ", "(a b, ", "<A> a(", "{a := b\n", "{a = b;", "{let a = b; ", "{A a = b;",
		} {
			clocktest.CheckLinear(t, fmt.Sprintf("%s: bytes of %.20q", language, piece), 60_000, func(size int) {
				text := strings.Repeat(piece, size/len(piece))
				f := read(language, text)
				for n := range 20 {
					if i, ok := f.TokenFrom(n * len(text) / 20); ok {
						useAll(f, i)
					}
				}
			})
		}
	}
}

func TestOffset(t *testing.T) {
	text := []byte("ab\nçd\n\nx")
	for _, tc := range []struct{ line, column, want int }{{1, 1, 0}, {1, 3, 2}, {1, 4, -1}, {2, 2, 5}, {3, 1, 7}, {3, 2, -1}, {4, 1, 8}, {5, 1, -1}, {9, 1, -1}} {
		got, ok := names.Offset(text, tc.line, tc.column)
		if !ok {
			got = -1
		}
		if got != tc.want {
			t.Errorf("%d:%d: %d, want %d", tc.line, tc.column, got, tc.want)
		}
	}
}
