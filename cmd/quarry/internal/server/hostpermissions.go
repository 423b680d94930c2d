package server

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/codehosts"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/permissions"
	"github.com/quarrysearch/quarry/projections/accountrows"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/auth/oidc"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// hostRules holds the current rules for the permissions of code hosts.
type hostRules struct {
	current atomic.Pointer[map[string]auth.HostRule]
}

// set replaces the rules with those of the connections in c. providers are those of the
// start, since they cannot be reloaded.
func (h *hostRules) set(c *config.Config, providers []config.OIDC) {
	rules := map[string]auth.HostRule{}
	for i := range c.Connections {
		connection := &c.Connections[i]
		p := &connection.Permissions
		if !p.Read {
			continue
		}
		host, err := codehosts.HostName(connection)
		if err != nil {
			continue // settings are validated; without a rule, nothing is granted
		}
		rule := auth.HostRule{Host: host, MaxAge: p.EffectiveMaxAge().Std(), Emails: p.Emails}
		for _, provider := range providers {
			if provider.Name == p.Provider {
				rule.Issuer = oidc.HostIssuer(provider.Issuer, provider.HostClaim)
			}
		}
		rules[connection.Name] = rule
	}
	h.current.Store(&rules)
}

// rules implements auth.Options.HostRules.
func (h *hostRules) rules() map[string]auth.HostRule { return *h.current.Load() }

// doubtAccess implements webhook.Options.DoubtAccess.
func (h *hostRules) doubtAccess(log eventlog.Log) doubtAccess {
	events := accountrows.NewEvents(log, boot.Now)
	return func(ctx context.Context, connection string, repository code.RepositoryID, removed string, at time.Time) (bool, error) {
		if _, read := h.rules()[connection]; !read {
			return false, nil
		}
		_, err := events.Append(ctx, &event.HostAccessDoubted{Connection: connection, ID: repository,
			Removed: account.ShortenHostUser(removed), At: at.UTC()})
		return err == nil, err
	}
}

// openPermissions opens the reader of the permissions of code hosts.
func (s *Server) openPermissions() (err error) {
	s.permissions, err = permissions.New(permissions.Options{
		Kinds: codehosts.MemberKinds(), Log: s.log, Catalog: s.repositories.ForDiscovery(), Known: s.accounts.Directory,
		Renew: s.codeHosts.RenewConnection, Dial: s.policy.Guard().DialContext, RequestTimeout: s.o.Config.Discovery.RequestTimeout.Std(),
		Now: boot.Now, Logger: s.o.Logger, Registerer: s.o.Registerer,
	})
	if err == nil {
		s.setPermissions(s.o.Config)
	}
	return err
}

// setPermissions applies the permission settings of the connections of c.
func (s *Server) setPermissions(c *config.Config) {
	s.hostRules.set(c, s.o.Config.Access.OIDC)
	if s.permissions == nil {
		return
	}
	var read []permissions.Connection
	for i := range c.Connections {
		if from := &c.Connections[i]; from.Permissions.Read {
			read = append(read, permissions.Connection{Name: from.Name, Kind: from.Kind, Interval: from.Permissions.EffectiveInterval().Std()})
		}
	}
	s.permissions.SetConnections(read)
}
