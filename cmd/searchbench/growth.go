package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/growth"
)

type growthCommand struct {
	Quarry   string        `required:"" type:"existingfile" help:"The quarry binary."`
	Set      []string      `help:"Setting for quarry serve, KEY=VALUE; may be repeated." sep:"none"`
	Tree     string        `required:"" type:"existingdir" help:"Folder of sources that everything is made of: 60 to 100 MB of text do, such as tree/go of the corpora."`
	Work     string        `required:"" type:"path" help:"Folder for repositories and data directories; its content is replaced."`
	Reuse    bool          `help:"Go on with what an earlier run with the same tree and sizes has made in the work folder."`
	Copies   []int         `default:"1,4" help:"Numbers of copies of the tree to compare, ascending; empty for none."`
	Small    int           `default:"200" help:"Number of small repositories; 0 for none."`
	Pushes   int           `default:"500" help:"Number of pushes of one file; 0 for none."`
	Compared int           `default:"100" help:"Number of pushes to both the server with these pushes and a fresh one."`
	Rounds   int           `default:"15" help:"How often each question is asked."`
	Starts   int           `default:"3" help:"How often each server is killed and started again."`
	Settle   time.Duration `default:"12s" help:"How long no merge may have happened before anything is measured."`
	Out      string        `type:"path" help:"Write the report to this Markdown file as well."`
}

func (c *growthCommand) Run(ctx context.Context) error {
	quarry, err := engine.OpenQuarry(c.Quarry, c.Set)
	if err != nil {
		return err
	}
	r, err := growth.Run(ctx, growth.Options{
		Quarry: quarry, Tree: c.Tree, Work: c.Work, Reuse: c.Reuse, Copies: c.Copies, Small: c.Small, Pushes: c.Pushes, ComparedPushes: c.Compared, Rounds: c.Rounds, Starts: c.Starts, SettleTime: c.Settle, Log: logLine,
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
