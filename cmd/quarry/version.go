package main

import (
	"encoding/json"
	"fmt"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
)

type versionCommand struct {
	JSON bool `help:"Print a JSON object with the version, the commit and the Go version."`
}

// Run implements the command.
func (c *versionCommand) Run(s streams) error {
	if c.JSON {
		return json.NewEncoder(s.out).Encode(boot.ReadBuild())
	}
	_, err := fmt.Fprintln(s.out, versionText())
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
