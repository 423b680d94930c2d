package api

import (
	"net/http"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
)

type blameResponse struct {
	Ranges  []blameRange                  `json:"ranges"`
	Commits map[code.CommitID]blameCommit `json:"commits"`
}

type blameRange struct {
	Hash      code.CommitID `json:"hash"`
	Path      string        `json:"path"`
	StartLine int           `json:"startLine"`
	LineCount int           `json:"lineCount"`
}

type blameCommit struct {
	Hash        code.CommitID  `json:"hash"`
	Date        jsonTime       `json:"date"`
	Message     string         `json:"message"`
	AuthorName  string         `json:"authorName"`
	AuthorEmail string         `json:"authorEmail"`
	Previous    *blamePrevious `json:"previous,omitempty"`
}

type blamePrevious struct {
	Hash code.CommitID `json:"hash"`
	Path string        `json:"path"`
}

func (s *Server) blame(r *http.Request) (*reply, error) {
	p := queryParams(r)
	path, ref := p.required("path", maxPathParameter), p.text("ref", maxPathParameter)
	repository, err := s.repositoryOf(r.Context(), p)
	if err != nil {
		return nil, err
	}
	b, err := s.o.Source.Blame(r.Context(), repository, ref, path)
	if err != nil {
		return nil, err
	}
	return ok(newBlameResponse(b)), nil
}

func newBlameResponse(b *source.Blame) *blameResponse {
	out := &blameResponse{make([]blameRange, len(b.Ranges)), make(map[code.CommitID]blameCommit, len(b.Commits))}
	for i, r := range b.Ranges {
		out.Ranges[i] = blameRange{r.Commit, r.Path, r.Start, r.Lines}
	}
	for id, c := range b.Commits {
		commit := blameCommit{Hash: id, Date: jsonTime(c.Time), Message: c.Subject, AuthorName: c.AuthorName, AuthorEmail: c.AuthorEmail}
		if c.Previous != "" {
			commit.Previous = &blamePrevious{c.Previous, c.PreviousPath}
		}
		out.Commits[id] = commit
	}
	return out
}
