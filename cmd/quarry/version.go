package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
)

type versionCommand struct {
	JSON   bool   `help:"Print a JSON object with the version, the commit and the Go version."`
	Server string `placeholder:"URL" help:"Also print the version of a server. Fails unless it is ready. Needs no API key."`
}

// Run implements the command.
func (c *versionCommand) Run(ctx context.Context, s streams) error {
	answer := struct {
		boot.Build
		Server string `json:"server,omitempty"`
	}{Build: boot.ReadBuild()}
	if c.Server != "" {
		server, err := newClient(c.Server, "", "")
		if err != nil {
			return err
		}
		if _, err := server.GetReadiness(ctx); err != nil {
			return fmt.Errorf("the server is not ready: %w", err)
		}
		version, err := server.GetVersion(ctx)
		if err != nil {
			return err
		}
		answer.Server = version.Version
	}
	if c.JSON {
		return json.NewEncoder(s.out).Encode(answer)
	}
	text := versionText()
	if answer.Server != "" {
		text += "\nserver " + answer.Server
	}
	_, err := fmt.Fprintln(s.out, text)
	return err
}

// versionText returns the line that version and --version print.
func versionText() string {
	build := boot.ReadBuild()
	text := "quarry " + build.Version
	if build.Commit != "" {
		text += " " + build.Commit[:min(12, len(build.Commit))]
	}
	return text + " " + build.Go
}
