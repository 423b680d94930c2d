package codehosts

import (
	"fmt"
	"os"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Connections are the connections of settings, with the current values of their secrets.
type Connections struct {
	// Hooked holds the connections that accept webhooks.
	Hooked []ingest.Connection
	// Discovered holds the connections whose repositories are discovered.
	Discovered []discovery.Connection
}

// ReadConnections reads the connections of c and their secrets.
func ReadConnections(c *config.Config) (out Connections, err error) {
	if out.Hooked, err = readHooked(c); err != nil {
		return out, err
	}
	for i := range c.Connections {
		from := &c.Connections[i]
		if !from.Discovers() {
			continue
		}
		to, err := ReadDiscovered(from)
		if err != nil {
			return out, fmt.Errorf("connection %s: %w", from.Name, err)
		}
		out.Discovered = append(out.Discovered, to)
	}
	return out, nil
}

// readHooked returns the connections that accept webhooks, with their secrets.
func readHooked(c *config.Config) ([]ingest.Connection, error) {
	var connections []ingest.Connection
	for _, from := range c.Connections {
		if !from.Hooked() {
			continue // its repositories are discovered; it takes no webhooks
		}
		secrets := make([]string, len(from.Secrets))
		for i, s := range from.Secrets {
			var err error
			if secrets[i], err = s.Value(); err != nil {
				return nil, fmt.Errorf("connection %s: %w", from.Name, err)
			}
		}
		connections = append(connections, ingest.Connection{
			Name: from.Name, Kind: from.Kind, URL: from.URL, WebURL: from.WebURL, Secrets: secrets, Addresses: from.Networks(),
			AllowToken:   from.AllowToken,
			AutoRegister: from.AutoRegister, Repositories: from.Repositories, Branches: from.Branches, Tags: from.Tags, Submodules: from.Submodules,
		})
	}
	return connections, nil
}

// Kinds returns the host kind of each connection of c, by connection name.
func Kinds(c *config.Config) map[string]code.HostKind {
	kinds := make(map[string]code.HostKind, len(c.Connections))
	for _, connection := range c.Connections {
		kinds[connection.Name] = connection.Kind
	}
	return kinds
}

// ReadDiscovered converts a connection for discovery, with its credentials.
func ReadDiscovered(from *config.Connection) (to discovery.Connection, err error) {
	d, e := &from.Discover, &from.Exclude
	to = discovery.Connection{
		Name: from.Name, Kind: from.Kind, URL: from.URL, WebURL: from.WebURL, User: from.User, Branches: from.Branches, Tags: from.Tags,
		Submodules:  from.Submodules,
		ReadMembers: from.Permissions.Read, ReadEmails: from.Permissions.Emails,
		App: discovery.App{ID: int64(from.App.ID), Installation: int64(from.App.Installation)},
		Targets: discovery.Targets{
			All: d.All, Users: d.Users, Orgs: d.Orgs, Groups: d.Groups, Workspaces: d.Workspaces, Projects: d.Projects, Repos: d.Repos,
			Topics: d.Topics,
		},
		Exclude: discovery.Filter{
			Forks: e.Forks, Archived: e.Archived, UserOwned: e.UserOwned, ReadOnly: e.ReadOnly, Hidden: e.Hidden, Disabled: e.Disabled,
			Repos: e.Repos, Projects: e.Projects, Topics: e.Topics, MinSize: int64(e.MinSize), MaxSize: int64(e.MaxSize),
		},
	}
	if !from.Token.IsZero() {
		if to.Token, err = from.Token.Value(); err != nil {
			return to, err
		}
	}
	if !from.App.PrivateKey.IsZero() {
		if to.App.PrivateKey, err = from.App.PrivateKey.Value(); err != nil {
			return to, err
		}
	}
	if !from.Proxy.IsZero() {
		if to.Proxy, err = from.Proxy.Value(); err != nil {
			return to, err
		}
	}
	if from.CAFile != "" {
		pem, err := os.ReadFile(from.CAFile)
		if err != nil {
			return to, fmt.Errorf("caFile: %w", err)
		}
		to.CA = string(pem)
	}
	return to, nil
}

// RenewConnection returns a connection of the current settings. It reads the credentials
// again from the environment and from files.
func (h *Hosts) RenewConnection(name string) (discovery.Connection, error) {
	c := h.current.Load().connections[name]
	if c == nil {
		return discovery.Connection{}, fmt.Errorf("the settings have no connection %.80q any more", name)
	}
	return ReadDiscovered(&c.Connection)
}

// Names returns the names of the connections of c.
func Names(c *config.Config) []string {
	names := make([]string, len(c.Connections))
	for i, connection := range c.Connections {
		names[i] = connection.Name
	}
	return names
}
