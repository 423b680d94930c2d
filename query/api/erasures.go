package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// Erasures take text out of every file of the data directory, now.
type Erasures interface {
	// Erase requests it, durably, and returns what was begun. The error wraps
	// ErrConflict if it is not possible in the current state.
	Erase(ctx context.Context, r ErasureRequest) (Erasure, error)
	// List returns the erasures that this process knows, the newest first.
	List(ctx context.Context) ([]Erasure, error)
}

// ErasureRequest names what is to be erased.
type ErasureRequest struct {
	Repository code.RepositoryID
	// Commit is a commit that no ref leads to, Path a file or directory that no commit
	// has to which a ref leads; both are empty for the whole repository.
	Commit code.CommitID
	Path   string
}

// IsRepository reports whether the whole repository is to be erased.
func (r ErasureRequest) IsRepository() bool { return r.Commit == "" && r.Path == "" }

// ErasureState is how far an erasure is.
type ErasureState string

// The states of an erasure; the last two are final.
const (
	ErasureWorking ErasureState = "erasing"
	ErasureDone    ErasureState = "done"
	ErasureFailed  ErasureState = "failed"
)

// ErasureWait is what an erasure waits for.
type ErasureWait string

// What an erasure may wait for.
const (
	ErasureWaitsForWorkers  ErasureWait = "workers"  // that they come to the event
	ErasureWaitsForSegments ErasureWait = "segments" // that they are rewritten
	ErasureWaitsForReplay   ErasureWait = "replay"   // that it ends
)

// Erasure is one erasure, as it is in one process.
type Erasure struct {
	At         event.Position
	Repository code.RepositoryID
	Commit     code.CommitID
	Path       string
	State      ErasureState
	WaitsFor   ErasureWait
	// Error says why the workers refused it.
	Error string
	// SharedFiles counts texts that other repositories have as well, which stay there. It
	// is known when an erasure begins.
	SharedFiles int
	RequestedAt time.Time
	EndedAt     time.Time
	Proof       *ErasureProof
}

// ErasureProof is what was looked at when an erasure was done.
type ErasureProof struct {
	Segments            int
	SegmentBytes        int64
	UnnamedSegments     int
	HeldSegments        int
	QuarantinedSegments int
	MirrorChecked       bool
}

// eraseRequest is the body of POST /api/repos/{repoId}/erase.
type eraseRequest struct {
	Commit code.CommitID `json:"commit"`
	Path   string        `json:"path"`
}

var errNoErasures = fmt.Errorf("%w: this process has no projections", ErrUnavailable)

func (s *Server) eraseRepository(r *http.Request) (*reply, error) {
	if s.o.Erasures == nil {
		return nil, errNoErasures
	}
	known, err := s.visibleByID(r)
	if err != nil {
		return nil, err
	}
	var in eraseRequest
	if err := s.decodeBody(r, &in); err != nil {
		return nil, err
	}
	s.setAuditTarget(r, audit.TargetRepository, known.Name, "commit", string(in.Commit), "path", in.Path)
	if in.Commit != "" && in.Path != "" {
		return nil, fmt.Errorf("%w: want a commit or a path, not both", errBody)
	}
	if in.Path != "" {
		if err := code.ValidatePath(in.Path); err != nil {
			return nil, fmt.Errorf("%w: %w", errBody, err)
		}
	}
	begun, err := s.o.Erasures.Erase(r.Context(), ErasureRequest{known.ID, in.Commit, in.Path})
	if err != nil {
		return nil, fmt.Errorf("erase %s: %w", known.Name, err)
	}
	out := s.newErasure(begun)
	out.RepoName, out.SharedFiles = known.Name, begun.SharedFiles
	return acceptedReply(out), nil
}

func (s *Server) listErasures(r *http.Request) (*reply, error) {
	if s.o.Erasures == nil {
		return nil, errNoErasures
	}
	list, err := s.o.Erasures.List(r.Context())
	if err != nil {
		return nil, err
	}
	out := wire.Erasures{Erasures: []wire.Erasure{}}
	for _, e := range list {
		out.Erasures = append(out.Erasures, s.newErasure(e))
	}
	return okReply(out), nil
}

// newErasure is an erasure as it is written. What was erased has no name any more.
func (s *Server) newErasure(e Erasure) wire.Erasure {
	out := wire.Erasure{
		ID: fmt.Sprintf("%d-%d", e.At.Partition, e.At.Offset), RepoID: int(s.numberOf(e.Repository)), Commit: string(e.Commit), Path: e.Path,
		State: wire.ErasureState(e.State), WaitsFor: wire.ErasureWaitsFor(e.WaitsFor), Error: e.Error,
		RequestedAt: wire.At(e.RequestedAt), EndedAt: wire.At(e.EndedAt),
	}
	if p := e.Proof; p != nil {
		out.Proof = wire.ErasureProof{
			Segments: p.Segments, SegmentBytes: p.SegmentBytes, UnnamedSegments: p.UnnamedSegments, HeldSegments: p.HeldSegments,
			QuarantinedSegments: p.QuarantinedSegments, MirrorChecked: p.MirrorChecked,
		}
	}
	return out
}
