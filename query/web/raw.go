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

// rawFile is the response of the raw route.
type rawFile struct {
	body []byte
	kind string // Content-Type
	save bool   // as a download: no browser displays it
}

// Types of raw files. Everything else is text, or is downloaded.
const (
	rawText   = "text/plain; charset=utf-8"
	rawBinary = "application/octet-stream"
	rawSVG    = "image/svg+xml"
)

// imageTypes maps extensions to the image types that browsers decode without running
// anything.
var imageTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".avif": "image/avif", ".bmp": "image/bmp", ".ico": "image/x-icon",
}

// imageType returns the image type for a file name; empty if it is not an image.
func imageType(name string) string { return imageTypes[strings.ToLower(path.Ext(name))] }

// readRaw reads a file as it is. A file without text is an image or a download; an
// unreadable file redirects to its page, which explains why.
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
	// An SVG file is an image within one of our pages, where it cannot run anything; on
	// its own it is sent as text, in spite of the sandbox.
	if strings.EqualFold(path.Ext(p.Path), ".svg") && v.r.Header.Get("Sec-Fetch-Dest") == "image" {
		p.raw.kind = rawSVG
	}
	return nil
}

// readBinary reads the bytes of a binary file.
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

// sendRaw sends a file. Whatever it contains, a browser displays it according to the
// type, in an opaque origin.
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
	_, _ = w.Write(p.raw.body) // the browser may have disconnected
	return nil
}
