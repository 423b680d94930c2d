package api

import (
	"fmt"
	"net/http"

	"github.com/quarrysearch/quarry/query/source"
)

type diffResponse struct {
	Files []diffFile `json:"files"`
}

// diffFile is a file that differs; a path is null where there is no file.
type diffFile struct {
	OldPath *string    `json:"oldPath"`
	NewPath *string    `json:"newPath"`
	Hunks   []diffHunk `json:"hunks"`
}

type diffHunk struct {
	OldRange diffRange `json:"oldRange"`
	NewRange diffRange `json:"newRange"`
	Heading  string    `json:"heading,omitempty"`
	Body     string    `json:"body"`
}

type diffRange struct {
	Start int `json:"start"`
	Lines int `json:"lines"`
}

func (s *Server) diff(r *http.Request) (*reply, error) {
	p := queryParams(r)
	base, head := p.required("base", maxPathParameter), p.required("head", maxPathParameter)
	path := p.directory("path")
	repository, err := s.repositoryOf(r.Context(), p)
	if err != nil {
		return nil, err
	}
	if base == "" || head == "" {
		return nil, fmt.Errorf("%w: base or head is empty", source.ErrInvalidRevision)
	}
	files, err := s.o.Source.Diff(r.Context(), repository, base, head, path)
	if err != nil {
		return nil, err
	}
	out := diffResponse{make([]diffFile, len(files))}
	for i, f := range files {
		out.Files[i] = newDiffFile(&f)
	}
	return ok(out), nil
}

func newDiffFile(f *source.FileDiff) diffFile {
	out := diffFile{OldPath: optionalText(f.Old), NewPath: optionalText(f.New), Hunks: make([]diffHunk, len(f.Hunks))}
	for i, h := range f.Hunks {
		out.Hunks[i] = diffHunk{diffRange(h.Old), diffRange(h.New), h.Heading, h.Body}
	}
	return out
}

// optionalText returns nil for the empty text.
func optionalText(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
