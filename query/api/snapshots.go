package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// Snapshots writes the rows of the index to the segment store, from which other nodes start.
type Snapshots interface {
	// Create starts to create a snapshot. The error wraps failure.ErrConflict while this process
	// creates one, or if it cannot create one now.
	Create(ctx context.Context) error
	// List returns the snapshots in the segment store, newest first.
	List(ctx context.Context) (SnapshotList, error)
	// Delete deletes a snapshot. The error wraps code.ErrNotFound.
	Delete(ctx context.Context, name string) error
}

// SnapshotList describes the snapshots of an installation.
type SnapshotList struct {
	Snapshots []Snapshot
	// Creating reports that this process is creating a snapshot. Error is the reason why the
	// last one failed; empty if it did not.
	Creating bool
	Error    string
}

// Snapshot is a snapshot of the rows of the index.
type Snapshot struct {
	Name      string
	CreatedAt time.Time
	Creator   string
	// Positions are the positions of the next record of each partition.
	Positions []event.Position
	Rows      int64
	SizeBytes int64
	Segments  int
	Seconds   float64
	// Problem is the reason why the snapshot cannot be used; empty if none is known.
	Problem string
}

func wireSnapshots(list *SnapshotList) wire.Snapshots {
	out := wire.Snapshots{Snapshots: make([]wire.Snapshot, len(list.Snapshots)), Creating: list.Creating, Error: list.Error}
	for i, s := range list.Snapshots {
		out.Snapshots[i] = wire.Snapshot{
			Name: s.Name, CreatedAt: wire.At(s.CreatedAt), Creator: s.Creator, Rows: s.Rows, SizeBytes: s.SizeBytes, Segments: s.Segments,
			Seconds: s.Seconds, Problem: s.Problem, Positions: wire.PositionsOf(s.Positions),
		}
	}
	return out
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
	if err != nil {
		return nil, err
	}
	return okReply(wireSnapshots(&list)), nil
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
	if err != nil {
		return nil, err
	}
	return acceptedReply(wireSnapshots(&list)), nil
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
