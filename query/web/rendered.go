package web

import (
	"errors"
	"path"
	"strings"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/query/web/internal/codehtml"
	"github.com/quarrysearch/quarry/query/web/internal/document"
	"github.com/quarrysearch/quarry/schemas/code"
)

// notebookBody is the data of the template for notebooks.
type notebookBody struct{ Cells []document.Cell }

// renderFile renders a file if its kind can be rendered and the reader did not request
// its text, and reports whether it did.
func (s *Server) renderFile(p *codePage, d *codeData, body *fileBody, file *source.File, q fileRequest) bool {
	extension := strings.ToLower(path.Ext(p.Path))
	isRendered := isMarkdown(p.Path) || extension == ".ipynb" || extension == ".svg"
	if !isRendered {
		return false
	}
	if q.source || q.blame || !q.mark.IsEmpty() {
		d.Links.Rendered = d.Links.Blob
		return false
	}
	var err error
	switch extension {
	case ".svg":
		body.Image = d.Links.Raw // shown above its text
		return false
	case ".ipynb":
		err = s.renderNotebook(p, d, body, file.Text)
	default:
		body.Rendered, err = document.RenderMarkdown(file.Text, s.documentOptions(p, path.Dir("/"+p.Path)))
	}
	if err != nil {
		reason := "large"
		if errors.Is(err, document.ErrNotebook) {
			reason = "notebook"
		}
		d.Notes = append(d.Notes, s.texts.mustFormat("codeNotRendered_"+reason))
		return false
	}
	body.Lines = codehtml.New(file.Text, nil).Lines()
	d.Links.Source = d.Links.Blob + "?view=source"
	d.Links.Blame = d.Links.Blob + "?blame=1"
	return true
}

func (s *Server) renderNotebook(p *codePage, d *codeData, body *fileBody, text []byte) error {
	cells, whole, err := document.RenderNotebook(text, s.documentOptions(p, path.Dir("/"+p.Path)))
	if err != nil {
		return err
	}
	if !whole {
		d.Notes = append(d.Notes, s.texts.mustFormat("codeCellsCut", "n", len(cells)))
	}
	body.Notebook = &notebookBody{cells}
	return nil
}

// documentOptions returns the options for a document of a repository: its links are
// relative to a directory.
func (s *Server) documentOptions(p *codePage, directory string) document.Options {
	pageURL := func(kind source.PageKind, path string) string { return s.public.Resolve(p.pageURL(kind, path)) }
	return document.Options{
		Link: func(target string, image bool) string {
			if !strings.HasPrefix(target, "/") {
				target = directory + "/" + target
			}
			target = path.Clean("/" + target)[1:]
			switch {
			case len(target) > code.MaxPathBytes:
				return ""
			case target == "":
				return pageURL(source.PageTree, "")
			case image:
				return pageURL(source.PageRaw, code.SpellPath(target))
			}
			return pageURL(source.PageBlob, code.SpellPath(target))
		},
		Tokens: func(language code.Language, text []byte) []code.Token {
			return s.readTokens(&source.File{Language: language, Text: text})
		},
	}
}

func isMarkdown(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".mdown", ".mkd":
		return true
	}
	return false
}
