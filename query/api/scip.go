package api

import (
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/projections/scip"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/query/precise"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

var errNoPrecise = fmt.Errorf("%w: this process has no precise indexes", failure.ErrUnavailable)

// uploadScip stores the precise index of a commit.
func (s *Server) uploadScip(r *http.Request) (*reply, error) {
	if s.o.Precise == nil {
		return nil, errNoPrecise
	}
	known, err := s.visibleByID(r)
	if err != nil {
		return nil, err
	}
	p := queryParams(r)
	commit, path := p.wordParam("commit"), p.textParam("path", maxPathParameter)
	front.ExchangeIn(r.Context()).SetAuditTarget(audit.TargetRepository, known.Name, "commit", commit, "path", path)
	if p.err != nil {
		return nil, p.err
	}
	if r.ContentLength > s.o.MaxScipBytes {
		return nil, fmt.Errorf("%w: %d bytes, at most %d, the bound scip.maxUploadBytes", scip.ErrTooLarge, r.ContentLength, s.o.MaxScipBytes)
	}
	ev, _, err := s.o.Precise.Upload(r.Context(), precise.Origin{Repository: &known, Commit: code.CommitID(commit), Path: path}, r.Body)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("%w: want it within %s", errBodySlow, precise.MaxUploadTime)
	}
	if err != nil {
		return nil, err
	}
	return &reply{status: http.StatusCreated, body: s.newScipUpload(&known, ev)}, nil
}

// listScipUploads lists the precise indexes of a repository.
func (s *Server) listScipUploads(r *http.Request) (*reply, error) {
	if s.o.Precise == nil {
		return nil, errNoPrecise
	}
	known, err := s.visibleByID(r)
	if err != nil {
		return nil, err
	}
	front.ExchangeIn(r.Context()).SetAuditTarget(audit.TargetRepository, known.Name)
	out := wire.ScipUploads{Uploads: []wire.ScipUpload{}}
	uploads := s.o.Precise.Uploads(known.ID)
	for i := range uploads {
		out.Uploads = append(out.Uploads, s.newScipUpload(&known, &uploads[i]))
	}
	return okReply(out), nil
}

// deleteScipUpload takes a precise index back.
func (s *Server) deleteScipUpload(r *http.Request) (*reply, error) {
	if s.o.Precise == nil {
		return nil, errNoPrecise
	}
	known, err := s.visibleByID(r)
	if err != nil {
		return nil, err
	}
	id, x := mux.Vars(r)["uploadId"], front.ExchangeIn(r.Context())
	x.SetAuditTarget(audit.TargetRepository, known.Name, "upload", id)
	deleted, err := s.o.Precise.Delete(r.Context(), &known, id)
	if err == nil {
		x.AddMetadata("commit", string(deleted.Commit))
		x.AddMetadata("path", deleted.Path)
	}
	return noContentOrError(err)
}

func (s *Server) newScipUpload(known *code.Repository, ev *event.ScipUploaded) wire.ScipUpload {
	return wire.ScipUpload{
		ID: precise.UploadID(ev), RepoID: s.numberOf(known.ID), RepoName: known.Name, Commit: string(ev.Commit), Path: ev.Path, Tool: ev.Tool, ToolVersion: ev.ToolVersion,
		Documents: ev.Documents, Occurrences: int(ev.Occurrences), Symbols: ev.Symbols, SizeBytes: int(ev.SizeBytes), UploadedAt: wire.At(ev.At),
	}
}
