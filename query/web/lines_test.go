package web

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"testing"
)

func TestCutParts(t *testing.T) {
	long := strings.Repeat("x", maxPartBytes/2) + "\n"
	for name, c := range map[string]struct {
		text  string
		lines []int // of each part
	}{
		"empty":                   {"", nil},
		"one line":                {"a", []int{1}},
		"no line feed at the end": {"a\nb", []int{2}},
		"many lines":              {strings.Repeat("\n", 2*maxPartLines+1), []int{maxPartLines, maxPartLines, 1}},
		"long lines":              {long + long + long, []int{1, 1, 1}},
		"a line too long":         {"a\n" + strings.Repeat("x", 3*maxPartBytes) + "\nb", []int{1, 1, 1}},
	} {
		parts := cutParts([]byte(c.text))
		if len(parts) != len(c.lines) {
			t.Errorf("%s: %d parts, want %d", name, len(parts), len(c.lines))
			continue
		}
		first := 1
		for i, p := range parts {
			if p.first != first || p.lines != c.lines[i] || len(p.text) > maxPartBytes || p.cut != (name == "a line too long" && i == 1) {
				t.Errorf("%s: part %d: lines %d+%d, %d bytes, cut %t; want lines %d+%d", name, i, p.first, p.lines, len(p.text), p.cut, first, c.lines[i])
			}
			first += p.lines
		}
	}
	cut := cutParts([]byte(strings.Repeat("é", maxPartBytes)))[0]
	if text := strings.ToValidUTF8(string(cut.text), "?"); strings.Contains(text, "?") {
		t.Error("a character is cut in two")
	}
	if cut := cutParts([]byte("x" + strings.Repeat("é", maxPartBytes)))[0]; len(cut.text)%2 != 1 {
		t.Error("a character is cut in two")
	}
}

func TestHighlight(t *testing.T) {
	text := "one\nzwei wörter\n\nfour"
	for query, want := range map[string]string{
		"2":                 "one\n[zwei wörter]\n\nfour",
		"2,3":               "one\n[zwei wörter]\n\nfour",
		"1,4":               "[one]\n[zwei wörter]\n\n[four]",
		"2:6,2:9":           "one\nzwei [wör]ter\n\nfour",
		"1:2,2:5":           "o[ne]\n[zwei] wörter\n\nfour",
		"2:9,2:6":           "one\n[zwei wörter]\n\nfour",
		"2:99,2:100":        "one\n[zwei wörter]\n\nfour",
		"99":                text,
		"0":                 text,
		"3,2":               text,
		"":                  text,
		"x":                 text,
		"-1":                text,
		"9999999999":        text,
		`2"><script>`:       text,
		"2:0,2:0":           "one\n[zwei wörter]\n\nfour",
		"999999999":         text,
		"2,999999999:99999": "one\n[zwei wörter]\n\n[four]",
	} {
		markup := string(cutParts([]byte(text))[0].renderPart(readHighlight(query)))
		got := strings.NewReplacer("<mark>", "[", "</mark>", "]").Replace(markup)
		if got = strings.TrimSuffix(anyTag.ReplaceAllString(got, ""), "\n"); got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
}

// anyTag is what render writes around text; in escaped text there is no "<".
var anyTag = regexp.MustCompile(`<a id="L\d+" href="#L\d+" tabindex="-1"(?: autofocus)?>\d+</a>`)

// FuzzRender checks that the text of a page, without tags, is the text of the file.
func FuzzRender(f *testing.F) {
	f.Add([]byte("a < b && \"c\" > 'd'\r\n</pre><script>alert(1)</script>"), "1:2,2:3")
	f.Add([]byte("\xff\xfe\n\u202e\r\r\n<!--"), "2")
	f.Fuzz(func(t *testing.T, text []byte, query string) {
		var back []byte
		for _, p := range cutParts(text) {
			out := string(p.renderPart(readHighlight(query)))
			out = strings.NewReplacer("<mark>", "", "</mark>", "").Replace(anyTag.ReplaceAllString(out, ""))
			if strings.ContainsAny(out, `<>"'`) {
				t.Fatalf("markup of the file: %q", out)
			}
			back = append(back, html.UnescapeString(strings.ReplaceAll(out, "&#13;", "\r"))...)
		}
		want := bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte{0}, []byte("\uFFFD"))
		if want = bytes.TrimSuffix(want, []byte("\r")); len(want) > 0 && want[len(want)-1] != '\n' {
			want = append(want, '\n')
		}
		if back = bytes.TrimSuffix(back, []byte("\n")); !bytes.Equal(back, bytes.TrimSuffix(want, []byte("\n"))) {
			t.Errorf("%q is shown as %q", want, back)
		}
	})
}

func BenchmarkRender(b *testing.B) {
	text := []byte(strings.Repeat("\tif a < b && c > d { return \"x\" }\n", maxPartLines))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		cutParts(text)[0].renderPart(highlight{})
	}
}
