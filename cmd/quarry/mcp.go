package main

import (
	"context"
	"os"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/bridge"
)

type mcpCommand struct {
	askFlags
}

// Help implements kong.HelpProvider.
func (*mcpCommand) Help() string {
	return `For Model Context Protocol clients that start their servers as programs: copies messages between standard input and output and the server. Clients that use HTTP connect to /api/mcp on the server and do not need this command.

Example:

	claude mcp add quarry -- quarry mcp --server https://code.example.com`
}

// Run implements the command. It ends with the input.
func (c *mcpCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	b := bridge.Bridge{Send: server.Message, Out: s.out, Log: s.err}
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx, os.Stdin) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return nil // the reader may wait for input that never comes; the process exits anyway
	}
}
