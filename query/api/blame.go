package api

import (
	"net/http"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

func (s *Server) showBlame(r *http.Request) (*reply, error) {
	p := queryParams(r)
	path, ref := p.textParam("path", maxPathParameter), p.textParam("ref", maxPathParameter)
	repository, err := s.repositoryOf(r.Context(), p)
	if err != nil {
		return nil, err
	}
	b, err := s.o.Source.Blame(r.Context(), repository, ref, path)
	if err != nil {
		return nil, err
	}
	return okReply(newBlameResponse(b)), nil
}

func newBlameResponse(b *source.Blame) *wire.Blame {
	out := &wire.Blame{Ranges: make([]wire.BlameRange, len(b.Ranges)), Commits: make(map[string]wire.BlameCommit, len(b.Commits))}
	for i, r := range b.Ranges {
		out.Ranges[i] = wire.BlameRange{Hash: string(r.Commit), Path: r.Path, StartLine: r.Start, LineCount: r.Lines}
	}
	for id, c := range b.Commits {
		commit := wire.BlameCommit{Hash: string(id), Date: wire.At(c.Time), Message: c.Subject, AuthorName: c.AuthorName, AuthorEmail: c.AuthorEmail}
		if c.Previous != "" {
			commit.Previous = wire.BlamePrevious{Hash: string(c.Previous), Path: c.PreviousPath}
		}
		out.Commits[string(id)] = commit
	}
	return out
}
