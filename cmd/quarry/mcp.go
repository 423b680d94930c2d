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
	return "Speaks the Model Context Protocol on standard input and output, for clients that start their servers as programs, and carries it to the server. Clients that speak HTTP need no more than the address, …/api/mcp."
}

// Run implements the command. It ends with the input.
func (c *mcpCommand) Run(ctx context.Context, s streams) error {
	server, err := c.client()
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
		return nil // it may wait for input that never comes; the process ends
	}
}
