package connections

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/codehosts"
	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Connectivity is the state of the connections as the API sees it.
type Connectivity struct {
	syncer     *discovery.Syncer
	configured atomic.Pointer[[]config.Connection]
}

var _ api.Connectivity = (*Connectivity)(nil)

// New returns the state of the connections whose repositories syncer finds.
func New(syncer *discovery.Syncer) *Connectivity { return &Connectivity{syncer: syncer} }

// SetConnections replaces the connections: settings have all, discovered are those whose
// repositories are looked for.
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
	out := make([]api.ConnectionState, len(*configured))
	for i, from := range *configured {
		out[i] = api.ConnectionState{Name: from.Name, Hooked: from.Hooked(), Sync: syncs[from.Name]}
	}
	return out
}

func convertSync(st *discovery.State) *api.ConnectionSync {
	out := &api.ConnectionSync{
		State: syncState(st), StartedAt: st.StartedAt, FinishedAt: st.FinishedAt, CompleteAt: st.CompleteAt, NextAt: st.NextAt, WaitingUntil: st.WaitingUntil,
		Found: st.Found, Excluded: st.Excluded, Registered: st.Registered, Changed: st.Changed, Removed: st.Removed, Absent: st.Absent, MoreIssues: st.MoreIssues,
	}
	for _, i := range st.Issues {
		out.Issues = append(out.Issues, convertIssue(i))
	}
	return out
}

func convertIssue(i discovery.Issue) api.ConnectionIssue {
	d := i.Describe()
	return api.ConnectionIssue{Code: string(i.Code), Target: i.Target, Message: d.Meaning + " " + d.Remedy, Detail: i.Detail}
}

// syncState names the state of a sync as the API does.
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
			return nil, fmt.Errorf("%w: another process of the role query syncs; ask that one", api.ErrConflict)
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
