package api

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/indexing"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

func (s *Server) repositoryStatus(r *http.Request) (*reply, error) {
	known, err := s.visibleByID(r)
	if err != nil {
		return nil, err
	}
	id := known.ID
	front.ExchangeIn(r.Context()).SetAuditTarget(audit.TargetRepository, known.Name)
	st, err := s.o.Status.Status(r.Context(), id)
	if err != nil {
		return nil, unknownRepository(r, err)
	}
	if !s.callerVisibility(r.Context()).Everything() {
		st.Applied = nil // it counts the events of other repositories
	}
	out := &wire.RepositoryStatus{
		RepoID: s.numberOf(id), RepoName: st.Repository.Name, State: wire.RepositoryStatusState(st.State), Refs: make([]wire.RefStatus, len(st.Refs)),
		Segments: st.Segments, Files: st.Files, SkippedFiles: st.SkippedFiles, IndexedCommitHash: string(st.Commit),
		IndexedAt: wire.At(st.IndexedAt), PushedAt: wire.At(st.PushedAt), AppliedPosition: wireOptional(st.Applied),
		MirrorMissing: st.MirrorMissing,
		Selection:     st.Selection, Freshness: newFreshness(&st.Freshness, s.o.Now()),
	}
	if out.Skipped, err = s.firstSkipped(r.Context(), id); err != nil {
		return nil, fmt.Errorf("repository %d: %w", s.numberOf(id), err)
	}
	for i, ref := range st.Refs {
		out.Refs[i] = wire.RefStatus{Ref: string(ref.Ref), Commit: string(ref.Commit), IndexedAt: wire.At(ref.IndexedAt)}
	}
	if p := st.Progress; p != nil {
		out.Progress = wire.ImportProgress(*p)
	}
	if f := st.LastError; f != nil {
		out.LastError = wire.ImportFailure{Code: wire.FailureCode(f.Code), Message: failure.Describe(f.Code).Message(), Detail: detailFor(r, f), At: wire.At(f.At)}
	}
	if l := st.Reconciliation; l != nil {
		out.Reconciliation = wire.Reconciliation{LookedAt: wire.At(l.LookedAt), Result: wire.ReconciliationResult(l.Result), NextAt: wire.At(l.NextAt)}
		if f := l.Failed; f != nil {
			out.Reconciliation.Code, out.Reconciliation.Error, out.Reconciliation.Detail = wire.FailureCode(f.Code), failure.Describe(f.Code).Message(), detailFor(r, f)
		}
	}
	return okReply(out), nil
}

// detailFor returns the detail of a failure for the operator and for owners with the
// admin scope; empty for other callers.
func detailFor(r *http.Request, f *indexing.Failure) string {
	if !auth.From(r.Context()).Owner() {
		return ""
	}
	return failure.Clean(f.Detail, failure.MaxDetailBytes)
}

func (s *Server) skippedFiles(r *http.Request) (*reply, error) {
	known, err := s.visibleByID(r)
	if err != nil {
		return nil, err
	}
	id := known.ID
	p := queryParams(r)
	window := p.pageParam()
	ref := fullRef(p.textParam("ref", code.MaxRefBytes))
	reason := p.wordParam("reason")
	if p.err != nil {
		return nil, p.err
	}
	front.ExchangeIn(r.Context()).SetAuditTarget(audit.TargetRepository, known.Name, "list", "skipped files")
	files, total, err := s.o.Status.Skipped(r.Context(), id, ref, reason, window.itemOffset(), window.perPage)
	if err != nil {
		return nil, fmt.Errorf("repository %d: %w", s.numberOf(id), err)
	}
	out := okReply(newSkippedFiles(files))
	out.header = window.pageHeader(r.URL.Path, total, p, "ref", "reason")
	return out, nil
}

// fullRef interprets a short name as a branch.
func fullRef(name string) code.Ref {
	if name == "" || strings.HasPrefix(name, "refs/") {
		return code.Ref(name)
	}
	return code.BranchRef(name)
}
