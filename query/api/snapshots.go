package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// Snapshots writes the rows of the index to the segment store, from which other nodes start.
type Snapshots interface {
	// Create starts to create a snapshot. The error wraps failure.ErrConflict while this process
	// creates one, or if it cannot create one now.
	Create(ctx context.Context) error
	// List returns the snapshots in the segment store, newest first.
	List(ctx context.Context) (wire.Snapshots, error)
	// Delete deletes a snapshot. The error wraps code.ErrNotFound.
	Delete(ctx context.Context, name string) error
}

var errNoSnapshots = fmt.Errorf("%w: this process has no projections", failure.ErrUnavailable)

func (s *Server) requireSnapshots() (Snapshots, error) {
	if s.o.Snapshots == nil {
		return nil, errNoSnapshots
	}
	return s.o.Snapshots, nil
}

func (s *Server) listSnapshots(r *http.Request) (*reply, error) {
	snapshots, err := s.requireSnapshots()
	if err != nil {
		return nil, err
	}
	list, err := snapshots.List(r.Context())
	return okReply(list), err
}

func (s *Server) createSnapshot(r *http.Request) (*reply, error) {
	snapshots, err := s.requireSnapshots()
	if err != nil {
		return nil, err
	}
	if err := snapshots.Create(r.Context()); err != nil {
		return nil, err
	}
	list, err := snapshots.List(r.Context())
	return acceptedReply(list), err
}

func (s *Server) deleteSnapshot(r *http.Request) (*reply, error) {
	snapshots, err := s.requireSnapshots()
	if err != nil {
		return nil, err
	}
	if err := snapshots.Delete(r.Context(), mux.Vars(r)["snapshotName"]); err != nil {
		return nil, err
	}
	return noContentReply(), nil
}
