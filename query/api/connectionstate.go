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
	"github.com/quarrysearch/quarry/schemas/ledger"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// Connectivity knows the state of the configured connections.
type Connectivity interface {
	// States returns the state of every configured connection.
	States() []ConnectionState
	// Sync has one connection synced, all for an empty name, and returns their names. An
	// error that wraps code.ErrNotFound is answered 404, ErrConflict 409.
	Sync(name string, remove bool) ([]string, error)
}

// ConnectionState is the state of a configured connection.
type ConnectionState struct {
	Name string
	// Hooked says that it accepts webhooks.
	Hooked bool
	// Sync is nil for a connection whose repositories are not looked for.
	Sync *ConnectionSync
	// Permissions is nil for a connection whose permissions are not read.
	Permissions *ConnectionPermissions
}

// ConnectionSync is the last sync of a connection.
type ConnectionSync struct {
	// State is one of those of the API.
	State                                                     string
	StartedAt, FinishedAt, CompleteAt, NextAt, WaitingUntil   time.Time
	Found, Excluded, Registered, Changed, Removed, MoreIssues int
	// Absent counts repositories that the last listing missed.
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

// ConnectionIssue is what went wrong in a sync or in a reading of permissions.
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

// connectionStates returns the states by name; none in a process that has none.
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

// Bounds of the health of webhooks.
const (
	// healthDeliveries are looked at, and minGaps gaps between them give a usual one.
	healthDeliveries = 20
	minGaps          = 4
	// A connection is late after so many usual gaps, and after minLate.
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
		if d.Outcome != string(event.DeliveryRefused) { // anybody can send those
			times = append(times, d.ReceivedAt)
		}
	}
	return judgeHooks(times, s.o.Now()), nil
}

// judgeHooks judges the times of deliveries, newest first.
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

// syncConnections has connections synced now.
func (s *Server) syncConnections(r *http.Request) (*reply, error) {
	var in wire.ConnectionSyncRequest
	if err := s.decodeBody(r, &in); err != nil {
		return nil, err
	}
	if s.o.Connectivity == nil {
		return nil, fmt.Errorf("%w: this process syncs no connections", ErrUnavailable)
	}
	names, err := s.o.Connectivity.Sync(in.Name, in.Remove)
	if err != nil {
		return nil, err
	}
	return acceptedReply(wire.ConnectionSyncAccepted{Names: names}), nil
}
