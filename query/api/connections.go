package api

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// connectionType returns the public API's name for a kind of code host.
func connectionType(kind code.HostKind) string {
	switch kind {
	case code.BitbucketCloud, code.BitbucketServer:
		return "bitbucket"
	case code.GitHub, code.GitLab, code.Gitea, code.Gerrit, code.AzureDevOps:
		return string(kind)
	}
	return "git"
}

// listConnections returns the connections of the repositories that the caller may see,
// without their configuration. Owners get all connections, with their state.
func (s *Server) listConnections(r *http.Request) (*reply, error) {
	front.ExchangeIn(r.Context()).SetAuditTarget(audit.TargetInstance, "")
	all, err := s.o.Catalog.Repositories(r.Context())
	if err != nil {
		return nil, fmt.Errorf("list connections: %w", err)
	}
	kinds, states := s.connectionsByName(all, s.callerVisibility(r.Context())), map[string]ConnectionState(nil)
	if p := auth.From(r.Context()); p.Owner() && p.Repositories == nil {
		kinds = withConfigured(kinds, *s.connectionKinds.Load())
		states = s.connectionStates()
	}
	items := []wire.Connection{}
	for name, kind := range kinds {
		number := s.o.Numbers.OfConnection(name)
		if number == 0 {
			continue
		}
		item := wire.Connection{ID: number, Name: name, ConnectionType: wire.ConnectionConnectionType(connectionType(kind))}
		st := states[name]
		if st.Sync != nil {
			item.Sync = wireSync(st.Sync)
		}
		if st.Permissions != nil {
			item.Permissions = wirePermissions(st.Permissions)
		}
		if st.Hooked && s.o.Deliveries != nil {
			if item.Hooks, err = s.connectionHooks(r.Context(), name); err != nil {
				return nil, fmt.Errorf("list connections: %w", err)
			}
		}
		items = append(items, item)
	}
	slices.SortFunc(items, func(a, b wire.Connection) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return okReply(items), nil
}

// connectionsByName maps connection names to kinds: the configured kind or, for
// connections that are no longer configured, the kind of their first repository.
func (s *Server) connectionsByName(all []*corpus.Repository, visible auth.Visible) map[string]code.HostKind {
	return s.listings.connectionKinds(all, visible, func(seen []*corpus.Repository) map[string]code.HostKind {
		kinds, configured := map[string]code.HostKind{}, *s.connectionKinds.Load()
		for _, r := range seen {
			if _, known := kinds[r.Connection]; known || r.Connection == "" {
				continue
			}
			kinds[r.Connection] = cmp.Or(configured[r.Connection], r.Kind)
		}
		return kinds
	})
}

// connectionName returns the name of a connection with a repository that the caller may
// see.
func (s *Server) connectionName(all []*corpus.Repository, visible auth.Visible, id int) (name string, known bool) {
	if id == 0 {
		return "", false
	}
	for name := range s.connectionsByName(all, visible) {
		if s.isConnection(name, uint64(id)) {
			return name, true
		}
	}
	return "", false
}
