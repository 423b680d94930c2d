package connections

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/codehosts"
	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Found lists the repositories that a connection would find.
type Found struct {
	Name string
	// Repositories are sorted names.
	Repositories []string
	Issues       []api.ConnectionIssue
}

// ErrNoConnection means that the settings have no such connection.
var ErrNoConnection = errors.New("the settings have no connection that finds repositories")

// Check lists the repositories of one connection at its host, or of all connections if
// name is empty. It appends nothing.
func Check(ctx context.Context, c *config.Config, name string) ([]Found, error) {
	hosts, err := codehosts.New(c)
	if err != nil {
		return nil, err
	}
	read, err := codehosts.ReadConnections(c)
	if err != nil {
		return nil, err
	}
	var out []Found
	for _, connection := range read.Discovered {
		if name != "" && connection.Name != name {
			continue
		}
		check, err := checkConnection(ctx, connection, hosts, c.Discovery.RequestTimeout.Std(), discovery.DefaultMaxRepositories)
		if err != nil {
			return nil, err
		}
		out = append(out, check)
	}
	if len(out) == 0 && name == "" {
		return nil, fmt.Errorf("%w; add discover to one, and name the settings with --config", ErrNoConnection)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNoConnection, name)
	}
	return out, nil
}

func checkConnection(ctx context.Context, connection discovery.Connection, hosts *codehosts.Hosts, timeout time.Duration, most int) (Found, error) {
	check := Found{Name: connection.Name}
	client, err := hosts.NewClient(connection, timeout)
	if err != nil {
		return check, err
	}
	lister, err := codehosts.Listers()[connection.Kind](connection, client)
	if err != nil {
		return check, err
	}
	found, issues, _, _ := discovery.ListWith(ctx, lister, connection, most) // the error is in the issues
	if err := ctx.Err(); err != nil {
		return check, err
	}
	policy, asked := hosts.Policy(), map[string]bool{}
	for _, f := range found {
		check.Repositories = append(check.Repositories, f.Name)
		// Like the server, ask the policy once for each host and each path.
		key := f.CloneURL
		if clone, err := code.ParseCloneURL(f.CloneURL); err == nil && clone.Host != "" {
			key = clone.Scheme + clone.Host
		}
		if asked[key] {
			continue
		}
		asked[key] = true
		if err := policy.Check(ctx, f.CloneURL); err != nil {
			issues = append(issues, discovery.Issue{Code: discovery.InvalidRepository, Target: f.Path, Detail: err.Error()})
		}
	}
	slices.Sort(check.Repositories)
	check.Issues = convertIssues(issues)
	return check, nil
}
