package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/backbone"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/bench"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/corpus"
)

//go:embed corpora.json
var defaultList []byte

type cli struct {
	Corpora   corporaCommand   `cmd:"" help:"Build the source trees to measure on, by package managers, outside the project."`
	Run       runCommand       `cmd:"" help:"Compare Quarry with zoekt and ripgrep."`
	Compare   compareCommand   `cmd:"" help:"Compare a build with an earlier one, and with zoekt, side by side; fails if it is worse."`
	Random    randomCommand    `cmd:"" help:"Compare random queries alone, with the matches of some of them checked by ripgrep."`
	Core      coreCommand      `cmd:"" hidden:"" help:"Feed source trees to the segment builder; for run."`
	Verify    verifyCommand    `cmd:"" help:"Compare files and match counts with ripgrep; fails on a difference without a reason."`
	Relevance relevanceCommand `cmd:"" help:"Report how high Quarry and zoekt put the file that people look for."`
	Answers   answersCommand   `cmd:"" help:"Report whether the right line is among the first ten that Quarry, zoekt and ripgrep show."`
	Meaning   meaningCommand   `cmd:"" help:"Report whether the first definition of a name is the one that it means, as language servers say."`
	Growth    growthCommand    `cmd:"" help:"Measure how the figures grow with text, repositories and pushes."`
	Hooks     hooksCommand     `cmd:"" help:"Measure how long webhooks wait for 202 during searches, imports and refused deliveries."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c cli
	k := kong.Parse(&c, kong.Name("searchbench"), kong.Description("Compares Quarry with zoekt and ripgrep."), kong.UsageOnError(), kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Vars{"steps": fmt.Sprint(bench.Steps), "sets": fmt.Sprint(bench.Sets), "logs": fmt.Sprint(backbone.Logs)})
	k.FatalIfErrorf(k.Run())
}

type corporaCommand struct {
	Out       string   `required:"" type:"path" help:"Directory to build in; about 10 GB."`
	List      string   `type:"existingfile" help:"A list of one's own instead of the built-in one."`
	Only      []string `help:"Build these repositories alone."`
	MinFreeGB uint64   `default:"12" help:"Stop when less disk than this is free."`
}

func (c *corporaCommand) Run(ctx context.Context) error {
	list, err := corpus.ParseList(defaultList)
	if c.List != "" {
		list, err = corpus.ReadList(c.List)
	}
	if err != nil {
		return err
	}
	manifest, err := corpus.Build(ctx, list, corpus.Options{
		Out: c.Out, Only: c.Only, MinFreeBytes: c.MinFreeGB << 30,
		Progress: logLine,
	})
	printSets(manifest)
	return err
}

func printSets(manifest corpus.Manifest) {
	for _, set := range []string{"linux", "go", "mixed", "history"} {
		var files int
		var text int64
		repositories := manifest.Set(set)
		for _, b := range repositories {
			files += b.TextFiles
			text += b.TextBytes
		}
		fmt.Printf("%-7s %3d repositories, %6d text files, %7.1f MB of text\n", set, len(repositories), files, float64(text)/1e6)
	}
}
