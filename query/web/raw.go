package web

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/query/web/internal/document"
	"github.com/quarrysearch/quarry/schemas/code"
)

// rawFile is the answer of the raw route.
type rawFile struct {
	body []byte
	kind string // Content-Type
	save bool   // to a file: no browser shows it
}

// Types of raw files. Everything else is text, or is saved.
const (
	rawText   = "text/plain; charset=utf-8"
	rawBinary = "application/octet-stream"
	rawSVG    = "image/svg+xml"
)

// imageTypes are the images that browsers decode without running anything, by extension.
var imageTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".avif": "image/avif", ".bmp": "image/bmp", ".ico": "image/x-icon",
}

// imageType returns the type of an image by the name of its file; empty if it is none.
func imageType(name string) string { return imageTypes[strings.ToLower(path.Ext(name))] }

// readRaw reads a file as it is. What has no text is an image or is saved; what cannot be
// read leads to its page, which says why.
func (s *Server) readRaw(v *pageRequest, p *codePage) error {
	ctx := v.r.Context()
	file, err := s.o.Source.File(ctx, p.repository, p.commit(), p.Path)
	switch {
	case errors.Is(err, source.ErrDirectory):
		p.redirectTo = p.pageURL(source.PageTree, p.Path)
		return nil
	case errors.Is(err, source.ErrBinary):
		return s.readBinary(v, p)
	case isOneOf(err, source.ErrTooLarge, source.ErrSubmodule):
		p.redirectTo = p.pageURL(source.PageBlob, p.Path)
		return nil
	case err != nil:
		return err
	}
	p.raw = &rawFile{body: file.Text, kind: rawText}
	if number, err := strconv.Atoi(v.r.URL.Query().Get("image")); err == nil {
		if p.raw.body, p.raw.kind, err = document.NotebookImage(file.Text, number); err != nil {
			return fmt.Errorf("%w: %w", errNoFile, err)
		}
		return nil
	}
	// An SVG file is an image within a page of ours, where it runs nothing; by itself it
	// is text, whatever the sandbox holds.
	if strings.EqualFold(path.Ext(p.Path), ".svg") && v.r.Header.Get("Sec-Fetch-Dest") == "image" {
		p.raw.kind = rawSVG
	}
	return nil
}

// readBinary reads the bytes of a file that is no text.
func (s *Server) readBinary(v *pageRequest, p *codePage) error {
	body, err := s.o.Source.Content(v.r.Context(), p.repository, p.commit(), p.Path)
	if isOneOf(err, source.ErrTooLarge, source.ErrUnavailable) {
		p.redirectTo = p.pageURL(source.PageBlob, p.Path)
		return nil
	}
	if err != nil {
		return err
	}
	p.raw = &rawFile{body: body, kind: imageType(p.Path)}
	if p.raw.kind == "" {
		p.raw.kind, p.raw.save = rawBinary, true
	}
	return nil
}

// sendRaw answers with a file. Whatever it contains, a browser shows it as the type says,
// in an origin that has nothing.
func sendRaw(w http.ResponseWriter, p *codePage) error {
	h := w.Header()
	h.Set("Content-Type", p.raw.kind)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Vary", "Sec-Fetch-Dest, Cookie, Authorization")
	disposition := "inline"
	if p.raw.save {
		disposition = "attachment"
	}
	h.Set("Content-Disposition", disposition)
	name := code.SpellPath(p.Path[strings.LastIndexByte(p.Path, '/')+1:])
	if named := mime.FormatMediaType(disposition, map[string]string{"filename": name}); named != "" {
		h.Set("Content-Disposition", named)
	}
	h.Set("Content-Length", strconv.Itoa(len(p.raw.body)))
	_, _ = w.Write(p.raw.body) // a browser that has gone needs no answer
	return nil
}
