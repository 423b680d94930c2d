package codehtml

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/schemas/code"
)

var (
	numbers = regexp.MustCompile(`<pre class=n aria-hidden=true>[\d\n]*</pre>`)
	ownTags = regexp.MustCompile(`<(?:span class=(?:[csnkd]|u data-u=[A-Zx+0-9]{2,7})|(?:span|li) class=at(?: id=at tabindex=-1 autofocus)?|li|ol class="wrapped" start=\d+|div class="chunk(?: rest)?(?: plain)?"|pre class=t|code|mark|/span|/mark|/code|/pre|/div|/ol)>`)
)

// stripTags removes what this package writes around text, and fails if there is other
// markup.
func stripTags(t *testing.T, out []byte) string {
	t.Helper()
	text := strings.NewReplacer("</div>\n", "", "</ol>\n", "").Replace(numbers.ReplaceAllString(string(out), ""))
	text = ownTags.ReplaceAllString(text, "")
	if strings.ContainsAny(text, `<>"'`) {
		t.Fatalf("markup that is not ours: %q", text)
	}
	// The decoder of html turns the reference into a line feed; a browser does not.
	return html.UnescapeString(strings.ReplaceAll(text, "&#13;", "\r"))
}

// readable returns the text as a page may show it.
func readable(text []byte) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == 0 || r == utf8.RuneError {
			r = utf8.RuneError
		}
		b.WriteRune(r)
		text = text[size:]
	}
	return b.String()
}

// FuzzText checks that the page of a text, without tags, is the text.
func FuzzText(f *testing.F) {
	f.Add([]byte("a < b && \"c\" > 'd'\r\n</pre><script>alert(1)</script>"), "1:2,2:3", uint64(0x1234567890))
	f.Add([]byte("\xff\xfe\n\u202e\r\r\n<!--\x00\x1b"), "2", uint64(77))
	f.Add([]byte("\n\n\n"), "2-3", uint64(1))
	f.Fuzz(func(t *testing.T, text []byte, query string, seed uint64) {
		tokens := makeTokens(text, seed)
		mark := ParseRange(query)
		if mark.IsEmpty() {
			mark = ParseLines(query)
		}
		page := New(text, tokens)
		mark, _ = mark.Clamp(page.Lines())
		if got := stripTags(t, page.AppendChunks(nil, 1, page.Lines(), mark)); got != readable(text) {
			t.Errorf("%q is shown as %q", text, got)
		}
		if got := stripTags(t, page.AppendWrapped(nil, 1, page.Lines(), mark)); got != readable(text) {
			t.Errorf("%q is wrapped as %q", text, got)
		}
		page.LimitLines(int(seed%64), nil)
		if got := stripTags(t, page.AppendChunks(nil, 1, page.Lines(), mark)); got != readable(text) {
			t.Errorf("%q is shown as %q without colors", text, got)
		}
		if n := page.Lines(); n > 1 {
			half := stripTags(t, page.AppendLines(nil, 1, n/2, mark)) + stripTags(t, page.AppendLines(nil, n/2+1, n, mark))
			if half != readable(text) {
				t.Errorf("%q in halves is %q", text, half)
			}
		}
	})
}

// makeTokens cuts a text at character boundaries, as a Tokenizer does.
func makeTokens(text []byte, seed uint64) (tokens []code.Token) {
	at := 0
	for at < len(text) {
		seed = seed*6364136223846793005 + 1442695040888963407
		end := min(at+int(seed>>60), len(text))
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end++
		}
		if seed>>59&1 == 0 && end > at {
			tokens = append(tokens, code.Token{Class: code.TokenClass(seed >> 40 % uint64(len(code.TokenClasses))), Start: uint32(at), End: uint32(end)})
		}
		at = max(end, at+1)
		for at < len(text) && !utf8.RuneStart(text[at]) {
			at++
		}
	}
	return tokens
}

func TestMarks(t *testing.T) {
	text := "one\nzwei wörter\n\nfour"
	for query, want := range map[string]string{
		"2":                "one\n[zwei wörter\n]\nfour",
		"2,3":              "one\n[zwei wörter\n\n]four",
		"1,4":              "[one\nzwei wörter\n\nfour]",
		"2:6,2:9":          "one\n[zwei {wör}ter\n]\nfour",
		"1:2,2:5":          "[o{ne\n}{zwei} wörter\n]\nfour",
		"2:9,2:6":          "one\n[zwei wörter\n]\nfour",
		"2:99,2:100":       "one\n[zwei wörter\n]\nfour",
		"0":                text,
		"3,2":              text,
		"":                 text,
		"x":                text,
		"-1":               text,
		"9999999999":       text,
		`2"><script>`:      text,
		"99":               "one\nzwei wörter\n\n[four]",
		"2,999999999:9999": "one\n[zwei wörter\n\nfour]",
	} {
		page := New([]byte(text), nil)
		mark, _ := ParseRange(query).Clamp(page.Lines())
		out := string(page.AppendLines(nil, 1, page.Lines(), mark))
		got := strings.NewReplacer("<mark>", "{", "</mark>", "}", "<span class=at id=at tabindex=-1 autofocus>", "[", "</span>", "]").Replace(out)
		if got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
	for query, want := range map[string]string{"12": "12", "12-30": "12-30", "L5-L7": "5-7", "L5": "5", "7-5": "", "0": "", "x": "", "1-": "", "12-12": "12"} {
		if got := ParseLines(query).String(); got != want {
			t.Errorf("lines %q: %q, want %q", query, got, want)
		}
	}
}

func TestHiddenCharacters(t *testing.T) {
	for text, want := range map[string]string{
		"a\u202eb":       "a<span class=u data-u=U+202E>\u202e</span>b",
		"\x1b[31m":       "<span class=u data-u=x1B>\x1b</span>[31m",
		"\xff":           "<span class=u data-u=xFF>\uFFFD</span>",
		"\uFFFD":         "\uFFFD",
		"a\r\nb\rc":      "a&#13;\nb<span class=u data-u=CR>&#13;</span>c",
		"👩\u200d🚀":       "👩\u200d🚀",
		"\U000E0041":     "<span class=u data-u=U+E0041>\U000E0041</span>",
		"größe\tund\x00": "größe\tund<span class=u data-u=x00>\uFFFD</span>",
	} {
		if got := string(AppendText(nil, []byte(text))); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got, want := string(AppendName(nil, "a\nb\t<")), "a<span class=u data-u=x0A>&#10;</span>b<span class=u data-u=x09>&#9;</span>&lt;"; got != want {
		t.Errorf("a name: %q, want %q", got, want)
	}
	if !HasDirectionMarks([]byte("x\u2066")) || HasDirectionMarks([]byte("größe – \u200e")) {
		t.Error("direction marks are not distinguished")
	}
}

// TestLongTextsAreSmallPages: a page has the colors around a line, and the beginning of long
// lines.
func TestLongTextsAreSmallPages(t *testing.T) {
	const colored = `x <span class=k>if</span> y`
	var tokens []code.Token
	for i := range 10_000 {
		tokens = append(tokens, code.Token{Class: code.TokenKeyword, Start: uint32(i*7 + 2), End: uint32(i*7 + 4)})
	}
	text := []byte(strings.Repeat("x if y\n", 10_000))
	for line, want := range map[int][2]int{1: {1, 1000}, 5000: {4500, 5499}, 10_000: {9001, 10_000}} {
		page := New(text, tokens)
		page.ColorAround(line, 1000)
		out := string(page.AppendChunks(nil, 1, page.Lines(), Range{}))
		if n := strings.Count(out, "<span"); n != 1000 {
			t.Errorf("around line %d: %d colored tokens", line, n)
		}
		for _, edge := range want {
			if got := string(page.AppendLines(nil, edge, edge, Range{})); got != colored+"\n" {
				t.Errorf("around line %d: line %d is %q", line, edge, got)
			}
		}
		for i, chunk := range strings.SplitAfter(out, "</div>\n")[:20] {
			whole := strings.Count(chunk, "<span") == ChunkLines
			if plain := strings.Contains(chunk, " plain\""); plain == whole {
				t.Errorf("around line %d: chunk %d is plain: %t, has all colors: %t", line, i, plain, whole)
			}
		}
	}

	text = []byte("x if y\n" + strings.Repeat("ö", 50) + "\r\nx if y")
	tokens = []code.Token{{Class: code.TokenKeyword, Start: 2, End: 4}, {Class: code.TokenString, Start: 7, End: 107}, {Class: code.TokenKeyword, Start: 111, End: 113}}
	page := New(text, tokens)
	page.LimitLines(15, func(out []byte, line, hidden int) []byte { return fmt.Appendf(out, "[%d of %d]", hidden, line) })
	if got, want := string(page.AppendLines(nil, 1, 3, Range{})), colored+"\nööööööö[86 of 2]&#13;\n"+colored; got != want {
		t.Errorf("cut: %q, want %q", got, want)
	}
	for mark, want := range map[string]string{
		"2:3,2:6": "öö<mark>ööö</mark>öö[86 of 2]", "2:8,2:10": strings.Repeat("ö", 7) + "<mark>öö</mark>" + strings.Repeat("ö", 41), "2:49,2:60": "<mark>öö</mark>&#13;",
	} {
		if got := string(page.AppendLines(nil, 2, 2, ParseRange(mark))); !strings.Contains(got, want) {
			t.Errorf("marked %s: %q, want %q", mark, got, want)
		}
	}
	page.LimitLines(15, nil)
	if got, want := string(page.AppendLines(nil, 1, 3, Range{})), colored+"\n"+strings.Repeat("ö", 50)+"&#13;\n"+colored; got != want {
		t.Errorf("whole: %q, want %q", got, want)
	}

	page = New([]byte(strings.Repeat("\r", 1000)+"\n"), nil)
	page.LimitLines(15, func(out []byte, line, hidden int) []byte { return fmt.Appendf(out, "[%d]", hidden) })
	if got := string(page.AppendLines(nil, 1, 1, Range{})); strings.Count(got, "<span") > 15 || !strings.Contains(got, "[984]") {
		t.Errorf("a line of carriage returns: %d elements", strings.Count(got, "<span"))
	}
}

// TestColorsAroundALine counts only tokens with a color: others are no elements.
func TestColorsAroundALine(t *testing.T) {
	var tokens []code.Token
	for i := range uint32(1000) {
		tokens = append(tokens, code.Token{Class: code.TokenIdentifier, Start: i * 5, End: i*5 + 1}, code.Token{Class: code.TokenOperator, Start: i*5 + 1, End: i*5 + 2},
			code.Token{Class: code.TokenNumber, Start: i*5 + 2, End: i*5 + 3})
	}
	page := New([]byte(strings.Repeat("x=1;\n", 1000)), slices.Clone(tokens))
	page.ColorAround(500, 400)
	if out := string(page.AppendChunks(nil, 1, 1000, Range{})); strings.Count(out, "<span") != 400 || !strings.HasSuffix(out[:strings.Index(out, "<span")], "\nx=") {
		t.Errorf("%d colors", strings.Count(out, "<span"))
	}
	page.ColorAround(500, 400)
	for line, want := range map[int]string{299: "x=1;\n", 300: "x=<span class=n>1</span>;\n", 699: "x=<span class=n>1</span>;\n", 700: "x=1;\n"} {
		if got := string(page.AppendLines(nil, line, line, Range{})); got != want {
			t.Errorf("line %d: %q, want %q", line, got, want)
		}
	}
	page = New(bytes.Repeat([]byte("x=1;\n"), 1000), tokens)
	page.ColorAround(1250, 400) // the middle of a chunk may be beyond the end of a file
	if got := string(page.AppendLines(nil, 1000, 1000, Range{})); got != "x=<span class=n>1</span>;\n" {
		t.Errorf("the last line: %q", got)
	}
}

func BenchmarkChunks(b *testing.B) {
	text := []byte(strings.Repeat("\tif a < b && c > d { return \"x\" }\n", 20_000))
	var tokens []code.Token
	for i := range 20_000 {
		at := uint32(i * 34)
		tokens = append(tokens, code.Token{Class: code.TokenKeyword, Start: at + 1, End: at + 3}, code.Token{Class: code.TokenKeyword, Start: at + 21, End: at + 27}, code.Token{Class: code.TokenString, Start: at + 28, End: at + 31})
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		page := New(text, tokens)
		page.AppendChunks(nil, 1, page.Lines(), Range{})
	}
}
