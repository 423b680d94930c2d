package outline

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/schemas/code"
)

// TestTokens runs the scripts of testdata/tokens: "tokens LANGUAGE" and a source,
// followed by its tokens as class:text, with the tokens of one source line per line.
func TestTokens(t *testing.T) {
	datadriven.Walk(t, "testdata/tokens", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			language := code.Language(strings.ReplaceAll(d.CmdArgs[0].Key, "_", " "))
			text := []byte(d.Input)
			var b strings.Builder
			line := 0
			for _, token := range allTokens(t, language, text) {
				if n := strings.Count(d.Input[:token.Start], "\n") + 1; n != line {
					if line > 0 {
						b.WriteByte('\n')
					}
					line = n
					fmt.Fprintf(&b, "%d", line)
				}
				fmt.Fprintf(&b, " %.3s:%s", token.Class, strings.NewReplacer("\n", "⏎", " ", "·").Replace(string(text[token.Start:token.End])))
			}
			return b.String() + "\n"
		})
	})
}

// allTokens returns the tokens of a text and checks the guarantees of Next.
func allTokens(t testing.TB, language code.Language, text []byte) []code.Token {
	t.Helper()
	tokenizer := NewTokenizer(language, text)
	if tokenizer == nil {
		return nil
	}
	var tokens []code.Token
	end := uint32(0)
	for {
		token, ok := tokenizer.Next()
		if !ok {
			break
		}
		if token.Start < end || token.End <= token.Start || int(token.End) > len(text) {
			t.Fatalf("%s: token %v after offset %d in %d bytes", language, token, end, len(text))
		}
		end = token.End
		tokens = append(tokens, token)
	}
	return tokens
}

// TestTokensOfBrokenSource cuts every script in the same way as TestBrokenSource.
func TestTokensOfBrokenSource(t *testing.T) {
	t.Parallel()
	sources := scripts(t)
	for _, language := range append(languages, "Unknown Language") {
		for _, source := range sources {
			for cut := 0; cut < len(source); cut += 211 {
				allTokens(t, language, source[:cut])
				describeChecked(t, language, source[cut:])
			}
		}
	}
}

// FuzzTokens checks the invariants of the tokens and descriptions of any text.
func FuzzTokens(f *testing.F) {
	languages, sources := fuzzedLanguages(f), scriptsByLanguage(f)
	for i, language := range languages {
		for _, source := range sources[code.Language(strings.ReplaceAll(string(language), " ", "_"))] {
			f.Add(uint8(i), source)
		}
	}
	f.Fuzz(func(t *testing.T, language uint8, text []byte) {
		name := languages[int(language)%len(languages)]
		allTokens(t, name, text)
		describeChecked(t, name, text)
	})
}

// TestDescribe runs the scripts of testdata/describe: "describe LANGUAGE" and a source,
// followed by the descriptions of its symbols.
func TestDescribe(t *testing.T) {
	datadriven.Walk(t, "testdata/describe", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			language := code.Language(strings.ReplaceAll(d.CmdArgs[0].Key, "_", " "))
			var b strings.Builder
			for _, s := range describeChecked(t, language, []byte(d.Input)) {
				fmt.Fprintf(&b, "%d:%d %s %s", s.Line, s.Column, s.Kind, s.Name)
				if s.Parent != "" {
					fmt.Fprintf(&b, " < %s %s", s.ParentKind, s.Parent)
				}
				if s.BodyEnd > 0 {
					fmt.Fprintf(&b, " body %d-%d", s.BodyStart, s.BodyEnd)
				}
				if s.Visibility != "" {
					b.WriteString(" " + s.Visibility)
				}
				if s.Declaration {
					b.WriteString(" declaration")
				}
				fmt.Fprintf(&b, "\n  %s\n", s.Signature)
				if s.Doc != "" {
					fmt.Fprintf(&b, "  // %s\n", s.Doc)
				}
			}
			return b.String()
		})
	})
}

func describeChecked(t testing.TB, language code.Language, text []byte) []code.Definition {
	t.Helper()
	definitions, err := Describe(language, text, time.Time{})
	if err != nil && !errors.Is(err, ErrLimit) {
		t.Fatalf("%s: %v", language, err)
	}
	symbols := make([]code.Symbol, len(definitions))
	for i, d := range definitions {
		symbols[i] = d.Symbol
		if len(d.Signature) > code.MaxSignatureBytes || len(d.Doc) > code.MaxDocBytes || strings.ContainsAny(d.Signature+d.Doc, "\n\r") {
			t.Fatalf("%s: signature %q, documentation %q", language, d.Signature, d.Doc)
		}
		if d.Column == 0 || d.BodyStart > d.BodyEnd || int(d.BodyEnd) > len(text) || d.BodyEnd > 0 && int(d.BodyStart) < int(d.Offset)+len(d.Name) {
			t.Fatalf("%s: %s at %d has column %d, body %d to %d", language, d.Name, d.Offset, d.Column, d.BodyStart, d.BodyEnd)
		}
	}
	checkInvariants(t, text, symbols)
	return definitions
}
