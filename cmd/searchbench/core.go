package main

import (
	"context"
	"encoding/json"
	"os"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/core"
)

// coreCommand measures the core of indexing. The run command starts it in a separate
// process.
type coreCommand struct {
	Trees []string `arg:"" type:"existingdir" help:"Source trees to read."`
}

func (c *coreCommand) Run(ctx context.Context) error {
	documents, err := core.Read(ctx, c.Trees...)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "searchbench-core-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	figure, err := core.Feed(documents, dir)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(figure)
}
