package web

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/query/web/internal/codehtml"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// symbolsPath is the address of the page of a name: where it is defined, and where it is
// used. fragment=card is the part that a script shows next to the name, fragment=count
// returns how often it is used, and go=definition redirects to its definition.
const symbolsPath = "/symbols"

// openReferences is the number of lines of a file that are not folded.
const openReferences = 10

// symbolRequest holds the parameters of the page's address.
type symbolRequest struct {
	Name, Repository, Revision, Path, Language string
	Line, Column                               int
	IncludeText                                bool // include comments and strings
}

func readSymbolRequest(r *http.Request) symbolRequest {
	v := r.URL.Query()
	q := symbolRequest{
		Name: strings.TrimSpace(v.Get("name")), Repository: v.Get("repo"), Revision: v.Get("rev"), Path: v.Get("path"), Language: v.Get("lang"), IncludeText: v.Get("text") == "1",
	}
	q.Line, _ = strconv.Atoi(v.Get("line"))     // 0 if it is not a number
	q.Column, _ = strconv.Atoi(v.Get("column")) // likewise
	return q
}

// URL returns the address of the page.
func (q symbolRequest) URL() string {
	v := url.Values{"name": {q.Name}}
	for name, value := range map[string]string{"repo": q.Repository, "rev": q.Revision, "path": q.Path, "lang": q.Language} {
		if value != "" {
			v.Set(name, value)
		}
	}
	for name, value := range map[string]int{"line": q.Line, "column": q.Column} {
		if value > 0 {
			v.Set(name, strconv.Itoa(value))
		}
	}
	if q.IncludeText {
		v.Set("text", "1")
	}
	return symbolsPath + "?" + v.Encode()
}

// TextURL returns the address of the same page with comments and strings; templates call
// it.
func (q symbolRequest) TextURL() string {
	q.IncludeText = true
	return q.URL()
}

// findSymbols runs an operation for the name at its position. If the index does not have
// the name there, as for a commit that is not indexed, it searches for the name alone.
func (q symbolRequest) findSymbols(ctx context.Context, find func(context.Context, wire.FindSymbolsRequest) (*wire.FindSymbolsResponse, error)) (*wire.FindSymbolsResponse, error) {
	in := wire.FindSymbolsRequest{SymbolName: q.Name, Language: q.Language, RevisionName: q.Revision, IncludeText: q.IncludeText}
	if q.Repository != "" && q.Path != "" && q.Line > 0 {
		in.Position = wire.FindPosition{RepoName: q.Repository, RevisionName: q.Revision, Path: q.Path, LineNumber: q.Line, Column: max(q.Column, 0)}
	}
	found, err := find(ctx, in)
	if err == nil && len(found.Files) == 0 && slices.ContainsFunc(found.Notices, func(n wire.SearchNotice) bool { return string(n.Code) == string(syntax.PositionWithoutSymbol) }) {
		in.Position = wire.FindPosition{}
		return find(ctx, in)
	}
	return found, err
}

// symbolData is the data of the page.
type symbolData struct {
	symbolRequest
	Definition *symbolDefinition // the most likely one
	Sections   []symbolSection   // definitions first, then uses, the nearest first
	Found      int               // number of definitions
	Uses, Text int               // references, and omitted ones in comments and strings
	Cut        bool              // there are more
}

// symbolDefinition is where and how a name is defined.
type symbolDefinition struct {
	Signature       markup
	Kind, Doc       string
	Place, URL      string
	Repository      string
	IsOther, IsSure bool // in another repository; certain for the name at the position
}

// symbolSection is a group of files.
type symbolSection struct {
	ID, Title, Count string
	Files            markup
}

// symbolPage shows where a name is defined and used.
func (s *Server) symbolPage(w http.ResponseWriter, v *pageRequest) error {
	ctx, api := v.r.Context(), s.operationsOf(v)
	d := &symbolData{symbolRequest: readSymbolRequest(v.r)}
	if d.Name == "" {
		return s.renderPage(w, v, view{template: "symbols", title: s.texts.mustFormat("symbolsTitle"), data: d})
	}
	fragment := v.r.URL.Query().Get("fragment")
	if fragment != "count" {
		if err := s.addDefinitions(ctx, api, d); err != nil {
			return operationError(v, err)
		}
	}
	if d.Definition != nil && v.r.URL.Query().Get("go") == "definition" {
		seeOther(w, v, d.Definition.URL)
		return nil
	}
	if fragment != "card" {
		if err := s.addReferences(ctx, api, d); err != nil {
			return operationError(v, err)
		}
	}
	if fragment == "card" || fragment == "count" {
		return s.renderPart(w, "symbols", fragment, d)
	}
	return s.renderPage(w, v, view{template: "symbols", title: codehtml.SpellHidden(cutText(d.Name, 80)), broad: true, script: resultsScript, data: d})
}

// renderPart sends a part of a page for a script.
func (s *Server) renderPart(w http.ResponseWriter, page, part string, data any) error {
	var b bytes.Buffer
	if err := s.templates.execute(&b, page, part, data); err != nil {
		return fmt.Errorf("web: render %s: %w", part, err)
	}
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	_, _ = w.Write(b.Bytes()) // the browser may have disconnected
	return nil
}

func (s *Server) addDefinitions(ctx context.Context, api *client.Client, d *symbolData) error {
	found, err := d.findSymbols(ctx, api.FindDefinitions)
	if err != nil {
		return err
	}
	d.Found, d.Cut = found.Stats.MatchCount, !found.IsSearchExhaustive
	if d.Found == 0 {
		return nil
	}
	file := &found.Files[0]
	m := &file.Matches[0]
	d.Definition = &symbolDefinition{
		Kind: m.Symbol.Kind, Doc: m.Doc, Place: file.FileName + ":" + strconv.Itoa(m.Range.Start.LineNumber), Repository: file.Repository,
		IsOther: file.Repository != d.Repository, IsSure: m.Relation == wire.FindMatchRelationMeaning,
		URL: d.fileURL(file) + "?L=" + strconv.Itoa(m.Range.Start.LineNumber),
	}
	signature := m.Signature
	if signature == "" {
		signature = strings.TrimSpace(m.LineContent)
	}
	d.Definition.Signature = s.renderCode(code.Language(file.Language), signature)
	d.Sections = append(d.Sections, s.newSymbolSection("definitions", d, found.Files))
	return nil
}

// renderCode renders a piece of code with colors.
func (s *Server) renderCode(language code.Language, text string) markup {
	out := codehtml.New([]byte(text), s.readFragment(language, []byte(text))).NewCursor().AppendSpan(nil, 0, len(text))
	return markup(out)
}

// addReferences adds the uses by their distance from the position.
func (s *Server) addReferences(ctx context.Context, api *client.Client, d *symbolData) error {
	found, err := d.findSymbols(ctx, api.FindReferences)
	if err != nil {
		return err
	}
	d.Text, d.Cut = found.Stats.TextMatchCount, d.Cut || !found.IsSearchExhaustive
	byPlace := map[string][]wire.FindFile{}
	for _, f := range found.Files {
		f.Matches = slices.DeleteFunc(f.Matches, func(m wire.FindMatch) bool { return m.Role == wire.FindMatchRoleDefinition })
		if len(f.Matches) == 0 {
			continue
		}
		place := d.placeOf(&f)
		if byPlace[place] = append(byPlace[place], f); place != "namesake" {
			d.Uses += len(f.Matches)
		}
	}
	for _, place := range []string{"file", "package", "import", "repository", "everywhere", "namesake"} {
		if len(byPlace[place]) > 0 {
			d.Sections = append(d.Sections, s.newSymbolSection(place, d, byPlace[place]))
		}
	}
	return nil
}

// placeOf returns how near a file is to the position, or "namesake" if it refers to other
// symbols of the name.
func (q symbolRequest) placeOf(f *wire.FindFile) string {
	if f.Matches[0].Relation == wire.FindMatchRelationNamesake {
		return "namesake"
	}
	if f.Repository == q.Repository && f.FileName == q.Path {
		return "file"
	}
	for _, m := range f.Matches {
		if m.Relation == wire.FindMatchRelationPackage || m.Relation == wire.FindMatchRelationImport {
			return string(m.Relation)
		}
	}
	switch {
	case f.Repository != q.Repository:
		return "everywhere"
	case path.Dir(f.FileName) == path.Dir(q.Path):
		return "package"
	}
	return "repository"
}

// newSymbolSection renders files like results, with a line for each match.
func (s *Server) newSymbolSection(id string, d *symbolData, files []wire.FindFile) symbolSection {
	w := s.newFileWriter(false)
	w.open = openReferences
	matches := 0
	for i := range files {
		f := d.newFileMatch(&files[i])
		w.writeFile(&f)
		matches += len(files[i].Matches)
	}
	return symbolSection{ID: id, Title: s.texts.mustFormat("symbolsPlace_" + id), Count: formatNumber(matches), Files: markup(w.out)}
}

// newFileMatch converts a file to a result with a chunk for each line.
func (q symbolRequest) newFileMatch(f *wire.FindFile) search.FileMatch {
	repo := &corpus.Repository{Repository: code.Repository{Name: f.Repository}}
	out := search.FileMatch{Repo: repo, Ref: repo.DefaultRef(), Path: f.FileName, Language: code.Language(f.Language)}
	if q.Revision != "" {
		out.Ref = code.Ref(q.Revision)
	}
	for i := range f.Matches {
		m := &f.Matches[i]
		r := search.Range{Start: newLocation(m.Range.Start), End: newLocation(m.Range.End)}
		if n := len(out.Chunks); n > 0 && out.Chunks[n-1].Start.LineNumber == r.Start.LineNumber {
			out.Chunks[n-1].Ranges = append(out.Chunks[n-1].Ranges, r)
			continue
		}
		before := len(m.LineContent[:byteOfColumn(m.LineContent, r.Start.Column)])
		out.Chunks = append(out.Chunks, search.Chunk{
			Content: []byte(m.LineContent), Ranges: []search.Range{r},
			Start: search.Location{ByteOffset: r.Start.ByteOffset - before, LineNumber: r.Start.LineNumber, Column: 1},
		})
	}
	return out
}

func newLocation(l wire.Location) search.Location {
	return search.Location{ByteOffset: l.ByteOffset, LineNumber: l.LineNumber, Column: l.Column}
}

// byteOfColumn returns the byte offset of a character of a line, from 1.
func byteOfColumn(line string, column int) int {
	for i := range line {
		if column--; column <= 0 {
			return i
		}
	}
	return len(line)
}

// fileURL returns the page of a file at the revision that was searched.
func (q symbolRequest) fileURL(f *wire.FindFile) string {
	m := q.newFileMatch(&wire.FindFile{Repository: f.Repository, FileName: f.FileName})
	a := addressOf(&m)
	return a.String()
}
