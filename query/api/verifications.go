package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
	"github.com/quarrysearch/quarry/schemas/verification"
)

// Bounds of a verification.
const (
	// maxVerificationTime bounds the time of a verification.
	maxVerificationTime = 24 * time.Hour
	// maxVerified bounds the repositories that a request names.
	maxVerified = 10_000
)

// Verifier compares the index with the repositories.
type Verifier interface {
	// Verify calls emit with every finding, one after another, and the summary last. It
	// fails with failure.ErrUnavailable or verification.ErrBusy, before the first call, if
	// verification is not possible here or now.
	Verify(ctx context.Context, r verification.Request, emit func(*verification.Finding) error) error
}

// NewVerificationFrame converts a finding, with the number of its repository.
func NewVerificationFrame(f *verification.Finding, number code.RepositoryNumber) *wire.VerificationFrame {
	out := &wire.VerificationFrame{
		Type: wire.VerificationFrameType(f.Type), Node: f.Node, RepoID: number, RepoName: f.Name, Ref: string(f.Ref), Kind: wire.VerificationFrameKind(f.Kind),
		Message: f.Message, Path: f.Path, Count: f.Count, Indexed: f.Indexed, Found: f.Found, AfterRepair: f.AfterRepair,
	}
	if c := f.Counts; c != nil {
		out.Counts = &wire.VerificationCounts{
			Repositories: c.Repositories, RepositoriesTotal: c.Total, Refs: c.Refs, Files: c.Files,
			Differences: c.Differences, Repaired: c.Repaired, Unchecked: c.Unchecked,
		}
	}
	return out
}

// verifyIndex handles POST /api/verifications and streams frames.
func (s *Server) verifyIndex(w http.ResponseWriter, r *http.Request) error {
	var in wire.VerificationRequest
	if err := s.decodeBody(r, &in); err != nil {
		return err
	}
	if s.o.Verifier == nil {
		return fmt.Errorf("%w: this process has no mirrors to compare with; set git.peers, or use one with the roles pipeline and query", failure.ErrUnavailable)
	}
	request := verification.Request{Remote: in.Remote, Repair: in.Repair}
	var err error
	if request.Repositories, err = s.resolveRepositories(r.Context(), in.Repositories); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxVerificationTime)
	defer cancel()
	f := newFrameWriter(w, front.ExchangeIn(r.Context()).Control(), s.o.PartTimeout, time.Now().Add(maxVerificationTime))
	defer f.close()
	err = s.o.Verifier.Verify(ctx, request, func(finding *verification.Finding) error {
		return f.sendFrame(NewVerificationFrame(finding, s.numberOf(finding.Repository)))
	})
	if err == nil {
		if err = f.sendLine("[DONE]"); err != nil {
			return err
		}
		_ = f.control.SetWriteDeadline(time.Now().Add(s.o.WriteTimeout)) // restore it for later requests on the connection
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

// resolveRepositories returns the repositories for names or numbers.
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
