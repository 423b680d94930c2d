package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/query/web/internal/codehtml"
	"github.com/quarrysearch/quarry/query/web/internal/document"
	"github.com/quarrysearch/quarry/schemas/code"
)

// treeBody is the data of the page of a directory.
type treeBody struct {
	Entries     []treeRow
	Rest        []treeRow      // entries that are folded, so that the README of a repository begins above the fold
	Description string         // of the repository, at its root
	Languages   []languageLink // of the repository, at its root
	Readme      string         // the name of the README; empty if there is none
	ReadmeAt    string
	Rendered    markup
	Text        markup // of a README that is not Markdown
}

// Total returns the number of entries; templates call it.
func (b *treeBody) Total() int { return len(b.Entries) + len(b.Rest) }

// Bounds of the page of a directory.
const (
	maxListed        = 5000
	maxReadmeLines   = 2000
	shownAtRoot      = 10 // entries above the README of a repository
	shownLanguages   = 6
	languageFiles    = 20_000 // counted
	languagesTimeout = 300 * time.Millisecond
)

// readTree fills in the page of a directory. The root page of a repository that is not
// indexed yet explains that.
func (s *Server) readTree(v *pageRequest, p *codePage) error {
	ctx := v.r.Context()
	entries, err := s.o.Source.Folder(ctx, p.repository, p.commit(), p.Path)
	if errors.Is(err, source.ErrNoPath) && p.Path != "" {
		return s.readFileOfTree(ctx, p, err)
	}
	if err != nil && !errors.Is(err, source.ErrTooLarge) {
		return err
	}
	if v.r.URL.Query().Get("fragment") == lastFragment {
		return s.readLastChanges(ctx, p, entries)
	}
	d, err1 := s.newCodeData(v.r, p)
	if err1 != nil {
		return err1
	}
	body := &treeBody{}
	d.Body = body
	p.setView("tree", d)
	if err != nil {
		d.Problem = &problem{Icon: "folder", Title: s.texts.mustFormat("codeLargeDirectory"), Text: s.texts.mustFormat("codeLargeDirectoryText", "n", source.MaxEntries)}
		return nil
	}
	s.addTree(ctx, p, d)
	if readme := findReadme(entries); readme != "" {
		s.addReadme(ctx, p, body, readme)
	}
	if len(entries) > maxListed {
		d.Notes = append(d.Notes, s.texts.mustFormat("codeDirectoryCut", "shown", maxListed, "n", len(entries)))
		entries = entries[:maxListed]
	}
	for _, e := range entries {
		body.Entries = append(body.Entries, p.newEntryRow(strings.TrimPrefix(p.Path+"/"+e.Name, "/"), e))
	}
	s.linkSubmodules(ctx, p, body.Entries)
	if p.Path != "" {
		return nil
	}
	body.Description, body.Languages = p.repository.Description, s.findLanguages(ctx, p)
	if body.Readme != "" && len(body.Entries) > shownAtRoot+1 {
		body.Entries, body.Rest = body.Entries[:shownAtRoot], body.Entries[shownAtRoot:]
	}
	return nil
}

// lastFragment requests the last commits of a page's path, which a script adds to the page.
const lastFragment = "last"

// lastChange is the last commit of an entry of a directory.
type lastChange struct {
	URL    string // of the entry
	Commit commitRow
}

// readLastChanges fills in the last commit of the page's path and of its entries. Without git,
// there are none.
func (s *Server) readLastChanges(ctx context.Context, p *codePage, entries []source.Entry) error {
	var d struct {
		Path    *commitRow
		Entries []lastChange
	}
	p.view = view{template: "tree", part: lastFragment, data: &d}
	entries = entries[:min(len(entries), maxListed)]
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name
	}
	changes, err := s.o.Source.LastChanges(ctx, p.repository, p.commit(), p.Path, names)
	if errors.Is(err, source.ErrUnavailable) {
		return nil
	}
	if err != nil {
		return err
	}
	if c, ok := changes[""]; ok {
		row := p.newCommitRow(c, s.texts, s.o.Now())
		d.Path = &row
	}
	for _, e := range entries {
		if c, ok := changes[e.Name]; ok {
			entry := p.newEntryRow(strings.TrimPrefix(p.Path+"/"+e.Name, "/"), e)
			d.Entries = append(d.Entries, lastChange{entry.URL, p.newCommitRow(c, s.texts, s.o.Now())})
		}
	}
	return nil
}

// languageLink leads to the files of a repository in a language.
type languageLink struct{ Name, URL, Share string }

// findLanguages returns the languages with the most files of the indexed branch of a page. It
// omits them if counting takes too long.
func (s *Server) findLanguages(ctx context.Context, p *codePage) (languages []languageLink) {
	if s.o.Search == nil || p.Revision != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, languagesTimeout)
	defer cancel()
	filter := search.FilterRepository(p.repository.Name)
	q, err := syntax.Parse("type:file "+filter, syntax.Options{})
	if err != nil {
		return nil
	}
	_ = s.o.Search.RunSearch(ctx, search.Request{Query: q, Matches: languageFiles, Display: 1, Facets: true, WithoutAdvice: true},
		func([]search.FileMatch, search.Stats) error { return nil },
		func(r *search.Result, _ string) error {
			for _, f := range r.Facets {
				if f.Name != search.FacetLanguage {
					continue
				}
				for _, v := range f.Values[:min(len(f.Values), shownLanguages)] {
					share := fmt.Sprintf("%d %%", 100*v.Files/max(r.Stats.Files, 1))
					if 100*v.Files < r.Stats.Files {
						share = "< 1 %"
					}
					languages = append(languages, languageLink{v.Value, plainParams().URL(filter + " " + v.Filter + " type:file"), share})
				}
			}
			return nil
		}) // the page works without them
	return languages
}

// linkSubmodules links the submodules among the entries to their commits in repositories
// that Quarry has. Without git they link to their own pages.
func (s *Server) linkSubmodules(ctx context.Context, p *codePage, rows []treeRow) {
	if !slices.ContainsFunc(rows, func(row treeRow) bool { return row.Kind == source.KindCommit }) {
		return
	}
	found, err := s.o.Code.Submodules(ctx, p.repository, p.commit(), p.Path)
	if err != nil {
		return
	}
	for i := range rows {
		if m, ok := found[strings.TrimPrefix(p.Path+"/"+rows[i].Name, "/")]; ok && rows[i].Kind == source.KindCommit {
			rows[i].Commit = shortCommit(string(m.Commit))
			rows[i].URL = cmp.Or(m.PageAddress(), rows[i].URL)
		}
	}
}

// readFileOfTree redirects to the page of a file that was requested as a directory.
func (s *Server) readFileOfTree(ctx context.Context, p *codePage, missing error) error {
	_, err := s.o.Source.File(ctx, p.repository, p.commit(), p.Path)
	if err != nil && !isOneOf(err, source.ErrBinary, source.ErrTooLarge, source.ErrSubmodule) {
		return missing
	}
	p.redirectTo = p.pageURL(source.PageBlob, p.Path)
	return nil
}

// findReadme returns the name of the file that describes a directory.
func findReadme(entries []source.Entry) string {
	best, name := 0, ""
	for _, e := range entries {
		lower := strings.ToLower(e.Name)
		rank := slices.Index([]string{"readme.txt", "readme.rst", "readme", "readme.markdown", "readme.md"}, lower) + 1
		if e.Kind == source.KindBlob && rank > best {
			best, name = rank, e.Name
		}
	}
	return name
}

// addReadme shows the README below the entries; an unreadable one is omitted.
func (s *Server) addReadme(ctx context.Context, p *codePage, body *treeBody, name string) {
	path := strings.TrimPrefix(p.Path+"/"+name, "/")
	file, err := s.o.Source.File(ctx, p.repository, p.commit(), path)
	if err != nil || file.Skipped == code.SkipSymlink || len(file.Text) == 0 {
		return
	}
	body.Readme, body.ReadmeAt = name, p.pageURL(source.PageBlob, path)
	if isMarkdown(name) {
		if body.Rendered, err = document.RenderMarkdown(file.Text, s.documentOptions(p, "/"+p.Path)); err == nil {
			return
		}
	}
	text := codehtml.New(file.Text, nil)
	if last := min(text.Lines(), maxReadmeLines); text.Size(1, last) <= document.MaxBytes {
		body.Text = markup(text.AppendLines(nil, 1, last, codehtml.Range{}))
	}
}
