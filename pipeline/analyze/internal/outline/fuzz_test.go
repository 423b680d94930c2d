package outline

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// languages returns all supported languages.
var languages = func() []code.Language {
	all := slices.Collect(maps.Keys(grammars))
	for _, t := range tables {
		all = append(all, code.Language(strings.Split(t.languages, ", ")[0])) // the other names are read in the same way
	}
	slices.Sort(all)
	return all
}()

func TestLanguagesAreSupported(t *testing.T) {
	for _, l := range languages {
		if !Supported(l) {
			t.Errorf("%s is not supported", l)
		}
	}
	if Supported("Brainfuck") {
		t.Error("Brainfuck is supported")
	}
}

// scripts returns the sources in the scripts of testdata by language.
func scripts(t testing.TB) [][]byte {
	var all [][]byte
	byLanguage := scriptsByLanguage(t)
	for _, language := range languages {
		sources := byLanguage[code.Language(strings.ReplaceAll(string(language), " ", "_"))]
		if len(sources) == 0 && language != "TSX" { // TSX is read like TypeScript
			t.Errorf("testdata/outline has no script for %s", language)
		}
		all = append(all, sources...)
	}
	return all
}

// scriptsByLanguage reads testdata/outline.
func scriptsByLanguage(t testing.TB) map[code.Language][][]byte {
	paths, err := filepath.Glob("testdata/outline/*")
	if err != nil {
		t.Fatal(err)
	}
	sources := map[code.Language][][]byte{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split("\n"+string(text), "\noutline ")[1:] {
			language, source, _ := strings.Cut(part, "\n")
			source, _, _ = strings.Cut(source, "\n----")
			sources[code.Language(language)] = append(sources[code.Language(language)], []byte(source))
		}
	}
	return sources
}

func extractChecked(t testing.TB, language code.Language, text []byte) {
	symbols, err := Extract(language, text, time.Time{})
	if err != nil && !errors.Is(err, ErrLimit) {
		t.Fatalf("%s: %v", language, err)
	}
	checkInvariants(t, text, symbols)
}

// fuzzedLanguages are the languages that are fuzzed: all, or the one that QUARRY_FUZZ_LANGUAGE names.
func fuzzedLanguages(t testing.TB) []code.Language {
	only := code.Language(os.Getenv("QUARRY_FUZZ_LANGUAGE"))
	switch {
	case only == "":
		return languages
	case !slices.Contains(languages, only):
		t.Fatalf("QUARRY_FUZZ_LANGUAGE=%s: want one of %q", only, languages)
	}
	return []code.Language{only}
}

// FuzzExtract checks every grammar against the invariants on any text.
func FuzzExtract(f *testing.F) {
	languages := fuzzedLanguages(f)
	for _, source := range scripts(f) {
		for i := range languages {
			f.Add(uint8(i), source)
		}
	}
	f.Fuzz(func(t *testing.T, language uint8, text []byte) {
		extractChecked(t, languages[int(language)%len(languages)], text)
	})
}

// TestBrokenSource cuts every script every few bytes and reads the pieces in every
// language, not only its own.
func TestBrokenSource(t *testing.T) {
	t.Parallel()
	for _, source := range scripts(t) {
		for _, language := range languages {
			for cut := 0; cut < len(source); cut += 37 {
				extractChecked(t, language, source[:cut])
				extractChecked(t, language, source[cut:])
			}
		}
	}
}

// TestLinear repeats nested, unclosed or ambiguous text: the cost must grow linearly with
// the size.
func TestLinear(t *testing.T) {
	t.Parallel()
	patterns := []string{
		"{", "(", "[", "<", "a<", "}", ")", "/", "/[", "`${", "`", "'", "\"", "/*", "#if\n", "#if 0\n", "#else\n", "#endif\n",
		"a=(", "a(", "class A{", "class A\n", "def a\n", " def a:\n", "fn a(", "struct a {", "enum a {", "func (", "type a struct{",
		"<<A\n", "<<~A", "%w(", "#{", "\"#{", "$\"{", "\"$(", "${", "@", "@a(", "R\"(", "r#\"", "<?", "<<<A\n", "namespace a{", "impl a {",
		"template<", "a::", "::", "operator", "~", "\\\n", "\n", "  \n", "if x\n", "begin ", "end\n", "a,", "a;", "a b;", "typedef ", "(*",
		"var (\n", "x {", "x:", "=>", "a => {", "cfg_a!{", "macro_rules! a {", "__attribute__((", "?>", "\r", "={}", "a={},", "f(a)b ", "A(a)\n", "(a)", "a b ", "[a]", "<a>", "f(a) int a;", "a ? b : ", "} a", "class A;", " :\n  =", "é", "\xff", "\x00",
	}
	const size = 200_000
	for _, pattern := range patterns {
		text := bytes.Repeat([]byte(pattern), size/len(pattern))
		for _, language := range languages {
			clocktest.CheckLinear(t, fmt.Sprintf("%s: bytes of %q", language, pattern), size, func(size int) {
				extractChecked(t, language, text[:size/len(pattern)*len(pattern)])
			})
		}
	}
}

func TestDeadline(t *testing.T) {
	text := bytes.Repeat([]byte("int a; "), 20_000)
	for _, language := range []code.Language{"C", "D"} { // one hand-written grammar and one table
		whole, _ := Extract(language, text, time.Time{})
		symbols, err := Extract(language, text, time.Now().Add(-time.Second))
		if !errors.Is(err, ErrTimeout) || len(symbols) == 0 || len(symbols) >= len(whole) {
			t.Errorf("%s: got %d of %d symbols, %v; want some and ErrTimeout", language, len(symbols), len(whole), err)
		}
	}
}

func TestPanicIsContained(t *testing.T) {
	_, err := extractSymbols("C", grammar{lex: cLexis, run: func(scanner) { panic("broken") }}, []byte("x"), time.Time{})
	if !errors.Is(err, ErrPanic) {
		t.Fatalf("got %v, want ErrPanic", err)
	}
}
