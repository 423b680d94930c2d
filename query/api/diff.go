package api

import (
	"fmt"
	"net/http"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

func (s *Server) showDiff(r *http.Request) (*reply, error) {
	p := queryParams(r)
	base, head := p.textParam("base", maxPathParameter), p.textParam("head", maxPathParameter)
	path := p.directoryParam("path")
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
	out := wire.Diff{Files: make([]wire.DiffFile, len(files))}
	for i, f := range files {
		out.Files[i] = newDiffFile(&f)
	}
	return okReply(out), nil
}

func newDiffFile(f *source.FileDiff) wire.DiffFile {
	out := wire.DiffFile{OldPath: optionalText(f.Old), NewPath: optionalText(f.New), Hunks: make([]wire.DiffHunk, len(f.Hunks))}
	for i, h := range f.Hunks {
		out.Hunks[i] = wire.DiffHunk{OldRange: wire.DiffRange(h.Old), NewRange: wire.DiffRange(h.New), Heading: h.Heading, Body: h.Body}
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
