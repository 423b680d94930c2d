package connections

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/codehosts"
	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/permissions"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// Connectivity is the state of the connections as the API shows it.
type Connectivity struct {
	syncer     *discovery.Syncer
	reader     *permissions.Reader
	configured atomic.Pointer[[]config.Connection]
}

var _ api.Connectivity = (*Connectivity)(nil)

// New returns the state of the connections whose repositories syncer finds, and whose
// permissions reader reads.
func New(syncer *discovery.Syncer, reader *permissions.Reader) *Connectivity {
	return &Connectivity{syncer: syncer, reader: reader}
}

// SetConnections replaces the connections. settings contains all of them; discovered are
// those whose repositories are discovered.
func (c *Connectivity) SetConnections(settings *config.Config, discovered []discovery.Connection) {
	configured := slices.Clone(settings.Connections)
	c.configured.Store(&configured)
	c.syncer.SetConnections(discovered, codehosts.Names(settings))
}

// States implements api.Connectivity.
func (c *Connectivity) States() []api.ConnectionState {
	configured := c.configured.Load()
	if configured == nil {
		return nil
	}
	syncs := map[string]*api.ConnectionSync{}
	for _, st := range c.syncer.States() {
		syncs[st.Name] = convertSync(&st)
	}
	read := map[string]*permissions.State{}
	for _, st := range c.reader.States() {
		read[st.Name] = &st
	}
	out := make([]api.ConnectionState, len(*configured))
	for i, from := range *configured {
		out[i] = api.ConnectionState{Name: from.Name, Hooked: from.Hooked(), Sync: syncs[from.Name]}
		if from.Permissions.Read {
			out[i].Permissions = convertPermissions(read[from.Name])
		}
	}
	return out
}

// convertPermissions converts the state of readings; nil is that of a process that does not read.
func convertPermissions(st *permissions.State) *api.ConnectionPermissions {
	if st == nil {
		return &api.ConnectionPermissions{State: "elsewhere"}
	}
	out := &api.ConnectionPermissions{
		State: "complete", Repositories: st.Repositories, Failing: st.Failing, MoreIssues: st.MoreIssues, Issues: convertIssues(st.Issues),
		LastReadAt: st.LastReadAt, OldestReadAt: st.OldestReadAt, NextAt: st.NextAt, PausedUntil: st.PausedUntil,
	}
	if len(st.Issues) > 0 || st.Repositories > 0 && st.OldestReadAt.IsZero() {
		out.State = "incomplete"
	}
	return out
}

func convertSync(st *discovery.State) *api.ConnectionSync {
	return &api.ConnectionSync{
		State: syncState(st), StartedAt: st.StartedAt, FinishedAt: st.FinishedAt, CompleteAt: st.CompleteAt, NextAt: st.NextAt,
		WaitingUntil: st.WaitingUntil,
		Found:        st.Found, Excluded: st.Excluded, Registered: st.Registered, Changed: st.Changed, Removed: st.Removed, Absent: st.Absent,
		MoreIssues: st.MoreIssues, Issues: convertIssues(st.Issues),
	}
}

func convertIssues(issues []discovery.Issue) (out []api.ConnectionIssue) {
	for _, i := range issues {
		out = append(out, convertIssue(i))
	}
	return out
}

func convertIssue(i discovery.Issue) api.ConnectionIssue {
	d := i.Describe()
	return api.ConnectionIssue{Code: string(i.Code), Target: i.Target, Message: d.Meaning + " " + d.Remedy, Detail: i.Detail}
}

// syncState returns the API's name of a sync's state.
func syncState(st *discovery.State) string {
	switch {
	case st.Elsewhere:
		return "elsewhere"
	case st.Running && st.WaitingUntil.After(boot.Now()):
		return "waiting"
	case st.Running:
		return "running"
	case st.FinishedAt.IsZero():
		return "never"
	case st.CompleteAt.Equal(st.FinishedAt):
		return "complete"
	}
	return "incomplete"
}

// Sync implements api.Connectivity.
func (c *Connectivity) Sync(name string, remove bool) ([]string, error) {
	names := []string{}
	for _, st := range c.syncer.States() {
		switch {
		case name != "" && name != st.Name:
		case st.Elsewhere:
			return nil, fmt.Errorf("%w: another process of the role query syncs; ask that one", failure.ErrConflict)
		default:
			names = append(names, st.Name)
		}
	}
	if len(names) == 0 && name != "" {
		return nil, fmt.Errorf("connection %.80q that finds repositories: %w", name, code.ErrNotFound)
	}
	c.syncer.RequestSync(name, remove)
	return names, nil
}
