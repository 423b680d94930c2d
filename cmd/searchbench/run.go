package main

import (
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/backbone"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/bench"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/suite"
)

//go:embed testdata/*.json testdata/relevance/*.json
var testdata embed.FS

type runCommand struct {
	Corpora   string        `required:"" type:"path" help:"Where searchbench corpora built them."`
	Quarry    string        `type:"path" help:"The quarry binary. Without it Quarry is not measured."`
	Set       []string      `help:"Setting for quarry serve, KEY=VALUE; may be repeated." sep:"none"`
	ZoektBin  string        `type:"path" env:"ZOEKT_BIN" help:"Folder of zoekt's binaries. Without it there is nothing to compare with."`
	Queries   []string      `type:"existingfile" help:"Files of queries instead of the built-in suite."`
	Work      string        `type:"path" xor:"work" help:"Folder for indexes and clones; its content is replaced. Default: work below the corpora."`
	Reuse     string        `type:"existingdir" xor:"work" help:"Work folder of an earlier run: its indexes are kept, and the figures of zoekt and ripgrep that it has are taken."`
	Again     bool          `help:"With --reuse: keep the indexes, but measure zoekt and ripgrep again."`
	Only      []string      `help:"Take these steps alone: ${steps}. Quarry imports again if import is among them."`
	Sets      []string      `help:"Import and ask these sets alone: ${sets}."`
	Logs      []string      `help:"Event logs of the steps freshness and throughput: ${logs}."`
	KafkaLibs string        `type:"path" env:"QUARRY_KAFKA_LIBS" help:"Directory of the jars of the brokers that are started."`
	Pushes    int           `help:"Pushes at each rate of the step freshness. Default: 1000."`
	Rates     []float64     `default:"1,20" help:"Pushes a second of the step freshness."`
	Beside    float64       `default:"-1" help:"Gigabytes of text indexed in addition to Linux in the step freshness. Default: 5."`
	Backlog   int           `help:"Pushes that wait in the step throughput, over 200 repositories. Default: 50000."`
	Quick     bool          `help:"Fewer and shorter runs, five pushes, no normal run of zoekt after a push, no cap per shard; freshness: 20 pushes with 0.2 GB of other text, 3 of zoekt; throughput: 2000 pushes over 40 repositories."`
	Bandwidth int           `default:"256" help:"Megabytes that each core reads and copies to measure the memory; far more than its caches."`
	Settle    time.Duration `default:"15s" help:"How long nothing may have been written after an import before anything is measured."`
	Out       string        `type:"path" help:"Write the report to this Markdown file as well."`
}

func (c *runCommand) Run(ctx context.Context) error {
	opts, err := c.benchOptions()
	if err != nil {
		return err
	}
	r, err := bench.Run(ctx, opts)
	if err != nil && len(r.Rows) == 0 {
		return err
	}
	text := r.Markdown()
	fmt.Print("\n", text)
	if c.Out != "" {
		if writeErr := os.WriteFile(c.Out, []byte(text), 0o644); writeErr != nil {
			return writeErr
		}
	}
	return err
}

// These are the settings of --quick. Slow queries are sent once.
const (
	quickRuns        = 3
	quickPushes      = 5
	quickQueryBudget = 10 * time.Second
	quickLoad        = 8 * time.Second
	quickCoreSet     = "go"

	quickFreshPushes, quickZoektPushes, quickBesideBytes = 20, 3, 200_000_000
	quickBacklog, quickRepositories, quickOneByOne       = 2000, 40, 40
)

func (c *runCommand) benchOptions() (bench.Options, error) {
	opts := bench.Options{Corpora: c.Corpora, Work: c.Work, Again: c.Again, MergesQuiet: c.Settle, BandwidthBytes: c.Bandwidth << 20, Log: logLine}
	switch {
	case c.Reuse != "":
		opts.Work, opts.Reuse = c.Reuse, true
	case opts.Work == "":
		opts.Work = filepath.Join(c.Corpora, "work")
	}
	if c.Quick {
		opts.Runs, opts.Pushes, opts.QueryBudget = quickRuns, quickPushes, quickQueryBudget
		opts.SkipNormalPush, opts.SkipCapped = true, true
		opts.LoadDuration, opts.CoreSet, opts.BranchRounds = quickLoad, quickCoreSet, 1
	}
	var err error
	if opts.Backbone, err = c.backboneOptions(); err != nil {
		return opts, err
	}
	if opts.Steps, err = bench.ParseSteps(c.Only); err != nil {
		return opts, err
	}
	if opts.Sets, err = bench.ParseSets(c.Sets); err != nil {
		return opts, err
	}
	if opts.Queries, err = readQueries(c.Queries); err != nil {
		return opts, err
	}
	if opts.Scans, err = builtIn("scans.json"); err != nil {
		return opts, err
	}
	if opts.Extra, err = builtIn("classes.json"); err != nil {
		return opts, err
	}
	var absent [3]error
	opts.Quarry, absent[0] = engine.OpenQuarry(c.Quarry, c.Set)
	opts.Zoekt, absent[1] = engine.OpenZoekt(c.ZoektBin)
	opts.Ripgrep, absent[2] = engine.OpenRipgrep()
	for _, err := range absent {
		if err != nil {
			opts.Absent = append(opts.Absent, err)
		}
	}
	return opts, nil
}

// backboneOptions returns the options of the steps freshness and throughput.
func (c *runCommand) backboneOptions() (backbone.Options, error) {
	o := backbone.Options{
		KafkaLibs: c.KafkaLibs, Rates: c.Rates, Pushes: backbone.DefaultPushes, BesideBytes: backbone.DefaultBesideBytes, QueryRate: backbone.DefaultQueryRate,
		ZoektPushes: backbone.DefaultZoektPushes, Backlog: backbone.DefaultBacklog, Repositories: backbone.DefaultRepositories, OneByOne: backbone.DefaultOneByOne,
	}
	if c.Quick {
		o.Pushes, o.ZoektPushes, o.BesideBytes, o.SkipNormalPush = quickFreshPushes, quickZoektPushes, quickBesideBytes, true
		o.Backlog, o.Repositories, o.OneByOne = quickBacklog, quickRepositories, quickOneByOne
	}
	if c.Pushes > 0 {
		o.Pushes = c.Pushes
	}
	if c.Beside >= 0 {
		o.BesideBytes = int64(c.Beside * 1e9)
	}
	if c.Backlog > 0 {
		o.Backlog = c.Backlog
	}
	var err error
	o.Logs, err = backbone.ParseLogs(c.Logs)
	return o, err
}

// readQueries reads queries from files, or returns the built-in suite if there are none.
func readQueries(paths []string) ([]suite.Query, error) {
	if len(paths) == 0 {
		return builtIn("queries-first.json", "queries.json")
	}
	var files [][]byte
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		files = append(files, data)
	}
	return suite.Parse(files...)
}

func builtIn(names ...string) ([]suite.Query, error) {
	var files [][]byte
	for _, name := range names {
		data, err := testdata.ReadFile("testdata/" + name)
		if err != nil {
			return nil, err
		}
		files = append(files, data)
	}
	return suite.Parse(files...)
}

func logLine(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}
