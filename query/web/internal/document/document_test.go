package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"

	nethtml "golang.org/x/net/html"

	"github.com/quarrysearch/quarry/schemas/code"
)

var testOptions = Options{
	Link: func(path string, image bool) string {
		if image {
			return "/browse/r/-/raw/" + path
		}
		return "/browse/r/-/blob/" + path
	},
	Tokens: func(_ code.Language, text []byte) []code.Token {
		return []code.Token{{Class: code.TokenKeyword, Start: 0, End: uint32(min(4, len(text)))}}
	},
}

func TestRenderMarkdown(t *testing.T) {
	for text, want := range map[string]string{
		"# About <b>us</b>":                       `<h1 id="user-about-busb">About <b>us</b></h1>`,
		"[a](docs/x.md#L3-L5)":                    `<a href="/browse/r/-/blob/docs/x.md?L=3-5">a</a>`,
		"[a](x.md#usage) [b](#top)":               `<a href="/browse/r/-/blob/x.md#user-usage">a</a> <a href="#user-top">b</a>`,
		"![logo](img/l.png)":                      `<img src="/browse/r/-/raw/img/l.png" alt="logo" loading="lazy">`,
		"![ci](https://ci.example/badge.svg)":     `<a href="https://ci.example/badge.svg" rel="nofollow noreferrer">[ci]</a>`,
		"[![ci](https://ci.example/b.svg)](x.md)": `<a href="/browse/r/-/blob/x.md"><span>[ci]</span></a>`,
		"![x](javascript:alert(1)) y":             `[x] y`,
		"> [!WARNING]\n> hot":                     `<blockquote class="alert alert-warning"><p class="alert-title">Warning</p>` + "\n<p>hot</p>",
		"> [!TIP]\n\n> [!NOTES]\n> x":             "[!NOTES]",
		"[w](https://w.example)":                  `<a href="https://w.example" rel="nofollow noreferrer">w</a>`,
		"done :tada: :+1: 10:30:45 :nosuch:":      "done \U0001f389 \U0001f44d 10:30:45 :nosuch:",
		"`:tada:`":                                "<code>:tada:</code>",
		"a $x^2$ b":                               `a <code class="math">x^2</code> b`,
		"$5 and $10, a$b$c, $ x$, $\\$5$":         `$5 and $10, a$b$c, $ x$, <code class="math">\$5</code>`,
		"$`a$b`$ and $$\\sum_{i}$$ inside":        `<code class="math">a$b</code> and <code class="math">\sum_{i}</code> inside`,
		"$$\na_1 <\n- b_2\n\nc$$\n\n*d*":          "<pre class=\"math\">\na_1 &lt;\n- b_2\n\nc</pre><p><em>d</em>",
		"$a\\\\$ b $c\\$d$":                       `<code class="math">a\\</code> b <code class="math">c\$d</code>`,
		"a\n\n$$x":                                "<pre class=\"math\">x</pre>",
		"1. x\n\n   $$y$$\n2. z":                  "<pre class=\"math\">y</pre>",
		"```math\nx\n```":                         "<pre class=\"math\">x\n</pre>",
		"- [x] done\n- [ ] open":                  "☑  done",
		"```go\nfunc f() {}\n```":                 `<pre><code><span class="k">func</span> f() {}`,
		"| a |\n| :-: |\n| b |":                   `<td>b</td>`,
		"<p align=\"center\">x</p>":               `<p class="align-center">x</p>`,
		"<details><summary>s</summary>\n\nt":      `<details><summary>s</summary>`,
		"a \u202e b\n\n```\nx\u202ey\n```":        `<span class="u" data-u="U+202E">`,
		"<img src=\"https://x.example/p.gif\">":   `<a href="https://x.example/p.gif" rel="nofollow noreferrer">[image]</a>`,
		"<h1 id=\"main\" onclick=\"x()\">T</h1>":  `<h1 id="user-main">T</h1>`,
	} {
		got, err := RenderMarkdown([]byte(text), testOptions)
		if err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%q: want %s in\n%s %v", text, want, got, err)
		}
	}
	if _, err := RenderMarkdown(make([]byte, MaxBytes+1), testOptions); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a large document: %v", err)
	}
}

// attacks try to run something, to load something, or to imitate the page.
var attacks = []string{
	"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[a](javascript:alert(1))", "[a](JaVaScRiPt&colon;alert(1))", "<a href=\"java\nscript:alert(1)\">x</a>",
	"<svg onload=alert(1)><use href=\"https://x.example/y#z\"/></svg>", "<iframe src=//x.example></iframe>", "<object data=x></object>", "<style>*{display:none}</style>",
	"<link rel=stylesheet href=//x.example>", "<form action=/sign-out method=post><button>ok</button></form>", "<input name=csrf>", "<base href=//x.example>", "<meta http-equiv=refresh content=\"0;url=//x\">",
	"![a](data:image/svg+xml;base64,PHN2Zz4=)", "[a](data:text/html,<script>alert(1)</script>)", "[a](vbscript:x)", "<p style=\"position:fixed;inset:0\">x</p>", "<div class=\"top\" id=\"main\">x</div>",
	"<math><mtext></table><mglyph><style><img src=x onerror=alert(1)>", "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">", "<!--><img src=x onerror=alert(1)>-->", "<a href=\"#\" ping=//x.example>x</a>",
	"<img src=\"//x.example/a.png\">", "<img srcset=\"https://x.example/a.png 1x\">", "<video src=//x.example poster=//x.example>", "<template><script>alert(1)</script></template>", "<a target=_blank href=/>x</a>",
	"<button popovertarget=tree>x</button>", "<q-code>x</q-code>", "<div data-hotkey=x autofocus tabindex=1 contenteditable>x</div>", strings.Repeat("<div>", 5000) + "x", strings.Repeat("> ", 5000) + "x", strings.Repeat("[", 20000),
	strings.Repeat("$`x ", 20000), strings.Repeat("$$x\n", 20000), "$<script>alert(1)</script>$", "$$\n</pre><script>alert(1)</script>",
}

var allowedAttribute = regexp.MustCompile(`^(?:id|class|data-u|open|start|colspan|rowspan|title|href|src|alt|loading|width|height|rel)$`)

// checkHarmless fails if markup could affect the page that contains it.
func checkHarmless(t *testing.T, from string, out string) {
	t.Helper()
	z := nethtml.NewTokenizer(strings.NewReader(out))
	for kind := z.Next(); kind != nethtml.ErrorToken; kind = z.Next() {
		token := z.Token()
		if kind != nethtml.StartTagToken && kind != nethtml.SelfClosingTagToken {
			continue
		}
		if strings.Contains(token.Data, "-") || regexp.MustCompile(`^(?:script|style|iframe|object|embed|form|input|button|base|meta|link|svg|math|video|audio|template|textarea|select|dialog|main|header|nav)$`).MatchString(token.Data) {
			t.Errorf("%.100q: has <%s>: %.300s", from, token.Data, out)
		}
		for _, a := range token.Attr {
			switch {
			case !allowedAttribute.MatchString(a.Key):
				t.Errorf("%.100q: has %s=%q", from, a.Key, a.Val)
			case a.Key == "href" && !regexp.MustCompile(`^(?:https?://|mailto:|/browse/|#user-|$)`).MatchString(a.Val), a.Key == "src" && !strings.HasPrefix(a.Val, "/browse/"), a.Key == "id" && !strings.HasPrefix(a.Val, IDPrefix):
				t.Errorf("%.100q: %s=%q", from, a.Key, a.Val)
			}
		}
	}
}

func TestAttacks(t *testing.T) {
	for _, attack := range attacks {
		out, err := RenderMarkdown([]byte(attack), testOptions)
		if err != nil && !errors.Is(err, ErrTooLarge) {
			t.Errorf("%.100q: %v", attack, err)
		}
		checkHarmless(t, attack, string(out))
	}
}

// TestBudget checks that documents are not rendered if the parser takes quadratic time for them, or
// their markup is much longer than their text. All of them could be 30 times as large.
func TestBudget(t *testing.T) {
	address := "[a]: <" + strings.Repeat("x", 20_000) + ">\n\n"
	var footnotes strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&footnotes, "[^%d]: x\n\n", i)
	}
	for name, text := range map[string]string{
		"quotes": strings.Repeat(">", 5000), "lists": strings.Repeat("1) ", 2000), "both": strings.Repeat("> - ", 2000),
		"links": strings.Repeat("[a](<b", 5000), "images": strings.Repeat("![](a", 5000), "labels": strings.Repeat("[", 20_000),
		"emphasis": strings.Repeat("**a *a_", 5000), "comments": "a" + strings.Repeat(" <!-", 10_000), "code": strings.Repeat("`` ` ", 10_000),
		"definitions": strings.Repeat("[a]: b\n", 10_000), "long address": address + strings.Repeat("[a]\n\n", 1000),
		"footnotes": footnotes.String() + strings.Repeat("[^x]\n\n", 20_000),
		"table":     strings.Repeat("|a", 700) + "\n|:|-|\n" + strings.Repeat("|a", 700) + "\n" + strings.Repeat("|-", 700) + "\n" + strings.Repeat("|\n", 1000),
		"escapes":   "|a|\n|-|\n" + strings.Repeat("|`\\|`|\n", 10_000),
	} {
		if _, err := RenderMarkdown([]byte(text), testOptions); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %d bytes are rendered: %v", name, len(text), err)
		}
	}
	source := strings.Repeat("**a *a_", 1000) + `\n\n`
	cells := strings.Repeat(`{"cell_type":"markdown","source":"`+source+`"},`, 10)
	notebook, _, err := RenderNotebook([]byte(`{"nbformat":4,"cells":[`+strings.TrimSuffix(cells, ",")+`]}`), testOptions)
	if err != nil || len(notebook) != 10 || strings.Contains(string(notebook[0].Input), "<pre>") || !strings.Contains(string(notebook[9].Input), "<pre>") {
		t.Errorf("the cells of a notebook do not share a budget: %v, %.200q", err, notebook[9].Input)
	}
	prose := strings.Repeat(strings.Repeat("Some *text* with [links](a) and `code`. ", 20)+"\n\n", 1200)
	if _, err := RenderMarkdown([]byte(prose), testOptions); err != nil {
		t.Errorf("%d bytes of prose are not rendered: %v", len(prose), err)
	}
}

// TestBudgetOfMarkup checks that rendering ends at the bound of markup, that the cells of a notebook
// share it, and that it includes the path of the document in its links.
func TestBudgetOfMarkup(t *testing.T) {
	text, tokens := "[a]: <"+strings.Repeat("x", 20_000)+">\n\n"+strings.Repeat("[a]\n\n", 1000)+"```go\nx\n```\n", 0
	o := testOptions
	o.Tokens = func(code.Language, []byte) []code.Token { tokens++; return nil }
	if _, err := RenderMarkdown([]byte(text), o); !errors.Is(err, ErrTooLarge) || tokens > 0 {
		t.Errorf("%v, want %v; rendering goes on, and reads the tokens of %d blocks", err, ErrTooLarge, tokens)
	}
	source, err := json.Marshal("[a]: <" + strings.Repeat("x", 20_000) + ">\n\n" + strings.Repeat("[a]\n\n", 200))
	if err != nil {
		t.Fatal(err)
	}
	cells := strings.Repeat(`{"cell_type":"markdown","source":`+string(source)+`},`, 10)
	notebook, _, err := RenderNotebook([]byte(`{"nbformat":4,"cells":[`+strings.TrimSuffix(cells, ",")+`]}`), testOptions)
	if err != nil || strings.Contains(string(notebook[0].Input), "<pre>") || !strings.Contains(string(notebook[9].Input), "<pre>") {
		t.Errorf("the cells of a notebook do not share the markup: %v", err)
	}
	o.Link = func(path string, _ bool) string { return "/browse/r/-/blob/" + strings.Repeat("d", 4000) + path }
	if _, err := RenderMarkdown([]byte(strings.Repeat("[a](b)\n\n", 5000)), o); !errors.Is(err, ErrTooLarge) {
		t.Errorf("links of a document in a long directory: %v, want %v", err, ErrTooLarge)
	}
}

func FuzzRenderMarkdown(f *testing.F) {
	for _, attack := range attacks {
		f.Add([]byte(attack))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		out, err := RenderMarkdown(text, testOptions)
		if err != nil && !errors.Is(err, ErrTooLarge) {
			t.Fatal(err)
		}
		checkHarmless(t, string(text), string(out))
	})
}

func TestRenderNotebook(t *testing.T) {
	const text = `{"nbformat":4,"metadata":{"language_info":{"name":"python"}},"cells":[
		{"cell_type":"markdown","source":["# T\n","<script>x</script>"]},
		{"cell_type":"code","execution_count":3,"source":"print(1)","outputs":[{"output_type":"stream","text":["<1>\n"]},{"data":{"image/png":"aaaa","text/plain":"<Figure>"}},{"ename":"E","evalue":"bad"}]},
		{"cell_type":"odd","source":[]}]}`
	cells, whole, err := RenderNotebook([]byte(text), testOptions)
	if err != nil || !whole || len(cells) != 3 {
		t.Fatalf("%d cells, %t, %v", len(cells), whole, err)
	}
	if c := cells[0]; c.Kind != "markdown" || !strings.Contains(string(c.Input), `<h1 id="user-t">T</h1>`) || strings.Contains(string(c.Input), "script") {
		t.Errorf("the first cell is %+v", c)
	}
	if c := cells[1]; c.Number != "3" || len(c.Images)+c.Hidden != 1 || c.Output != "&lt;1&gt;\nE: bad\n" {
		t.Errorf("the second cell is %+v", c)
	}
	for _, bad := range []string{"", "[]", "{}", `{"nbformat":3,"cells":[]}`, `{"nbformat":4,"cells":[{"source":7}]}`} {
		if _, _, err := RenderNotebook([]byte(bad), testOptions); !errors.Is(err, ErrNotebook) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestNotebookImages checks that only images that browsers merely decode are shown.
func TestNotebookImages(t *testing.T) {
	notebook := []byte(`{"nbformat":4,"cells":[
		{"cell_type":"code","source":"a","outputs":[{"data":{"image/svg+xml":"<svg onload='x'/>","text/plain":"figure"}},{"data":{"image/png":"aGVs\nbG8="}}]},
		{"cell_type":"code","source":"b","outputs":[{"data":{"image/gif":["d29y","bGQ="]}},{"data":{"image/png":"???"}}]}]}`)
	cells, _, err := RenderNotebook(notebook, testOptions)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(cells[0].Images, cells[0].Hidden, cells[1].Images, cells[1].Hidden); got != "[1] 1 [2 3] 0" {
		t.Errorf("images %s", got)
	}
	for number, want := range map[int]string{1: "image/png hello", 2: "image/gif world", 3: "", 4: "", 0: "", -1: ""} {
		body, kind, err := NotebookImage(notebook, number)
		if got := strings.TrimSpace(kind + " " + string(body)); got != want || (err == nil) != (want != "") {
			t.Errorf("image %d: %q, %v", number, got, err)
		}
	}
}

// TestNotebooksOfNothing checks that a notebook of empty elements, which take many times their
// length when all of them are decoded at once, costs little.
func TestNotebooksOfNothing(t *testing.T) {
	fill := func(before, element, after string) []byte {
		before, after = `{"nbformat":4,"cells":[`+before, after+`]}`
		return []byte(before + strings.TrimSuffix(strings.Repeat(element, MaxNotebookBytes/4/len(element)), ",") + after)
	}
	forms := map[string][]byte{
		"cells":   fill(``, `{},`, ``),
		"outputs": fill(`{"outputs":[`, `{},`, `]}`),
		"images":  fill(`{"outputs":[`, `{"data":{"image/png":""}},`, `]}`),
		"types":   fill(`{"outputs":[{"data":{`, `"a":0,`, `}}]}`),
		"lines":   fill(`{"source":[`, `"",`, `]}`),
		"texts":   fill(`{"outputs":[{"text":[`, `"",`, `]}]}`),
	}
	for name, text := range forms {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, _ = RenderNotebook(text, Options{})
		runtime.ReadMemStats(&after)
		if got := (after.TotalAlloc - before.TotalAlloc) / uint64(len(text)); got > 60 {
			t.Errorf("%s: rendering allocates %d bytes for each byte", name, got)
		}
	}
	if cells, whole, err := RenderNotebook(forms["cells"], Options{}); err != nil || whole || len(cells) != maxCells {
		t.Errorf("of too many cells %d are shown, all of them: %t, %v", len(cells), whole, err)
	}
	long := fill(`{"source":"1"},`+strings.Repeat(`{"source":"`+strings.Repeat("<", 1<<20)+`"},`, 5), `{},`, ``)
	if cells, whole, err := RenderNotebook(long, Options{}); err != nil || whole || len(cells) != 4 {
		t.Errorf("of cells with 20 MB of markup %d are shown, all of them: %t, %v", len(cells), whole, err)
	}
}
