package connections

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/codehosts"
	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hooks"
	"github.com/quarrysearch/quarry/schemas/code"
)

// expandTargets replaces the targets users and all, which have no webhook at the host,
// with the repositories that they currently find. It omits archived repositories, which
// accept no webhook, and repositories that the webhook of an organization, group or
// project covers. Targets of other kinds stay unchanged.
func expandTargets(ctx context.Context, c discovery.Connection, client *http.Client, most int) (discovery.Connection, error) {
	t := &c.Targets
	repositories, covering := &t.Repos, t.Orgs
	switch c.Kind {
	case code.GitHub, code.Gitea:
	case code.GitLab:
		repositories, covering = &t.Projects, t.Groups
	case code.BitbucketServer:
		covering = t.Projects
	default:
		return c, nil
	}
	if !t.All && len(t.Users) == 0 {
		return c, nil
	}
	only := c
	only.Targets = discovery.Targets{All: t.All, Users: t.Users, Topics: t.Topics}
	lister, err := codehosts.Listers()[c.Kind](only, client)
	if err != nil {
		return c, err
	}
	found, issues, complete, err := discovery.ListWith(ctx, lister, only, discovery.DefaultMaxRepositories)
	if err == nil && !complete && len(issues) > 0 {
		err = fmt.Errorf("%s", issues[0])
	}
	if err != nil {
		return c, fmt.Errorf("list the repositories of connection %s: %w", c.Name, err)
	}
	if len(found) > most {
		return c, fmt.Errorf("connection %s has %d repositories, more than discovery.maxRepositories", c.Name, len(found))
	}
	named := slices.Clone(*repositories)
	for i := range found {
		f := &found[i]
		covered := func(target string) bool {
			return strings.HasPrefix(strings.ToLower(f.Path), strings.ToLower(target)+"/")
		}
		same := func(name string) bool { return strings.EqualFold(name, f.Path) }
		if f.Invalid == nil && !f.Archived && !slices.ContainsFunc(covering, covered) && !slices.ContainsFunc(*repositories, same) {
			named = append(named, f.Path)
		}
	}
	*repositories, t.All, t.Users = named, false, nil
	return c, nil
}

// OpenHooks returns a registrar of the webhooks of a connection in the settings.
func OpenHooks(ctx context.Context, c *config.Config, name string) (*hooks.Registrar, error) {
	hosts, err := codehosts.New(c)
	if err != nil {
		return nil, err
	}
	for i := range c.Connections {
		from := &c.Connections[i]
		if from.Name != name {
			continue
		}
		connection, err := codehosts.ReadDiscovered(from)
		if err != nil {
			return nil, err
		}
		client, err := hosts.NewClient(connection, c.Discovery.RequestTimeout.Std())
		if err != nil {
			return nil, err
		}
		if connection, err = expandTargets(ctx, connection, client, c.Discovery.MaxRepositories); err != nil {
			return nil, err
		}
		secret, address := "", ""
		if len(from.Secrets) > 0 {
			if secret, err = from.Secrets[0].Value(); err != nil {
				return nil, err
			}
		}
		if c.PublicURL != "" {
			address = fmt.Sprintf("%s/webhooks/%s/%s", strings.TrimRight(c.PublicURL, "/"), from.Kind, from.Name)
		}
		return hooks.Open(connection, client, address, secret)
	}
	return nil, fmt.Errorf("the settings have no connection %.80q", name)
}
