package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
	"github.com/quarrysearch/quarry/schemas/replay"
)

// Replays builds versions of the index next to the live one, and switches between them.
type Replays interface {
	// Start starts a replay and returns it. The error wraps replay.ErrRefused if the
	// request can never succeed, and replay.ErrBusy if a replay is running.
	Start(ctx context.Context, r replay.Request) (replay.Replay, error)
	// Rollback starts to return to the previous version. The error wraps replay.ErrBusy
	// if a replay is running or there is no previous version.
	Rollback(ctx context.Context) (replay.Replay, error)
	// Cancel cancels a running replay; one that has ended does not change. The error
	// wraps code.ErrNotFound.
	Cancel(ctx context.Context, id int) (replay.Replay, error)
	// List returns the latest replays, newest first, and the versions.
	List(ctx context.Context) (replay.List, error)
}

func wireReplay(r replay.Replay) wire.Replay {
	return wire.Replay{
		Nodes: wireReplayNodes(r.Nodes),
		ID:    r.ID, Rollback: r.Rollback, Projection: r.Projection, To: r.To, State: wire.ReplayState(r.State),
		Records: r.Records, RecordsTotal: r.RecordsTotal, RecordsPerSecond: r.RecordsPerSecond, MissingDocuments: r.MissingDocuments,
		Warning: r.Warning, Error: r.Error, BegunAt: wire.At(r.BegunAt), EndedAt: wire.At(r.EndedAt),
	}
}

func wireReplayNodes(nodes []replay.Node) (out []wire.ReplayNode) {
	for _, n := range nodes {
		node := wire.ReplayNode{Share: n.Share, Address: n.Address, Problem: n.Problem}
		if r := n.Replay; r != nil {
			node.ID, node.State, node.Error = r.ID, wire.ReplayNodeState(r.State), r.Error
			node.Records, node.RecordsTotal = r.Records, r.RecordsTotal
		}
		out = append(out, node)
	}
	return out
}

func wireVersion(v replay.Version) wire.ProjectionVersion {
	return wire.ProjectionVersion{
		Name: v.Name, AsOf: v.AsOf, CopyOf: v.CopyOf, Projection: v.Projection, MissingDocuments: v.MissingDocuments,
		MissingFiles: v.MissingFiles, DiskBytes: v.DiskBytes, CompletedAt: wire.At(v.CompletedAt),
	}
}

var errNoReplays = fmt.Errorf("%w: this process has no projections", failure.ErrUnavailable)

func (s *Server) startReplay(r *http.Request) (*reply, error) {
	var in wire.ReplayRequest
	if err := s.decodeBody(r, &in); err != nil {
		return nil, err
	}
	return s.replyWithReplay(func(replays Replays) (replay.Replay, error) { return replays.Start(r.Context(), replay.Request(in)) })
}

func (s *Server) rollBack(r *http.Request) (*reply, error) {
	return s.replyWithReplay(func(replays Replays) (replay.Replay, error) { return replays.Rollback(r.Context()) })
}

func (s *Server) cancelReplay(r *http.Request) (*reply, error) {
	text := mux.Vars(r)["replayId"]
	id, err := strconv.Atoi(text)
	if err != nil || id < 1 {
		return nil, fmt.Errorf("%w: replayId: want a number from 1, have %.40q", errPathParams, text)
	}
	return s.replyWithReplay(func(replays Replays) (replay.Replay, error) { return replays.Cancel(r.Context(), id) })
}

// replyWithReplay responds with 202 and the replay.
func (s *Server) replyWithReplay(f func(Replays) (replay.Replay, error)) (*reply, error) {
	if s.o.Replays == nil {
		return nil, errNoReplays
	}
	begun, err := f(s.o.Replays)
	if err != nil {
		return nil, err
	}
	return acceptedReply(wireReplay(begun)), nil
}

func (s *Server) listReplays(r *http.Request) (*reply, error) {
	if s.o.Replays == nil {
		return nil, errNoReplays
	}
	list, err := s.o.Replays.List(r.Context())
	if err != nil {
		return nil, err
	}
	out := wire.Replays{Current: wireVersion(list.Current), Replays: make([]wire.Replay, len(list.Replays)), Projections: list.Projections, Nodes: wireReplayNodes(list.Nodes)}
	if list.Previous != nil {
		out.Previous = wireVersion(*list.Previous)
	}
	for i, known := range list.Replays {
		out.Replays[i] = wireReplay(known)
	}
	return okReply(out), nil
}
