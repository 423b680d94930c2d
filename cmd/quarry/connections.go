package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/connections"
	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

type connectionsCommand struct {
	List  listConnectionsCommand  `cmd:"" default:"withargs" help:"List the connections with their last sync."`
	Sync  syncConnectionsCommand  `cmd:"" help:"Sync connections now."`
	Check checkConnectionsCommand `cmd:"" help:"List the repositories that connections would find, without a server."`
}

// Help implements kong.HelpProvider.
func (*connectionsCommand) Help() string { return "Without a command, lists the connections." }

type listConnectionsCommand struct {
	askFlags
	JSON bool `help:"Print one JSON object per line."`
}

// Help implements kong.HelpProvider.
func (*listConnectionsCommand) Help() string {
	return `Prints a line for each connection, and one with a remedy for each issue of its last sync and of the last readings of its permissions.

Exit status: 1 if there is an issue.`
}

// Run implements the command.
func (c *listConnectionsCommand) Run(ctx context.Context, s streams) error {
	to, err := c.newClient()
	if err != nil {
		return err
	}
	found, err := to.ListConnections(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		err = printJSONLines(s.out, found)
	} else {
		err = printConnections(s.out, found)
	}
	if err != nil {
		return err
	}
	return issuesError(found)
}

// issuesError returns exit status 1 if a connection has an issue.
func issuesError(found []wire.Connection) error {
	for i := range found {
		if len(found[i].Sync.Issues)+len(found[i].Permissions.Issues) > 0 {
			return exitError(exitFailed)
		}
	}
	return nil
}

// printConnections prints a table of the connections, followed by their issues.
func printConnections(out io.Writer, found []wire.Connection) error {
	if len(found) == 0 {
		_, err := fmt.Fprintln(out, "no connections")
		return err
	}
	t := newTable(out, "NAME", "TYPE", "SYNC", "FOUND", "LAST", "NEXT", "HOOKS", "PERMISSIONS")
	for i := range found {
		c := &found[i]
		repositories := ""
		if c.Sync.State != "" {
			repositories = fmt.Sprint(c.Sync.Found)
		}
		t.row(c.Name, string(c.ConnectionType), string(c.Sync.State), repositories, timeCell(c.Sync.FinishedAt), timeCell(c.Sync.NextAt),
			hooksCell(&c.Hooks), permissionsCell(&c.Permissions))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i := range found {
		c := &found[i]
		if err := printIssues(out, c.Name, c.Sync.Issues, c.Sync.MoreIssues); err != nil {
			return err
		}
		if err := printIssues(out, c.Name+": permissions", c.Permissions.Issues, c.Permissions.MoreIssues); err != nil {
			return err
		}
	}
	return nil
}

// printIssues prints issues, and the number of those that are not listed.
func printIssues(out io.Writer, about string, issues []wire.ConnectionIssue, more int) error {
	for i := range issues {
		if err := printIssue(out, about, &issues[i]); err != nil {
			return err
		}
	}
	if more == 0 {
		return nil
	}
	_, err := fmt.Fprintf(out, "%s: %d more issues\n", escapeCell(about), more)
	return err
}

func timeCell(t wire.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.DateTime)
}

func hooksCell(h *wire.ConnectionHooks) string {
	if h.LastAt.IsZero() {
		return cmp.Or(string(h.State), "-")
	}
	return fmt.Sprintf("%s, last %s", h.State, timeCell(h.LastAt))
}

// permissionsCell has the state of the readings and the oldest of them.
func permissionsCell(p *wire.ConnectionPermissions) string {
	cell := cmp.Or(string(p.State), "-")
	if p.Failing > 0 {
		cell += fmt.Sprintf(", %d of %d failing", p.Failing, p.Repositories)
	}
	if !p.OldestReadAt.IsZero() {
		cell += ", oldest " + timeCell(p.OldestReadAt)
	}
	return cell
}

// printIssue prints an issue as a line, and the words of the host as another.
func printIssue(out io.Writer, about string, i *wire.ConnectionIssue) error {
	if i.Target != "" {
		about += ": " + i.Target
	}
	_, err := fmt.Fprintf(out, "%s: %s: %s\n", escapeCell(about), i.Code, escapeCell(i.Message))
	if err == nil && i.Detail != "" {
		_, err = fmt.Fprintf(out, "  %s\n", escapeCell(i.Detail))
	}
	return err
}

type syncConnectionsCommand struct {
	askFlags
	Connection string `arg:"" optional:"" help:"Name of a connection. Without one, all are synced."`
	Remove     bool   `help:"Remove repositories that the host no longer lists, even if they are most of the connection."`
	Wait       bool   `help:"Wait until the syncs have finished and print their results."`
}

// Help implements kong.HelpProvider.
func (*syncConnectionsCommand) Help() string {
	return `Exit status: 1 if --wait is set and a sync has an issue.`
}

// Run implements the command.
func (c *syncConnectionsCommand) Run(ctx context.Context, s streams) error {
	to, err := c.newClient()
	if err != nil {
		return err
	}
	before, err := to.ListConnections(ctx)
	if err != nil {
		return err
	}
	accepted, err := to.SyncConnections(ctx, wire.ConnectionSyncRequest{Name: c.Connection, Remove: c.Remove})
	if err != nil {
		return err
	}
	if !c.Wait {
		_, err := fmt.Fprintf(s.out, "syncing %s\n", escapeCell(strings.Join(accepted.Names, ", ")))
		return err
	}
	return c.waitForSyncs(ctx, s, to, before, accepted.Names)
}

// pollSyncs is the interval at which --wait polls the syncs.
const pollSyncs = 500 * time.Millisecond

// maxElsewhere bounds the wait while the server reports that another process syncs. A
// server that has just started may take over soon.
const maxElsewhere = time.Minute

// waitForSyncs waits until every connection has synced since the state in before. It
// compares only times of the server, because the clocks of the two machines may differ.
// It fails if a connection disappears, or if another process syncs it for longer than
// maxElsewhere.
func (*syncConnectionsCommand) waitForSyncs(ctx context.Context, s streams, to *client.Client, before []wire.Connection, names []string) error {
	started := make(map[string]wire.Time, len(before))
	for i := range before {
		started[before[i].Name] = before[i].Sync.StartedAt
	}
	giveUp := time.Now().Add(maxElsewhere)
	for {
		found, err := to.ListConnections(ctx)
		if err != nil {
			return err
		}
		found = slices.DeleteFunc(found, func(x wire.Connection) bool { return !slices.Contains(names, x.Name) })
		if len(found) < len(names) {
			return fmt.Errorf("some of the connections %s were removed after their sync was requested; run quarry connections",
				escapeCell(strings.Join(names, ", ")))
		}
		done := true
		for i := range found {
			x := &found[i]
			if x.Sync.State == wire.ConnectionSyncStateElsewhere {
				if time.Now().After(giveUp) {
					return fmt.Errorf("another process syncs the connection %s; run the command against that process", escapeCell(x.Name))
				}
				done = false
			} else if !endedSince(&x.Sync, started[x.Name]) {
				done = false
			}
		}
		if done {
			if err := printConnections(s.out, found); err != nil {
				return err
			}
			return issuesError(found)
		}
		select {
		case <-time.After(pollSyncs):
		case <-ctx.Done():
			return nil
		}
	}
}

// endedSince reports whether a sync other than the one that started at before has ended.
func endedSince(x *wire.ConnectionSync, before wire.Time) bool {
	return x.State != wire.ConnectionSyncStateRunning && x.State != wire.ConnectionSyncStateWaiting &&
		!x.StartedAt.IsZero() && !x.StartedAt.Equal(before.Time)
}

type checkConnectionsCommand struct {
	configFlags
	Connection string `arg:"" optional:"" help:"Name of a connection. Without one, all are checked."`
	All        bool   `help:"Print the name of every repository that would be found."`
}

// Help implements kong.HelpProvider.
func (*checkConnectionsCommand) Help() string {
	return `Lists the repositories of connections at their code hosts, according to the settings, and prints how many would be found, the first of them, and every issue with a remedy. Changes nothing and needs no server.

Examples:

	quarry connections check --config quarry.yaml
	quarry connections check hub --all

Exit status: 1 if there is an issue.`
}

// shownRepositories is the number of repositories of a connection that are printed
// without --all.
const shownRepositories = 5

// Run implements the command.
func (c *checkConnectionsCommand) Run(ctx context.Context, s streams) error {
	settings, _, err := c.readSettings(s)
	if err != nil {
		return err
	}
	checks, err := connections.Check(ctx, &settings, c.Connection)
	if err != nil {
		return err
	}
	failed := false
	for i := range checks {
		x := &checks[i]
		if _, err := fmt.Fprintf(s.out, "%s: %d repositories\n", escapeCell(x.Name), len(x.Repositories)); err != nil {
			return err
		}
		for n, name := range x.Repositories {
			if n == shownRepositories && !c.All {
				_, _ = fmt.Fprintf(s.out, "  … and %d more; --all prints them\n", len(x.Repositories)-n) // the next write fails as well
				break
			}
			if _, err := fmt.Fprintf(s.out, "  %s\n", escapeCell(name)); err != nil {
				return err
			}
		}
		for _, issue := range x.Issues {
			failed = true
			if err := printIssue(s.out, x.Name, &wire.ConnectionIssue{Code: issue.Code, Target: issue.Target, Message: issue.Message,
				Detail: issue.Detail}); err != nil {
				return err
			}
		}
	}
	if failed {
		return exitError(exitFailed)
	}
	return nil
}
