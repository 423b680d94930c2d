package api

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/ledger"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// Connectivity provides the state of the configured connections.
type Connectivity interface {
	// States returns the state of every configured connection.
	States() []ConnectionState
	// Sync starts a sync of one connection, or of all for an empty name, and returns
	// their names. An error that wraps code.ErrNotFound becomes a 404, failure.ErrConflict a 409.
	Sync(name string, remove bool) ([]string, error)
}

// ConnectionState is the state of a configured connection.
type ConnectionState struct {
	Name string
	// Hooked is set if the connection accepts webhooks.
	Hooked bool
	// Sync is nil for a connection without discovery.
	Sync *ConnectionSync
	// Permissions is nil for a connection whose permissions are not read.
	Permissions *ConnectionPermissions
}

// ConnectionSync is the last sync of a connection.
type ConnectionSync struct {
	// State is one of the states of the API.
	State                                                     string
	StartedAt, FinishedAt, CompleteAt, NextAt, WaitingUntil   time.Time
	Found, Excluded, Registered, Changed, Removed, MoreIssues int
	// Absent counts repositories that were missing in the last listing.
	Absent int
	Issues []ConnectionIssue
}

// ConnectionPermissions is the state of the readings of permissions of a connection.
type ConnectionPermissions struct {
	// State is one of those of the API.
	State                                         string
	Repositories, Failing, MoreIssues             int
	LastReadAt, OldestReadAt, NextAt, PausedUntil time.Time
	Issues                                        []ConnectionIssue
}

// ConnectionIssue is an issue of a sync or of a reading of permissions.
type ConnectionIssue struct{ Code, Target, Message, Detail string }

// withConfigured adds the configured connections to those that have repositories.
func withConfigured(kinds, configured map[string]code.HostKind) map[string]code.HostKind {
	out := maps.Clone(kinds)
	if out == nil {
		out = map[string]code.HostKind{}
	}
	maps.Copy(out, configured)
	return out
}

// connectionStates returns the states by name; none if the process has no Connectivity.
func (s *Server) connectionStates() map[string]ConnectionState {
	if s.o.Connectivity == nil {
		return nil
	}
	out := map[string]ConnectionState{}
	for _, st := range s.o.Connectivity.States() {
		out[st.Name] = st
	}
	return out
}

func wireSync(in *ConnectionSync) wire.ConnectionSync {
	return wire.ConnectionSync{
		State: wire.ConnectionSyncState(in.State), Found: in.Found, Excluded: in.Excluded, Registered: in.Registered, Changed: in.Changed, Removed: in.Removed,
		Absent: in.Absent, MoreIssues: in.MoreIssues, Issues: wireIssues(in.Issues),
		StartedAt: wire.At(in.StartedAt), FinishedAt: wire.At(in.FinishedAt), CompleteAt: wire.At(in.CompleteAt), NextAt: wire.At(in.NextAt), WaitingUntil: wire.At(in.WaitingUntil),
	}
}

func wirePermissions(in *ConnectionPermissions) wire.ConnectionPermissions {
	return wire.ConnectionPermissions{
		State: wire.ConnectionPermissionsState(in.State), Repositories: in.Repositories, Failing: in.Failing, MoreIssues: in.MoreIssues, Issues: wireIssues(in.Issues),
		LastReadAt: wire.At(in.LastReadAt), OldestReadAt: wire.At(in.OldestReadAt), NextAt: wire.At(in.NextAt), PausedUntil: wire.At(in.PausedUntil),
	}
}

func wireIssues(in []ConnectionIssue) []wire.ConnectionIssue {
	out := make([]wire.ConnectionIssue, len(in))
	for i, issue := range in {
		out[i] = wire.ConnectionIssue(issue)
	}
	return out
}

// Bounds for judging the health of webhooks.
const (
	// healthDeliveries are read, and at least minGaps gaps between them make a usual gap.
	healthDeliveries = 20
	minGaps          = 4
	// A connection is late after lateGaps usual gaps, and at least minLate.
	lateGaps = 10
	minLate  = 24 * time.Hour
)

// connectionHooks compares the time since the last delivery with the usual gap.
func (s *Server) connectionHooks(ctx context.Context, name string) (wire.ConnectionHooks, error) {
	page, err := s.o.Deliveries.List(ctx, ledger.Query{Connection: name, Limit: healthDeliveries})
	if err != nil {
		return wire.ConnectionHooks{}, err
	}
	var times []time.Time
	for _, d := range page.Deliveries {
		if d.Outcome != string(event.DeliveryRefused) { // anyone can send refused ones
			times = append(times, d.ReceivedAt)
		}
	}
	return judgeHooks(times, s.o.Now()), nil
}

// judgeHooks judges webhooks by the times of deliveries, newest first.
func judgeHooks(times []time.Time, now time.Time) wire.ConnectionHooks {
	if len(times) == 0 {
		return wire.ConnectionHooks{State: wire.ConnectionHooksStateNone}
	}
	out := wire.ConnectionHooks{State: wire.ConnectionHooksStateOk}
	out.LastAt = wire.At(times[0])
	var gaps []time.Duration
	for i := range times[1:] {
		gaps = append(gaps, times[i].Sub(times[i+1]))
	}
	if len(gaps) < minGaps {
		return out
	}
	slices.Sort(gaps)
	usual := gaps[len(gaps)/2]
	out.UsualGapSeconds = int64(usual.Seconds())
	if since := now.Sub(times[0]); since > lateGaps*usual && since > minLate {
		out.State = wire.ConnectionHooksStateLate
	}
	return out
}

// syncConnections starts a sync of connections.
func (s *Server) syncConnections(r *http.Request) (*reply, error) {
	var in wire.ConnectionSyncRequest
	if err := s.decodeBody(r, &in); err != nil {
		return nil, err
	}
	if s.o.Connectivity == nil {
		return nil, fmt.Errorf("%w: this process does not sync connections", failure.ErrUnavailable)
	}
	names, err := s.o.Connectivity.Sync(in.Name, in.Remove)
	if err != nil {
		return nil, err
	}
	return acceptedReply(wire.ConnectionSyncAccepted{Names: names}), nil
}
