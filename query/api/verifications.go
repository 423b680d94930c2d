package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// Bounds of a verification.
const (
	// maxVerificationTime ends one.
	maxVerificationTime = 24 * time.Hour
	// maxVerified bounds the repositories that a request names.
	maxVerified = 10_000
)

// Verifier compares what is indexed with the repositories.
type Verifier interface {
	// Verify calls emit with everything it has to say, in this goroutine, the
	// summary last. It fails with ErrUnavailable, before the first call, if it
	// cannot be done here or now.
	Verify(ctx context.Context, r Verification, emit func(*VerificationFrame) error) error
}

// Verification is what to compare.
type Verification struct {
	// Repositories are the ones to look at; empty means all.
	Repositories []code.RepositoryID
	// Remote compares with the repositories themselves, too; otherwise only with
	// the mirrors.
	Remote bool
	// Repair has what differs indexed again, and compares that once more.
	Repair bool
}

// The types of frames.
const (
	FrameProgress   = "progress"
	FrameDifference = "difference"
	FrameUnchecked  = "unchecked"
	FrameRepair     = "repair"
	FrameSummary    = "summary"
)

// VerificationFrame is one thing that a verification has to say. Which fields it
// has depends on the type.
type VerificationFrame struct {
	Type string `json:"type"`

	// Of a difference, and of a repository that could not be compared:
	Repository code.RepositoryID     `json:"-"`
	Number     code.RepositoryNumber `json:"repoId,omitempty"` // of Repository
	Name       string                `json:"repoName,omitempty"`
	Ref        code.Ref              `json:"ref,omitempty"`
	// Kind is one word; Message is for people.
	Kind    string `json:"kind,omitempty"`
	Message string `json:"message,omitempty"`
	// Path is the first of Count files.
	Path  string `json:"path,omitempty"`
	Count int    `json:"count,omitempty"`
	// Indexed and Found are what differs: commits, branches, numbers.
	Indexed string `json:"indexed,omitempty"`
	Found   string `json:"found,omitempty"`
	// AfterRepair says that indexing again did not help.
	AfterRepair bool `json:"afterRepair,omitempty"`

	// Of progress and the summary:
	Counts *VerificationCounts `json:"counts,omitempty"`
}

// VerificationCounts say how far a verification is, or was.
type VerificationCounts struct {
	Repositories int `json:"repositories"`
	// Total is how many repositories are to be looked at.
	Total int `json:"repositoriesTotal"`
	Refs  int `json:"refs"`
	Files int `json:"files"`
	// Differences counts the remaining ones: in a summary after a repair, what it
	// left.
	Differences int `json:"differences"`
	Repaired    int `json:"repaired"`
	// Unchecked counts the repositories and refs that could not be compared.
	Unchecked int `json:"unchecked"`
}

// verifyIndex answers POST /api/verifications: frames, as they come.
func (s *Server) verifyIndex(w http.ResponseWriter, r *http.Request) error {
	var in wire.VerificationRequest
	if err := s.decodeBody(r, &in); err != nil {
		return err
	}
	if s.o.Verifier == nil {
		return fmt.Errorf("%w: this process has no mirrors to compare with; use one with the roles pipeline and query", ErrUnavailable)
	}
	request := Verification{Remote: in.Remote, Repair: in.Repair}
	var err error
	if request.Repositories, err = s.resolveRepositories(r.Context(), in.Repositories); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxVerificationTime)
	defer cancel()
	f := newFrameWriter(w, front.ExchangeIn(r.Context()).Control(), s.o.PartTimeout, time.Now().Add(maxVerificationTime))
	defer f.close()
	err = s.o.Verifier.Verify(ctx, request, func(frame *VerificationFrame) error {
		frame.Number = s.numberOf(frame.Repository)
		return f.sendFrame(frame)
	})
	if err == nil {
		if err = f.sendLine("[DONE]"); err != nil {
			return err
		}
		_ = f.control.SetWriteDeadline(time.Now().Add(s.o.WriteTimeout)) // the connection may serve others
		return nil
	}
	if !f.begun {
		return fmt.Errorf("verify: %w", err)
	}
	if f.err == nil {
		f.sendError(err, front.ExchangeIn(r.Context()).ID())
	}
	return err
}

// resolveRepositories returns the repositories of names or numbers.
func (s *Server) resolveRepositories(ctx context.Context, names []string) ([]code.RepositoryID, error) {
	if len(names) > maxVerified {
		return nil, fmt.Errorf("%w: repositories: %d, at most %d", errBody, len(names), maxVerified)
	}
	var ids []code.RepositoryID
	for _, name := range names {
		candidate := code.Repository{Name: name}
		if n, err := strconv.ParseUint(name, 10, 64); err == nil {
			candidate = code.Repository{ID: s.repositoryWith(n)}
		}
		known, err := s.o.Catalog.Find(ctx, candidate)
		if err != nil {
			return nil, fmt.Errorf("repository %.80q: %w", name, err)
		}
		ids = append(ids, known.ID)
	}
	return ids, nil
}
