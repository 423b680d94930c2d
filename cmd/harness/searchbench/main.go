package main

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/backbone"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/bench"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/suite"
)

//go:embed corpora.json
var defaultList []byte

//go:embed testdata/*.json testdata/relevance/*.json
var testdata embed.FS

type cli struct {
	Corpora   corporaCommand   `cmd:"" help:"Build the source trees to measure on, by package managers, outside the project."`
	Run       runCommand       `cmd:"" help:"Compare Quarry with zoekt and ripgrep."`
	Compare   compareCommand   `cmd:"" help:"Compare a build with an earlier one, and with zoekt, side by side; fails if it is worse."`
	Random    randomCommand    `cmd:"" help:"Compare random queries alone, with the matches of some of them checked by ripgrep."`
	Growth    growthCommand    `cmd:"" help:"Measure how the figures grow with text, repositories and pushes."`
	Fanout    fanoutCommand    `cmd:"" help:"Compare one process with fronts and their shards, on the same text."`
	Core      coreCommand      `cmd:"" hidden:"" help:"Feed source trees to the segment builder; for run."`
	Verify    verifyCommand    `cmd:"" help:"Compare files and match counts with ripgrep; fails on a difference without a reason."`
	Relevance relevanceCommand `cmd:"" help:"Report how high Quarry and zoekt put the file that people look for."`
	Answers   answersCommand   `cmd:"" help:"Report whether the right line is among the first ten that Quarry, zoekt and ripgrep show."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c cli
	k := kong.Parse(&c, kong.Name("searchbench"), kong.Description("Compares Quarry with zoekt and ripgrep."), kong.UsageOnError(), kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Vars{"steps": fmt.Sprint(runSteps), "sets": fmt.Sprint(bench.Sets), "logs": fmt.Sprint(backbone.Logs)})
	k.FatalIfErrorf(k.Run())
}

func logLine(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

// readQueries reads queries from files, or returns the built-in suite if there are none.
func readQueries(paths []string) ([]suite.Query, error) {
	if len(paths) == 0 {
		return builtIn("queries-first.json", "queries.json")
	}
	files := make([][]byte, len(paths))
	for i, path := range paths {
		var err error
		if files[i], err = os.ReadFile(path); err != nil {
			return nil, err
		}
	}
	return suite.Parse(files...)
}

func builtIn(names ...string) ([]suite.Query, error) {
	files := make([][]byte, len(names))
	for i, name := range names {
		var err error
		if files[i], err = testdata.ReadFile("testdata/" + name); err != nil {
			return nil, err
		}
	}
	return suite.Parse(files...)
}

// coreCommand measures the core of indexing. The run command starts it in a separate
// process.
type coreCommand struct {
	Trees []string `arg:"" type:"existingdir" help:"Source trees to read."`
}

func (c *coreCommand) Run(ctx context.Context) error {
	documents, err := bench.ReadDocuments(ctx, c.Trees...)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "searchbench-core-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	figure, err := bench.MeasureCore(documents, dir)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(figure)
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
