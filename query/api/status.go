package api

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// State is how far the indexing of a repository is.
type State string

// The states of a repository. One that is indexed and being updated is indexed.
const (
	StateRegistered State = "registered" // nothing done yet
	StateImporting  State = "importing"  // the first import runs
	StateIndexed    State = "indexed"    // searchable
	StateFailed     State = "failed"     // the first import failed; LastError says why
)

// RepositoryStatus is what Status knows of a repository.
type RepositoryStatus struct {
	Repository search.Repository
	State      State
	// Refs are the indexed refs, ordered by name.
	Refs []RefStatus
	// Progress is nil unless an import or update runs.
	Progress *Progress
	// LastError is the last failure; nil once a later attempt has succeeded.
	LastError *Failure
	// Segments counts the segments that hold documents of the repository, Files
	// the searchable files of the default branch, SkippedFiles those that are not.
	Segments     int
	Files        int
	SkippedFiles int
	// Applied is the position of the latest event of the repository whose effect
	// is visible to searches; nil if none is. A client that registered at a
	// position waits until Applied has reached it.
	Applied *event.Position
	// Reconciliation is the last check for pushes without a webhook; nil if this
	// process does not check.
	Reconciliation *Reconciliation
	// Selection is which refs the globs of the repository selected at the last fetch
	// of all; nil if this process does not know.
	Selection *wire.RefSelection
	Freshness Freshness
}

// Reconciliation is one check of a repository for pushes without a webhook.
type Reconciliation struct {
	// LookedAt and Result are zero before the first look.
	LookedAt time.Time
	Result   string
	// Failed is why it failed; nil if it did not.
	Failed *Failure
	NextAt time.Time
}

// RefStatus is an indexed ref.
type RefStatus struct {
	Ref       code.Ref
	Commit    code.CommitID
	IndexedAt time.Time
}

// Progress counts what an import has done. Totals are 0 until known.
type Progress struct {
	Files, FilesTotal int
	Bytes, BytesTotal int64
}

// SkippedFile is a file that is known and not searchable, or one that is and whose
// symbols are partial: one of Reason and PartialSymbols is set.
type SkippedFile struct {
	Path           string
	Ref            code.Ref
	Reason         code.SkipReason
	PartialSymbols code.PartialReason
	SizeBytes      int64
}

type statusResponse struct {
	ID           code.RepositoryNumber `json:"repoId"`
	Name         string                `json:"repoName"`
	State        State                 `json:"state"`
	Refs         []refItem             `json:"refs"`
	Progress     *progressItem         `json:"progress,omitempty"`
	LastError    *errorItem            `json:"lastError,omitempty"`
	Segments     int                   `json:"segments"`
	Files        int                   `json:"files"`
	SkippedFiles int                   `json:"skippedFiles"`
	Skipped      *skippedItems         `json:"skipped,omitempty"`
	Commit       code.CommitID         `json:"indexedCommitHash,omitempty"`
	Freshness    *freshnessItem        `json:"freshness"`
	IndexedAt    *jsonTime             `json:"indexedAt,omitempty"`
	PushedAt     *jsonTime             `json:"pushedAt,omitempty"`
	Applied      *event.Position       `json:"appliedPosition,omitempty"`
	Selection    *wire.RefSelection    `json:"selection,omitempty"`
	Reconcile    *reconcileItem        `json:"reconciliation,omitempty"`
}

type reconcileItem struct {
	LookedAt *jsonTime    `json:"lookedAt,omitempty"`
	Result   string       `json:"result,omitempty"`
	Code     failure.Code `json:"code,omitempty"`
	Error    string       `json:"error,omitempty"`
	Detail   string       `json:"detail,omitempty"`
	NextAt   *jsonTime    `json:"nextAt,omitempty"`
}

type refItem struct {
	Ref       code.Ref      `json:"ref"`
	Commit    code.CommitID `json:"commit"`
	IndexedAt *jsonTime     `json:"indexedAt,omitempty"`
}

type progressItem struct {
	Files      int   `json:"files"`
	FilesTotal int   `json:"filesTotal"`
	Bytes      int64 `json:"bytes"`
	BytesTotal int64 `json:"bytesTotal"`
}

type errorItem struct {
	Code    failure.Code `json:"code"`
	Message string       `json:"message"`
	Detail  string       `json:"detail,omitempty"`
	At      *jsonTime    `json:"at,omitempty"`
}

type skippedItem struct {
	Path      string   `json:"path"`
	Ref       code.Ref `json:"ref"`
	Reason    string   `json:"reason"`
	Symbols   string   `json:"symbols,omitempty"`
	SizeBytes int64    `json:"sizeBytes"`
	Message   string   `json:"message"`
}

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
		st.Applied = nil // it counts what happens in others
	}
	out := &statusResponse{
		ID: s.numberOf(id), Name: st.Repository.Name, State: st.State, Refs: make([]refItem, len(st.Refs)),
		Segments: st.Segments, Files: st.Files, SkippedFiles: st.SkippedFiles,
		IndexedAt: optionalTime(st.Repository.IndexedAt), PushedAt: optionalTime(st.Repository.PushedAt), Applied: st.Applied,
		Selection: st.Selection,
	}
	out.Commit, out.Freshness = st.Repository.IndexedCommit, newFreshnessItem(&st.Freshness, s.o.Now())
	if out.Skipped, err = s.firstSkipped(r.Context(), id); err != nil {
		return nil, fmt.Errorf("repository %d: %w", s.numberOf(id), err)
	}
	for i, ref := range st.Refs {
		out.Refs[i] = refItem{ref.Ref, ref.Commit, optionalTime(ref.IndexedAt)}
	}
	if p := st.Progress; p != nil {
		out.Progress = &progressItem{p.Files, p.FilesTotal, p.Bytes, p.BytesTotal}
	}
	if f := st.LastError; f != nil {
		out.LastError = &errorItem{f.Code, f.userMessage(), f.detailFor(r), optionalTime(f.At)}
	}
	if l := st.Reconciliation; l != nil {
		out.Reconcile = &reconcileItem{LookedAt: optionalTime(l.LookedAt), Result: l.Result, NextAt: optionalTime(l.NextAt)}
		if f := l.Failed; f != nil {
			out.Reconcile.Code, out.Reconcile.Error, out.Reconcile.Detail = f.Code, f.userMessage(), f.detailFor(r)
		}
	}
	return okReply(out), nil
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
	out := okReply(newSkippedItems(files))
	out.header = window.pageHeader(r.URL.Path, total, p, "ref", "reason")
	return out, nil
}

// fullRef takes a short name for a branch.
func fullRef(name string) code.Ref {
	if name == "" || strings.HasPrefix(name, "refs/") {
		return code.Ref(name)
	}
	return code.BranchRef(name)
}
