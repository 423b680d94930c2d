package web

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
)

// readFile makes the page of a file, or reads its text for the raw one. A directory
// has a page of another kind.
func (s *Server) readFile(v *pageRequest, p *codePage) error {
	file, err := s.o.Source.File(v.r.Context(), p.repository, p.Revision, p.Path)
	if errors.Is(err, source.ErrDirectory) {
		p.redirectTo = p.pageURL(source.PageTree, p.Path)
		return nil
	}
	d := p.pageData()
	p.setView(d)
	if reason := unreadableReason(err); reason != "" {
		if p.Kind == source.PageRaw {
			p.redirectTo = p.pageURL(source.PageBlob, p.Path) // which says why
			return nil
		}
		d.Problem = reason
		return nil
	}
	if err != nil {
		return err
	}
	if p.Kind == source.PageRaw {
		p.raw = file.Text
		return nil
	}
	fillFile(v.r, p, d, &file)
	return nil
}

// unreadableReason says why an existing file has no text to show, and what to do;
// empty if err is another error.
func unreadableReason(err error) string {
	switch {
	case errors.Is(err, source.ErrBinary):
		return "This is a binary file, or its text has no encoding that is known here. Clone the repository, or open the file on its code host."
	case errors.Is(err, source.ErrTooLarge):
		return fmt.Sprintf("This file is larger than %d MiB, the most that is shown. Clone the repository, or open the file on its code host.", source.DefaultMaxFileBytes>>20)
	case errors.Is(err, source.ErrSubmodule):
		return "This is a submodule: its files are in another repository. " + code.SkipSubmodule.Advice()
	}
	return ""
}

// fillFile puts the requested part of a file into its page, or the part that has
// the first highlighted line.
func fillFile(r *http.Request, p *codePage, d *codeData, file *source.File) {
	query := r.URL.Query()
	mark := readHighlight(query.Get("highlightRange"))
	parts := cutParts(file.Text)
	d.RawURL, d.Language = p.pageURL(source.PageRaw, p.Path), string(file.Language)
	if file.Skipped != "" {
		d.Notes = append(d.Notes, "Searches do not find this file. "+file.Skipped.Advice())
	}
	if len(parts) == 0 {
		d.Problem = "The file is empty."
		return
	}
	shown := min(partOfLine(parts, mark.from.line), len(parts)-1)
	if n, err := strconv.Atoi(query.Get("part")); err == nil && n >= 1 && n <= len(parts) {
		shown = n - 1
	}
	last := parts[len(parts)-1]
	d.Lines = last.first + last.lines - 1
	if part := parts[shown]; len(parts) > 1 {
		d.Notes = append(d.Notes, fmt.Sprintf("The file is long: these are lines %d to %d of %d. Raw has all of it.", part.first, part.first+part.lines-1, d.Lines))
		d.Previous, d.Next = partURL(p, shown, len(parts)), partURL(p, shown+2, len(parts))
	}
	if parts[shown].cut {
		d.Notes = append(d.Notes, fmt.Sprintf("The line has more than %d MiB: this is its beginning. Raw has all of it.", maxPartBytes>>20))
	}
	if hasDirectionMarks(parts[shown].text) {
		d.Notes = append(d.Notes, "The text has marks that change the direction of writing: it may read otherwise than a compiler takes it.")
	}
	d.Text = parts[shown].renderPart(mark)
}

// partURL is the address of a part by its number from 1; empty if there is none.
func partURL(p *codePage, number, parts int) string {
	if number < 1 || number > parts {
		return ""
	}
	return p.pageURL(source.PageBlob, p.Path) + "?part=" + strconv.Itoa(number)
}

// sendRaw answers with the text of a file. Whatever it contains, a browser shows it
// as plain text, in an origin that has nothing.
func sendRaw(w http.ResponseWriter, p *codePage) error {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Disposition", "inline")
	name := p.Path[strings.LastIndexByte(p.Path, '/')+1:]
	if named := mime.FormatMediaType("inline", map[string]string{"filename": name}); named != "" {
		h.Set("Content-Disposition", named)
	}
	h.Set("Content-Length", strconv.Itoa(len(p.raw)))
	_, _ = w.Write(p.raw) // a browser that has gone needs no answer
	return nil
}
