package analyze

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// TestOutlineDeadline checks when the search for symbols ends: a negative timeout is no limit.
func TestOutlineDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for timeout, want := range map[time.Duration]time.Time{
			-1: {}, 0: time.Now().Add(DefaultOutlineTimeout), time.Hour: time.Now().Add(time.Hour),
		} {
			if got := (Outline{Timeout: timeout}).deadline(); !got.Equal(want) {
				t.Errorf("timeout %v: the search ends at %v, want %v", timeout, got, want)
			}
		}
	})
}

func TestOutlineTokens(t *testing.T) {
	text := []byte("func boil(x int) { boil(1) }\nvar lid = boil\n")
	tokens, whole := Outline{}.Tokens("Go", text, 100)
	if !whole {
		t.Error("a small text is cut")
	}
	var defined []string
	for _, token := range tokens {
		if token.Class == code.TokenDefinition {
			defined = append(defined, string(text[token.Start:token.End]))
		}
	}
	if len(defined) != 2 || defined[0] != "boil" || defined[1] != "lid" {
		t.Errorf("definitions %q, want boil and lid, once each", defined)
	}
	if cut, whole := (Outline{}).Tokens("Go", text, 3); len(cut) != 3 || whole {
		t.Errorf("%d tokens, whole %v; want the first three", len(cut), whole)
	}
	if tokens, whole := (Outline{}).Tokens("Markdown", text, 10); tokens != nil || !whole {
		t.Errorf("prose has %d tokens", len(tokens))
	}
}

// BenchmarkHTML generates escaped HTML of the Go standard library, with an element for
// each token that has a color.
func BenchmarkHTML(b *testing.B) {
	files := readTree(b, goSource(b), 3000)
	a := New(Options{})
	size := int64(0)
	languages := make([]code.Language, len(files))
	for i, f := range files {
		languages[i], _ = a.Place(f.path, f.text)
		size += int64(len(f.text))
	}
	b.SetBytes(size)
	var out []byte
	start := cpuTime(b)
	for b.Loop() {
		for i, f := range files {
			out = appendHTML(out[:0], languages[i], f.text)
		}
	}
	b.ReportMetric(float64(size)*float64(b.N)/1e6/(cpuTime(b)-start).Seconds(), "MB/cpu-s")
}

func appendHTML(out []byte, language code.Language, text []byte) []byte {
	t := NewTokenizer(language, text)
	at := 0
	for t != nil {
		token, ok := t.Next()
		if !ok {
			break
		}
		out = appendEscaped(out, text[at:token.Start])
		at = int(token.End)
		switch token.Class {
		case code.TokenIdentifier, code.TokenOperator:
			out = appendEscaped(out, text[token.Start:token.End])
		default:
			out = append(out, `<i class="`...)
			out = append(out, token.Class.String()[:3]...)
			out = append(out, `">`...)
			out = appendEscaped(out, text[token.Start:token.End])
			out = append(out, "</i>"...)
		}
	}
	return appendEscaped(out, text[at:])
}

func appendEscaped(out, text []byte) []byte {
	from := 0
	for i, c := range text {
		if entity := entities[c]; entity != "" {
			out = append(append(out, text[from:i]...), entity...)
			from = i + 1
		}
	}
	return append(out, text[from:]...)
}

var entities = [256]string{'<': "&lt;", '>': "&gt;", '&': "&amp;", '"': "&#34;"}

// TestFragmentTokens reads lines from the middle of a file, and checks that a part of a
// block comment is a comment.
func TestFragmentTokens(t *testing.T) {
	read := func(language code.Language, text string) (words []string) {
		for _, token := range (Outline{}).FragmentTokens(language, []byte(text), 100) {
			words = append(words, token.Class.String()+" "+text[token.Start:token.End])
		}
		return words
	}
	for _, c := range []struct {
		language code.Language
		text     string
		want     []string
	}{
		{"Java", " * Boils.\n */\nint x", []string{"comment  * Boils.\n */", "keyword int", "identifier x"}},
		{"Go", "return \"a\"", []string{"keyword return", `string "a"`}},
		{"Markdown", "* text", nil},
	} {
		if got := read(c.language, c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s %q: %q, want %q", c.language, c.text, got, c.want)
		}
	}
	if got := (Outline{}).LanguageOf("src/boil.go", nil); got != "Go" {
		t.Errorf("the language of a path is %q", got)
	}
}
