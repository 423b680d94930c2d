package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/compare"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
)

// comparedPrograms are the flags of the commands that compare programs side by side.
type comparedPrograms struct {
	Corpora   string        `required:"" type:"path" help:"Where searchbench corpora built them."`
	Only      []string      `help:"Import these repositories alone. Default: all that were built, but histories."`
	Quarry    string        `required:"" type:"existingfile" help:"The quarry binary to judge."`
	Before    string        `type:"existingfile" help:"An earlier quarry binary to compare with."`
	Reference string        `default:"before" help:"Name of the earlier one in the report."`
	ZoektBin  string        `type:"path" env:"ZOEKT_BIN" help:"Folder of zoekt's binaries. Without it zoekt is not compared."`
	Set       []string      `help:"Setting for quarry serve, KEY=VALUE; may be repeated." sep:"none"`
	Settle    time.Duration `default:"12s" help:"How long no merge may have happened before anything is measured."`
	Seed      uint64        `help:"Seed of the random queries. Default: a new one each time, which the report names."`
	Work      string        `type:"path" help:"Folder for indexes and clones; its content is replaced. Default: compare below the corpora."`
	Out       string        `type:"path" help:"Write the report to this Markdown file as well."`
}

// compareWith runs a comparison with the programs of the flags.
func (p *comparedPrograms) compareWith(ctx context.Context, opts compare.Options) (err error) {
	opts.Corpora, opts.Only, opts.Work, opts.Reference, opts.Seed, opts.SettleTime, opts.Log = p.Corpora, p.Only, p.Work, p.Reference, p.Seed, p.Settle, logLine
	if opts.Work == "" {
		opts.Work = filepath.Join(p.Corpora, "compare")
	}
	if opts.Seed == 0 {
		opts.Seed = uint64(time.Now().UnixNano() % 1_000_000)
	}
	if opts.Here, err = engine.OpenQuarry(p.Quarry, p.Set); err != nil {
		return err
	}
	if p.Before != "" {
		if opts.Before, err = engine.OpenQuarry(p.Before, p.Set); err != nil {
			return err
		}
	}
	if p.ZoektBin != "" {
		if opts.Zoekt, err = engine.OpenZoekt(p.ZoektBin); err != nil {
			return err
		}
	}
	if opts.Checked > 0 {
		if opts.Ripgrep, err = engine.OpenRipgrep(); err != nil {
			return err
		}
	}
	logLine("random queries of the seed %d", opts.Seed)
	r, err := compare.Run(ctx, opts)
	if len(r.Tables) == 0 {
		return err
	}
	text := r.Markdown()
	fmt.Print("\n", text)
	if p.Out != "" {
		if writeErr := os.WriteFile(p.Out, []byte(text), 0o644); writeErr != nil {
			return writeErr
		}
	}
	return err
}

type compareCommand struct {
	comparedPrograms `embed:""`
	Queries          int `default:"600" help:"Number of random queries."`
	Runs             int `default:"7" help:"Runs of each query, after one to warm up."`
	Imports          int `default:"2" help:"Imports of each build, in turn."`
	Pushes           int `default:"20" help:"Pushes of one file."`
	Loads            int `default:"3" help:"How often eight clients send the list of queries."`
}

func (c *compareCommand) Run(ctx context.Context) error {
	queries, err := builtIn("queries-first.json", "queries.json")
	if err != nil {
		return err
	}
	return c.compareWith(ctx, compare.Options{Suite: queries, Queries: c.Queries, Runs: c.Runs, Imports: c.Imports, Pushes: c.Pushes, Loads: c.Loads})
}

type randomCommand struct {
	comparedPrograms `embed:""`
	Queries          int `default:"2000" help:"Number of random queries."`
	Runs             int `default:"5" help:"Runs of each query, after one to warm up."`
	Check            int `default:"50" help:"Number of queries whose matches are compared with ripgrep's; 0 for none."`
}

func (c *randomCommand) Run(ctx context.Context) error {
	return c.compareWith(ctx, compare.Options{Queries: c.Queries, Runs: c.Runs, Checked: c.Check})
}
