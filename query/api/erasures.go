package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/erasure"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// Erasures erases text from every file of the data directory.
type Erasures interface {
	// Erase requests an erasure durably and returns it. The error wraps failure.ErrConflict if it
	// is not possible in the current state.
	Erase(ctx context.Context, r erasure.Request) (erasure.Erasure, error)
	// List returns the erasures that this process knows, newest first.
	List(ctx context.Context) ([]erasure.Erasure, error)
}

var errNoErasures = fmt.Errorf("%w: this process has no projections", failure.ErrUnavailable)

func (s *Server) eraseRepository(r *http.Request) (*reply, error) {
	if s.o.Erasures == nil {
		return nil, errNoErasures
	}
	known, err := s.visibleByID(r)
	if err != nil {
		return nil, err
	}
	var in wire.EraseRequest
	if err := s.decodeBody(r, &in); err != nil {
		return nil, err
	}
	front.ExchangeIn(r.Context()).SetAuditTarget(audit.TargetRepository, known.Name, "commit", in.Commit, "path", in.Path)
	if in.Commit != "" && in.Path != "" {
		return nil, fmt.Errorf("%w: want a commit or a path, not both", errBody)
	}
	if in.Path != "" {
		if err := code.ValidatePath(in.Path); err != nil {
			return nil, fmt.Errorf("%w: %w", errBody, err)
		}
	}
	begun, err := s.o.Erasures.Erase(r.Context(), erasure.Request{Repository: known.ID, Commit: code.CommitID(in.Commit), Path: in.Path})
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

// newErasure converts an erasure. An erased object no longer has a name.
func (s *Server) newErasure(e erasure.Erasure) wire.Erasure {
	out := wire.Erasure{
		ID: fmt.Sprintf("%d-%d", e.At.Partition, e.At.Offset), RepoID: int(s.numberOf(e.Repository)), Commit: string(e.Commit), Path: e.Path,
		State: wire.ErasureState(e.State), WaitsFor: wire.ErasureWaitsFor(e.WaitsFor), Error: e.Error,
		RequestedAt: wire.At(e.RequestedAt), EndedAt: wire.At(e.EndedAt),
	}
	for _, n := range e.Nodes {
		out.Nodes = append(out.Nodes, wire.ErasureNode{
			Share: n.Share, Address: n.Address, State: wire.ErasureNodeState(n.State), WaitsFor: wire.ErasureNodeWaitsFor(n.WaitsFor), Error: n.Error, Problem: n.Problem,
		})
	}
	if p := e.Proof; p != nil {
		out.Proof = wire.ErasureProof{
			Segments: p.Segments, SegmentBytes: p.SegmentBytes, UnnamedSegments: p.Unnamed, HeldSegments: p.Held,
			QuarantinedSegments: p.Quarantined, MirrorChecked: p.MirrorChecked,
		}
	}
	return out
}
