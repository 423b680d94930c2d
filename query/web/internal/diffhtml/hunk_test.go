package diffhtml

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
)

func TestAppendHunk(t *testing.T) {
	h := &source.Hunk{Old: source.LineSpan{Start: 7, Lines: 4}, New: source.LineSpan{Start: 7, Lines: 4},
		Body: " before\n-\treturn a + 1\n-<b>\n+\treturn a + 2\n+<i>\n after\n\\ No newline at end of file"}
	want := `<div class="run"><pre class="n go" aria-hidden="true">7
</pre><pre class="n gn" aria-hidden="true">7
</pre><pre class="t old">before
</pre><pre class="t new twin" aria-hidden="true">before
</pre></div>
<div class="run changed"><pre class="n go" aria-hidden="true">8 −
9 −
</pre><pre class="t old">	return a + <del>1</del>
&lt;<del>b</del>&gt;
</pre><pre class="n gn" aria-hidden="true">8 +
9 +
</pre><pre class="t new">	return a + <ins>2</ins>
&lt;<ins>i</ins>&gt;
</pre></div>
`
	if got := string(new(Words).AppendHunk(nil, h, nil)); !strings.HasPrefix(got, want) || !strings.Contains(got[len(want):], "10\n") {
		t.Errorf("%s\nwant %s", got, want)
	}
	if added, removed := Count(&source.FileDiff{Hunks: []source.Hunk{*h}}); added != 2 || removed != 2 {
		t.Errorf("+%d −%d", added, removed)
	}
}

// TestTokensOfHunk checks that the colors of both sides are at the right words, in
// changed and unchanged lines.
func TestTokensOfHunk(t *testing.T) {
	h := &source.Hunk{Old: source.LineSpan{Start: 1, Lines: 3}, New: source.LineSpan{Start: 1, Lines: 2}, Body: " if a\n-\treturn one\n-\tif b\n+\treturn two\n if c"}
	tokenize := func(text []byte) (tokens []code.Token) {
		for _, at := range regexp.MustCompile(`\b(?:if|return)\b`).FindAllIndex(text, -1) {
			tokens = append(tokens, code.Token{Class: code.TokenKeyword, Start: uint32(at[0]), End: uint32(at[1])})
		}
		return tokens
	}
	got := string(new(Words).AppendHunk(nil, h, tokenize))
	for _, want := range []string{
		"><span class=k>if</span> a\n</pre>", "\t<span class=k>return</span> one\n\t<span class=k>if</span> b\n", "\t<span class=k>return</span> two\n</pre>", "><span class=k>if</span> c\n</pre>",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

func TestRunsOfOneSide(t *testing.T) {
	h := &source.Hunk{Old: source.LineSpan{Start: 0}, New: source.LineSpan{Start: 1, Lines: 2}, Body: "+a\n+b\n\\ No newline at end of file"}
	got := string(new(Words).AppendHunk(nil, h, nil))
	if strings.Contains(got, "go") || !strings.Contains(got, "1 +\n2 +\n") || !strings.Contains(got, "no-feed") {
		t.Errorf("an added file is %s", got)
	}
}

// FuzzWords checks that the pieces of both sides make up the lines, and that equal pieces
// are equal.
func FuzzWords(f *testing.F) {
	f.Add("return a + 1", "return b+1 // größe")
	f.Add("\xff\xfe a", "a\u202e")
	f.Fuzz(func(t *testing.T, old, new string) {
		removed, added, _ := (&Words{}).compareWords(old, new)
		if len(old) > maxPairBytes || len(new) > maxPairBytes {
			return
		}
		join := func(pieces []piece, equal bool) string {
			var b strings.Builder
			for _, p := range pieces {
				if !equal || !p.changed {
					b.WriteString(p.text)
				}
			}
			return b.String()
		}
		if join(removed, false) != old || join(added, false) != new || join(removed, true) != join(added, true) {
			t.Errorf("%q and %q are %v and %v", old, new, removed, added)
		}
	})
}

// TestWordsOfOnePage checks that many long lines are not all compared word by word.
func TestWordsOfOnePage(t *testing.T) {
	old, new := strings.Repeat("(,[]", 500), strings.Repeat(",)][", 500)
	w := &Words{}
	for range 100 {
		w.compareWords(old, new)
	}
	if _, _, ok := w.compareWords("a b", "a c"); ok {
		t.Errorf("words are compared after work of %d", w.work)
	}
	code := strings.Repeat("value := call(argument)\t", 10)
	w = &Words{}
	for i := range 4000 {
		if _, _, ok := w.compareWords(code, code+"x"); !ok {
			t.Fatalf("the words of line %d are not compared", i)
		}
	}
}

// FuzzHunk checks that a hunk, without its tags, is its text.
func FuzzHunk(f *testing.F) {
	f.Add(" a\n-b<\n+c>\n d")
	f.Add("+\n-\n \n\\ x")
	aside := regexp.MustCompile(`(?s)<pre class="n g[on]" aria-hidden="true">[^<]*</pre>|<pre class="t new twin" aria-hidden="true">.*?</pre>`)
	tags := regexp.MustCompile(`</?(?:div|pre|del|ins|span)[^>]*>`)
	f.Fuzz(func(t *testing.T, body string) {
		for _, r := range body {
			if r < ' ' && r != '\n' && r != '\t' || r > 0x7e {
				return // codehtml tests these
			}
		}
		out := string(new(Words).AppendHunk(nil, &source.Hunk{Old: source.LineSpan{Start: 1}, New: source.LineSpan{Start: 1}, Body: body}, nil))
		got := html.UnescapeString(strings.ReplaceAll(tags.ReplaceAllString(aside.ReplaceAllString(out, ""), ""), "⏎̸", ""))
		letters := func(s string) int { return strings.Count(s, "<") + strings.Count(s, ">") + strings.Count(s, "a") }
		want := 0
		for line := range strings.SplitSeq(body, "\n") {
			if line != "" && line[0] != '\\' {
				want += letters(line[1:])
			}
		}
		if letters(got) != want {
			t.Errorf("%q is shown as %q", body, got)
		}
	})
}
