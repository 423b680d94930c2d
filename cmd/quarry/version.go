package main

import (
	"encoding/json"
	"fmt"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
)

type versionCommand struct {
	JSON bool `help:"Print a JSON object."`
}

// Run implements the command.
func (c *versionCommand) Run(s streams) error {
	build := boot.ReadBuild()
	if c.JSON {
		return json.NewEncoder(s.out).Encode(build)
	}
	text := "quarry " + build.Version
	if build.Commit != "" {
		text += " " + build.Commit[:min(12, len(build.Commit))]
	}
	_, err := fmt.Fprintln(s.out, text, build.Go)
	return err
}
