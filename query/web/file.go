package web

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/query/web/internal/codehtml"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Bounds of the part of a file on one page: a larger file has several pages.
const (
	maxPartLines    = 150_000
	maxWrappedLines = 20_000 // each line is an element if lines wrap
	maxPageTokens   = 1_000_000
	maxPageColors   = 20_000 // tokens with colors; a script asks for others when they are near the window
	maxShownLine    = 5_000  // bytes of a line; a link shows the rest
)

// Outline extracts tokens and symbols from a text; analyze.Outline implements it. All
// methods bound their time.
type Outline interface {
	Tokens(language code.Language, text []byte, max int) (tokens []code.Token, whole bool)
	Describe(language code.Language, text []byte) ([]code.Definition, error)
	// FragmentTokens returns the tokens of a part of a text, without definitions.
	FragmentTokens(language code.Language, text []byte, max int) []code.Token
	// LanguageOf returns the language of a path, as far as the path determines it.
	LanguageOf(path string, head []byte) code.Language
}

// fileBody is the data of the page of a file.
type fileBody struct {
	Lines          int
	Size, Language string
	Text           markup // code
	Rendered       markup // Markdown
	Notebook       *notebookBody
	Image          string // the address of an image
	Blamed         bool
	Whole          string // address of the page with whole lines, if some are cut
	Mark           string // the marked lines
	Previous, Next string // addresses of other parts of a long file
	Outline        []outlineRow
	OutlineNote    string
}

// fileRequest is the query part of a file's address.
type fileRequest struct {
	mark          codehtml.Range
	part          int // from 1; 0 is the part with the mark
	source, blame bool
	wrap          bool
	long          bool   // long lines are shown whole
	colors        int    // the first line of the only chunk to show, for a script; 0 for the page
	wrongLines    string // what the address has in place of lines; empty if it has lines, or none
}

func readFileRequest(r *http.Request) fileRequest {
	query := r.URL.Query()
	q := fileRequest{mark: codehtml.ParseLines(query.Get("L")), source: query.Get("view") == "source", blame: query.Get("blame") == "1"}
	if q.mark.IsEmpty() {
		q.mark = codehtml.ParseRange(query.Get("highlightRange"))
	}
	if q.mark.IsEmpty() {
		q.wrongLines = cutText(cmp.Or(query.Get("L"), query.Get("highlightRange")), maxShownQuery)
	}
	q.part, _ = strconv.Atoi(query.Get("part")) // 0 if it is not a number
	q.colors, _ = strconv.Atoi(query.Get("colors"))
	q.long = query.Get("long") == "1"
	switch query.Get("wrap") {
	case "1":
		q.wrap = true
	case "":
		q.wrap = isPhone(r)
	}
	if q.blame {
		q.wrap = false
	}
	return q
}

// isPhone reports whether a browser runs on a phone, where code wraps by default.
func isPhone(r *http.Request) bool {
	if hint := r.Header.Get("Sec-CH-UA-Mobile"); hint != "" {
		return hint == "?1"
	}
	return strings.Contains(r.UserAgent(), "Mobi")
}

// readFile fills in the page of a file. A directory redirects to a page of another kind.
func (s *Server) readFile(v *pageRequest, p *codePage) error {
	ctx := v.r.Context()
	if v.r.URL.Query().Get("fragment") == lastFragment {
		return s.readLastChanges(ctx, p, nil)
	}
	file, err := s.o.Source.File(ctx, p.repository, p.commit(), p.Path)
	if errors.Is(err, source.ErrDirectory) {
		p.redirectTo = p.pageURL(source.PageTree, p.Path)
		return nil
	}
	if err != nil && !isOneOf(err, source.ErrBinary, source.ErrTooLarge, source.ErrSubmodule) {
		return err
	}
	d, err1 := s.newCodeData(v.r, p)
	if err1 != nil {
		return err1
	}
	q, body := readFileRequest(v.r), &fileBody{Mark: ""}
	d.Body = body
	p.setView("file", d)
	s.addTree(ctx, p, d)
	d.Links.Blob, d.Links.Raw = p.pageURL(source.PageBlob, p.Path), p.pageURL(source.PageRaw, p.Path)
	switch {
	case errors.Is(err, source.ErrBinary) && imageType(p.Path) != "":
		body.Image = d.Links.Raw
		return nil
	case errors.Is(err, source.ErrSubmodule):
		d.Problem, d.Links.Raw = s.explainSubmodule(ctx, p), ""
		return nil
	case err != nil:
		d.Problem = s.explainUnreadable(err, p)
		return nil
	case file.Skipped == code.SkipSymlink:
		d.Problem = s.explainLink(p, string(file.Text))
		return nil
	}
	if file.Skipped != "" {
		d.Notes = append(d.Notes, s.texts.mustFormat("codeNotSearched", "advice", file.Skipped.Advice()))
	}
	if file.PartialSymbols != "" {
		d.Notes = append(d.Notes, s.texts.mustFormat("codeSymbolsPartial", "advice", file.PartialSymbols.Advice()))
	}
	if size, ok := lfsSize(file.Text); ok {
		d.Problem = &problem{Icon: "package", Title: s.texts.mustFormat("codeLFS"), Text: s.texts.mustFormat("codeLFSText", "size", formatBytes(size))}
	}
	return s.fillFile(ctx, v.r, p, d, body, &file, q)
}

// fillFile adds the requested part of a file to its page, rendered or as code.
func (s *Server) fillFile(ctx context.Context, r *http.Request, p *codePage, d *codeData, body *fileBody, file *source.File, q fileRequest) error {
	body.Language, body.Size = string(file.Language), formatBytes(int64(len(file.Text)))
	if q.wrongLines != "" {
		d.Notes = append(d.Notes, s.texts.mustFormat("codeNoLines", "lines", codehtml.SpellHidden(q.wrongLines)))
	}
	if len(file.Text) == 0 {
		d.Problem = &problem{Icon: "file", Title: s.texts.mustFormat("codeEmpty")}
		return nil
	}
	if s.renderFile(p, d, body, file, q) {
		return nil
	}
	d.Links.Blame, d.Links.History = withQuery(d.Links.Blob, r, "blame", "1"), withPlace(d.Links.History, "line", q.mark)
	if q.blame {
		d.Links.Blame, d.Links.Unblame = "", withPlace(d.Links.Blob, "L", q.mark)
	}
	text := codehtml.New(file.Text, s.readTokens(file))
	body.Lines = text.Lines()
	mark, within := q.mark.Clamp(text.Lines())
	if !within {
		d.Notes = append(d.Notes, s.texts.mustFormat("codeBeyondEnd", "line", q.mark.To.Line, "lines", text.Lines()))
	}
	s.limitText(r, body, text, q)
	if q.colors > 0 && q.colors <= text.Lines() {
		last := min(q.colors+codehtml.ChunkLines-1, text.Lines())
		text.ColorAround(q.colors+codehtml.ChunkLines/2, maxPageColors)
		body.Text, p.view.part = markup(text.AppendLines(nil, q.colors, last, codehtml.Range{})), "lines"
		return nil
	}
	body.Mark = mark.String()
	d.Links.Host = p.hostURL(mark.From.Line, mark.To.Line)
	d.Links.Editor = s.editorURL(r, p, mark.From.Line)
	parts := cutParts(text)
	shown := choosePart(parts, q.part, mark)
	s.describePart(p, d, body, text, parts, shown)
	s.addOutline(p, body, file)
	part := parts[shown]
	text.ColorAround(min(max(mark.From.Line, part.first), part.last), maxPageColors)
	if q.wrap && part.last-part.first >= maxWrappedLines {
		q.wrap = false
		d.Notes = append(d.Notes, s.texts.mustFormat("codeNotWrapped", "n", maxWrappedLines))
	}
	switch {
	case q.blame:
		return s.appendBlame(ctx, p, d, body, text, part, mark)
	case q.wrap:
		body.Text = markup(text.AppendWrapped(nil, part.first, part.last, mark))
		d.Links.Unwrap = withQuery(d.Links.Blob, r, "wrap", "0")
	default:
		body.Text = markup(text.AppendChunks(make([]byte, 0, 2*text.Size(part.first, part.last)), part.first, part.last, mark))
		d.Links.Wrap = withQuery(d.Links.Blob, r, "wrap", "1")
	}
	return nil
}

// limitText shows the beginning of long lines, unless the reader has asked for all of them: a
// minified file of megabytes in one line would be hundreds of thousands of elements.
func (s *Server) limitText(r *http.Request, body *fileBody, text *codehtml.Text, q fileRequest) {
	if text.LimitLines(maxShownLine, nil); q.long {
		return
	}
	kept := keptQuery(source.PageBlob, r.URL.Query())
	kept.Set("long", "1")
	if q.part > 0 {
		kept.Set("part", strconv.Itoa(q.part))
	}
	whole := "?" + kept.Encode()
	kept.Del("L")
	kept.Del("highlightRange")
	cut := html.EscapeString("?" + kept.Encode() + "&L=")
	text.LimitLines(maxShownLine, func(out []byte, line, hidden int) []byte {
		body.Whole = whole
		label := html.EscapeString(s.texts.mustFormat("codeLineRest", "size", formatBytes(int64(hidden))))
		return fmt.Appendf(out, `<a class=line-rest href="%s%d" aria-label="%s" data-rest="%[3]s"></a>`, cut, line, label)
	})
}

// readTokens returns the tokens of a file; without an Outline there are none.
func (s *Server) readTokens(file *source.File) []code.Token {
	if s.o.Outline == nil {
		return nil
	}
	tokens, _ := s.o.Outline.Tokens(file.Language, file.Text, maxPageTokens) // the rest of a huge file has no colors
	return tokens
}

// maxFragmentTokens bounds the tokens of a part of a text; the rest has no colors.
const maxFragmentTokens = 20_000

// readFragment returns the tokens of a part of a text; without an Outline there are none.
func (s *Server) readFragment(language code.Language, text []byte) []code.Token {
	if s.o.Outline == nil || language == "" {
		return nil
	}
	return s.o.Outline.FragmentTokens(language, text, maxFragmentTokens)
}

// part is a range of lines of a file.
type part struct{ first, last int }

// cutParts splits a text into parts of at most maxPartLines.
func cutParts(t *codehtml.Text) (parts []part) {
	for first := 1; first <= t.Lines(); first += maxPartLines {
		parts = append(parts, part{first, min(first+maxPartLines-1, t.Lines())})
	}
	return parts
}

// choosePart returns the index of the part with the given number, or of the part with the
// mark.
func choosePart(parts []part, number int, mark codehtml.Range) int {
	if number >= 1 && number <= len(parts) {
		return number - 1
	}
	for i, p := range parts {
		if mark.From.Line >= p.first && mark.From.Line <= p.last {
			return i
		}
	}
	return 0
}

// describePart describes which part of a long file the page shows, and anything unusual
// in it.
func (s *Server) describePart(p *codePage, d *codeData, body *fileBody, t *codehtml.Text, parts []part, shown int) {
	if len(parts) > 1 {
		d.Notes = append(d.Notes, s.texts.mustFormat("codePart", "first", parts[shown].first, "last", parts[shown].last, "lines", t.Lines()))
		body.Previous, body.Next = partURL(p, shown, len(parts)), partURL(p, shown+2, len(parts))
	}
	if t.HasDirectionMarks(parts[shown].first, parts[shown].last) {
		d.Notes = append(d.Notes, s.texts.mustFormat("codeDirectionMarks"))
	}
}

// partURL returns the address of a part by its number from 1; empty if there is none.
func partURL(p *codePage, number, parts int) string {
	if number < 1 || number > parts {
		return ""
	}
	return p.pageURL(source.PageBlob, p.Path) + "?part=" + strconv.Itoa(number)
}

// withQuery returns an address with the request's parameters that select lines, and one
// more parameter.
func withQuery(address string, r *http.Request, name, value string) string {
	kept := url.Values{name: {value}}
	for _, k := range []string{"L", "highlightRange", "part", "view", "long"} {
		if v := r.URL.Query().Get(k); v != "" && len(v) <= 64 {
			kept.Set(k, v)
		}
	}
	return address + "?" + kept.Encode()
}

// withPlace returns an address with the marked lines as a parameter, if there are any.
func withPlace(address, name string, mark codehtml.Range) string {
	if mark.IsEmpty() {
		return address
	}
	return address + "?" + name + "=" + mark.String()
}

// explainUnreadable explains why an existing file has no text to show, and what to do.
func (s *Server) explainUnreadable(err error, p *codePage) *problem {
	switch {
	case errors.Is(err, source.ErrBinary):
		return &problem{Icon: "binary", Title: s.texts.mustFormat("codeBinary"), Text: s.texts.mustFormat("codeBinaryText"),
			Links: []crumb{{s.texts.mustFormat("codeDownload"), p.pageURL(source.PageRaw, p.Path)}}}
	}
	return &problem{Icon: "file-x", Title: s.texts.mustFormat("codeTooLarge"), Text: s.texts.mustFormat("codeTooLargeText", "size", formatBytes(source.DefaultMaxFileBytes))}
}

// explainSubmodule explains where a submodule is, with a link if Quarry has its
// repository. Other URLs are shown as text, because they are untrusted.
func (s *Server) explainSubmodule(ctx context.Context, p *codePage) *problem {
	out := &problem{Icon: "folder-git-2", Title: s.texts.mustFormat("codeSubmodule"), Text: code.SkipSubmodule.Advice()}
	directory := strings.TrimPrefix(path.Dir("/"+p.Path), "/")
	found, err := s.o.Code.Submodules(ctx, p.repository, p.commit(), directory)
	m := found[p.Path]
	switch short := shortCommit(string(m.Commit)); {
	case err != nil || m.Commit == "":
	case m.Repository != "":
		out.Text = s.texts.mustFormat("codeSubmoduleHere")
		out.Links = []crumb{{codehtml.SpellHidden(m.Repository) + "@" + short, m.PageAddress()}}
	case m.CloneURL != "":
		out.Text = s.texts.mustFormat("codeSubmoduleElsewhere", "url", codehtml.SpellHidden(m.CloneURL), "commit", short, "advice", out.Text)
	}
	return out
}

// explainLink shows the target of a symbolic link.
func (s *Server) explainLink(p *codePage, target string) *problem {
	out := &problem{Icon: "file-symlink", Title: s.texts.mustFormat("codeSymlink"), Text: s.texts.mustFormat("codeSymlinkText", "target", codehtml.SpellHidden(target))}
	resolved := path.Clean(path.Join(path.Dir("/"+p.Path), target))
	if !strings.HasPrefix(target, "/") && len(target) < code.MaxPathBytes && strings.HasPrefix(resolved, "/") && resolved != "/" {
		out.Links = []crumb{{codehtml.SpellHidden(resolved[1:]), p.pageURL(source.PageBlob, code.SpellPath(resolved[1:]))}}
	}
	return out
}

// lfsPrefix is the prefix of the text that git has in place of a file that Git LFS
// stores.
var lfsPrefix = []byte("version https://git-lfs.github.com/spec/v1\n")

// lfsSize returns the size of the file that a Git LFS pointer refers to.
func lfsSize(text []byte) (int64, bool) {
	if len(text) > 1024 || !bytes.HasPrefix(text, lfsPrefix) {
		return 0, false
	}
	for line := range bytes.Lines(text) {
		if digits, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("size ")); ok {
			n, err := strconv.ParseInt(string(digits), 10, 64)
			return n, err == nil && n >= 0
		}
	}
	return 0, false
}
