package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/hooks"
)

type hooksCommand struct {
	Quarry   string        `required:"" type:"existingfile" help:"The quarry binary."`
	Set      []string      `help:"Setting for quarry serve, KEY=VALUE; may be repeated." sep:"none"`
	Tree     string        `required:"" type:"existingdir" help:"Folder of sources that repositories are made of, such as the source of Go."`
	Work     string        `required:"" type:"path" help:"Folder for repositories and the data directory; its content is replaced."`
	Duration time.Duration `default:"20s" help:"How long deliveries are sent under each kind of load."`
	Rate     float64       `default:"20" help:"Deliveries a second."`
	Clients  int           `default:"16" help:"Clients that make the load of each kind."`
	Only     []string      `help:"Measure only under these loads: nothing, searches, imports, small-forgeries, large-forgeries, all."`
	Out      string        `type:"path" help:"Write the table to this Markdown file as well."`
}

func (c *hooksCommand) Run(ctx context.Context) error {
	quarry, err := engine.OpenQuarry(c.Quarry, c.Set)
	if err != nil {
		return err
	}
	r, err := hooks.Run(ctx, hooks.Options{
		Quarry: quarry, Tree: c.Tree, Work: c.Work, Duration: c.Duration, Rate: c.Rate, Clients: c.Clients, Only: c.Only, Log: logLine,
	})
	text := r.Markdown()
	fmt.Print("\n", text)
	if c.Out != "" {
		if writeErr := os.WriteFile(c.Out, []byte(text), 0o644); writeErr != nil {
			return writeErr
		}
	}
	return err
}
