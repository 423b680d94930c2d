package document

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	emoji "github.com/yuin/goldmark-emoji"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
	nethtml "golang.org/x/net/html"

	"github.com/quarrysearch/quarry/query/web/internal/codehtml"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Bounds of rendering.
const (
	MaxBytes = 1 << 20
	// IDPrefix is the prefix of IDs in a document.
	IDPrefix = "user-"
	maxDepth = 100 // nested elements
)

// ErrTooLarge reports that a document can be shown as text only.
var ErrTooLarge = errors.New("document is too large to render")

// Options describe how a document is part of a repository.
type Options struct {
	// Link returns the address of a file or directory by its path relative to the
	// document, or to the root if it begins with a slash; empty if there is none. image
	// requests the bytes of the file.
	Link func(path string, image bool) string
	// Tokens returns the tokens of a block of code; nil shows it without colors.
	Tokens func(language code.Language, text []byte) []code.Token
}

// shortcodes makes characters of the names of emoji that GitHub knows, as in :tada:.
var shortcodes = emoji.New(emoji.WithRenderingMethod(emoji.Unicode))

// RenderMarkdown renders Markdown with the extensions of GitHub.
func RenderMarkdown(source []byte, o Options) (template.HTML, error) {
	return o.renderMarkdown(source, &budget{})
}

// renderMarkdown renders a document, or a part of one that has spent some of its budget.
func (o Options) renderMarkdown(source []byte, b *budget) (template.HTML, error) {
	if len(source) > MaxBytes {
		return "", ErrTooLarge
	}
	md := goldmark.New(
		goldmark.WithExtensions(extension.GFM, extension.Footnote, shortcodes, mathExtension{}, b),
		goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithASTTransformers(util.Prioritized(alerts{}, 500))),
		goldmark.WithRendererOptions(html.WithUnsafe(), renderer.WithNodeRenderers(util.Prioritized(codeRenderer{o}, 100))),
	)
	parsed, cleaned := &boundedWriter{count: &b.parsed}, &boundedWriter{count: &b.cleaned}
	err := b.limit(func() error {
		if err := md.Convert(source, parsed); err != nil {
			return err
		}
		o.cleanHTML(cleaned, parsed.Bytes())
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("document: markdown: %w", err)
	}
	return template.HTML(policy().SanitizeBytes(cleaned.Bytes())), nil
}

// alerts gives quotes that begin with [!NOTE] or another kind of alert a title and a class.
type alerts struct{}

var alertLine = regexp.MustCompile(`^\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\]\s*$`)

// Transform implements parser.ASTTransformer.
func (alerts) Transform(document *ast.Document, reader text.Reader, _ parser.Context) {
	for n := document.FirstChild(); n != nil; n = n.NextSibling() {
		first, ok := n.FirstChild().(*ast.Paragraph)
		if n.Kind() != ast.KindBlockquote || !ok || first.Lines().Len() == 0 {
			continue
		}
		line := first.Lines().At(0)
		kind := alertLine.FindSubmatch(line.Value(reader.Source()))
		if kind == nil {
			continue
		}
		name := strings.ToLower(string(kind[1]))
		n.SetAttributeString("class", []byte("alert alert-"+name))
		for child := first.FirstChild(); child != nil; child = first.FirstChild() {
			mark, ok := child.(*ast.Text)
			if !ok || mark.Segment.Start >= line.Stop {
				break
			}
			first.RemoveChild(first, child)
		}
		title := ast.NewParagraph()
		title.SetAttributeString("class", []byte("alert-title"))
		title.AppendChild(title, ast.NewString([]byte(strings.ToUpper(name[:1])+name[1:])))
		n.InsertBefore(n, first, title)
		if first.ChildCount() == 0 {
			n.RemoveChild(n, first)
		}
	}
}

// codeRenderer renders blocks of code with their tokens.
type codeRenderer struct{ o Options }

// RegisterFuncs implements renderer.NodeRenderer.
func (c codeRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, func(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		n := node.(*ast.FencedCodeBlock)
		var text []byte
		for i := range n.Lines().Len() {
			line := n.Lines().At(i)
			text = append(text, line.Value(source)...)
		}
		if string(n.Language(source)) == "math" {
			writeMath(w, "pre", text)
			return ast.WalkSkipChildren, nil
		}
		_, err := w.WriteString(string(c.o.renderCode(languageOf(string(n.Language(source))), text)))
		return ast.WalkSkipChildren, err
	})
}

// renderCode renders a block of code.
func (o Options) renderCode(language code.Language, text []byte) []byte {
	var tokens []code.Token
	if o.Tokens != nil && language != "" {
		tokens = o.Tokens(language, text)
	}
	t := codehtml.New(text, tokens)
	return append(t.AppendLines([]byte("<pre><code>"), 1, t.Lines(), codehtml.Range{}), "</code></pre>\n"...)
}

// languages maps the names that people write to the languages of code blocks.
var languages = map[string]code.Language{
	"go": "Go", "golang": "Go", "js": "JavaScript", "javascript": "JavaScript", "jsx": "JavaScript", "ts": "TypeScript", "typescript": "TypeScript", "tsx": "TSX",
	"py": "Python", "python": "Python", "python3": "Python", "rb": "Ruby", "ruby": "Ruby", "rs": "Rust", "rust": "Rust", "java": "Java", "kotlin": "Kotlin", "kt": "Kotlin",
	"c": "C", "h": "C", "cpp": "C++", "c++": "C++", "cc": "C++", "cs": "C#", "csharp": "C#", "php": "PHP", "swift": "Swift", "scala": "Scala", "lua": "Lua",
	"sh": "Shell", "bash": "Shell", "shell": "Shell", "zsh": "Shell", "console": "Shell", "sql": "SQL", "yaml": "YAML", "yml": "YAML", "json": "JSON", "toml": "TOML",
	"html": "HTML", "css": "CSS", "xml": "XML", "dockerfile": "Dockerfile", "make": "Makefile", "makefile": "Makefile", "proto": "Protocol Buffer", "hcl": "HCL", "terraform": "HCL",
}

func languageOf(name string) code.Language { return languages[strings.ToLower(name)] }

// policy returns what a document may contain. It is applied last. To compile its
// expressions allocates 8 MB, which commands and processes that show no document save.
var policy = sync.OnceValue(func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "code", "em", "strong", "b", "i", "u", "s", "del", "ins", "sub", "sup", "kbd", "samp",
		"var", "mark", "small", "dl", "dt", "dd", "ul", "ol", "li", "table", "thead", "tbody", "tfoot", "tr", "th", "td", "caption", "details", "summary", "div", "span", "figure", "figcaption", "q", "cite", "abbr", "wbr")
	p.AllowAttrs("id").Matching(regexp.MustCompile(`^`+IDPrefix+`[\pL\pN_:.-]{1,200}$`)).OnElements("h1", "h2", "h3", "h4", "h5", "h6", "li", "sup", "a")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^(?:[csnkdu]|align-(?:left|center|right))$`)).OnElements("span", "p", "div", "th", "td", "h1", "h2", "h3")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^alert(?:-title| alert-[a-z]+)$`)).OnElements("blockquote", "p")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^math$`)).OnElements("code", "pre")
	p.AllowAttrs("data-u").Matching(regexp.MustCompile(`^[A-Zx+0-9]{2,7}$`)).OnElements("span")
	p.AllowAttrs("open").Matching(regexp.MustCompile(`^(?:|open)$`)).OnElements("details")
	p.AllowAttrs("start", "colspan", "rowspan").Matching(bluemonday.Integer).OnElements("ol", "td", "th")
	p.AllowAttrs("title").OnElements("a", "abbr", "img")
	p.AllowAttrs("href").OnElements("a")
	p.AllowAttrs("src").Matching(regexp.MustCompile(`^/browse/`)).OnElements("img")
	p.AllowAttrs("alt", "loading").OnElements("img")
	p.AllowAttrs("width", "height").Matching(regexp.MustCompile(`^\d{1,4}%?$`)).OnElements("img")
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowRelativeURLs(true)
	p.RequireNoReferrerOnFullyQualifiedLinks(true)
	p.RequireNoFollowOnFullyQualifiedLinks(true)
	return p
})

// cleanHTML resolves the links of a document, and prepares it for the policy.
func (o Options) cleanHTML(out *boundedWriter, document []byte) {
	z := nethtml.NewTokenizer(bytes.NewReader(document))
	depth := 0
	inLink := false
	for {
		kind := z.Next()
		if kind == nethtml.ErrorToken {
			return // the end, or an unclosed tag
		}
		token := z.Token()
		switch kind {
		case nethtml.StartTagToken:
			if depth++; depth > maxDepth && !isVoid(token.Data) {
				continue
			}
		case nethtml.EndTagToken:
			depth = max(depth-1, 0)
		}
		if token.Data == "a" && kind != nethtml.TextToken {
			inLink = kind == nethtml.StartTagToken
		}
		if kind == nethtml.StartTagToken || kind == nethtml.SelfClosingTagToken {
			if instead, replaced := o.resolveTag(&token, inLink); replaced {
				_, _ = out.WriteString(instead)
				continue
			}
			if isVoid(token.Data) && kind == nethtml.StartTagToken {
				depth--
			}
		}
		_, _ = out.WriteString(token.String())
	}
}

func isVoid(element string) bool {
	switch element {
	case "br", "hr", "img", "input", "wbr", "col", "source":
		return true
	}
	return false
}

// resolveTag changes the addresses and IDs of a tag, or returns its replacement. inLink means
// that the tag is within a link.
func (o Options) resolveTag(t *nethtml.Token, inLink bool) (instead string, replaced bool) {
	var source, alt string
	checked := false
	for i := range t.Attr {
		a := &t.Attr[i]
		switch a.Key {
		case "id", "name":
			a.Key, a.Val = "id", IDPrefix+strings.TrimPrefix(a.Val, IDPrefix)
		case "href":
			a.Val = o.resolveLink(a.Val, false)
		case "src":
			source = a.Val
			a.Val = o.resolveLink(a.Val, true)
		case "alt":
			alt = a.Val
		case "align":
			a.Key, a.Val = "class", "align-"+strings.ToLower(a.Val)
		case "checked":
			checked = true
		}
	}
	switch {
	case t.Data == "input" && checked:
		return "☑ ", true
	case t.Data == "input":
		return "☐ ", true
	case t.Data == "img" && isElsewhere(source):
		// An external image would tell its server who reads this page; a link does when it is followed.
		label := nethtml.EscapeString("[" + cmp.Or(alt, "image") + "]")
		if inLink {
			return "<span>" + label + "</span>", true
		}
		return `<a href="` + nethtml.EscapeString(o.resolveLink(source, true)) + `">` + label + "</a>", true
	case t.Data == "img":
		t.Attr = append(t.Attr, nethtml.Attribute{Key: "loading", Val: "lazy"})
		if alt == "" && !slices.ContainsFunc(t.Attr, func(a nethtml.Attribute) bool { return a.Key == "alt" }) {
			t.Attr = append(t.Attr, nethtml.Attribute{Key: "alt"}) // decorative
		}
	}
	return "", false
}

func isElsewhere(address string) bool {
	u, err := url.Parse(address)
	return err != nil || u.Scheme != "" || u.Host != ""
}

// resolveLink returns the address on this server for a link of a document.
func (o Options) resolveLink(address string, image bool) string {
	u, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil:
		return ""
	case u.Scheme != "":
		return address
	case u.Host != "": // another server, with the scheme of this one
		u.Scheme = "https"
		return u.String()
	case u.Path == "" && u.Fragment != "":
		return "#" + IDPrefix + u.Fragment
	case u.Path == "":
		return ""
	}
	resolved := o.Link(u.Path, image)
	if resolved == "" || image || u.Fragment == "" {
		return resolved
	}
	if lines := strings.ReplaceAll(u.Fragment, "L", ""); strings.HasPrefix(u.Fragment, "L") && codehtml.ParseLines(lines) != (codehtml.Range{}) {
		return resolved + "?L=" + lines
	}
	return resolved + "#" + IDPrefix + u.Fragment
}
