package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/connections"
	"github.com/quarrysearch/quarry/pipeline/discovery/hooks"
)

type hooksCommand struct {
	Install installHooksCommand `cmd:"" help:"Register missing webhooks."`
	Status  hooksStatusCommand  `cmd:"" help:"Show the webhooks of a connection."`
	Remove  removeHooksCommand  `cmd:"" help:"Remove the webhooks of a connection."`
}

// hookFlags holds the flags that select a connection of the settings.
type hookFlags struct {
	configFlags
	Connection string `arg:"" help:"Name of the connection."`
}

type installHooksCommand struct{ hookFlags }

// Help implements kong.HelpProvider.
func (*installHooksCommand) Help() string {
	return `Registers a webhook to publicUrl, with the first of the connection's secrets, at each target of the connection that has none. The token needs the scopes of docs/connections.md.`
}

// Run implements the command.
func (c *installHooksCommand) Run(ctx context.Context, s streams) error {
	return c.printResults(ctx, s, (*hooks.Registrar).Install)
}

type hooksStatusCommand struct{ hookFlags }

// Run implements the command.
func (c *hooksStatusCommand) Run(ctx context.Context, s streams) error {
	return c.printResults(ctx, s, (*hooks.Registrar).ShowStatus)
}

type removeHooksCommand struct{ hookFlags }

// Run implements the command.
func (c *removeHooksCommand) Run(ctx context.Context, s streams) error {
	return c.printResults(ctx, s, (*hooks.Registrar).Remove)
}

// printResults prints a line for each target. A step that the user must do manually is
// not a failure.
func (c *hookFlags) printResults(ctx context.Context, s streams, act func(*hooks.Registrar, context.Context) []hooks.Result) error {
	settings, _, err := c.readSettings(s)
	if err != nil {
		return err
	}
	registrar, err := connections.OpenHooks(ctx, &settings, c.Connection)
	if err != nil {
		return err
	}
	failed := false
	for _, result := range act(registrar, ctx) {
		text := cmp.Or(string(result.State), "unknown")
		if result.Err != nil {
			failed = failed || !errors.Is(result.Err, hooks.ErrByHand)
			text = result.Err.Error()
		}
		if _, err := fmt.Fprintf(s.out, "%s: %s\n", escapeCell(result.Target), escapeCell(text)); err != nil {
			return err
		}
	}
	if failed {
		return exitError(exitFailed)
	}
	return nil
}
