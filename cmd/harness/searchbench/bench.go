package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/backbone"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/bench"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/report"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/suite"
)

// programFlags are the flags of the commands that measure programs.
type programFlags struct {
	Quarry   string        `required:"" type:"existingfile" help:"The quarry binary to judge."`
	Set      []string      `help:"Setting for quarry serve, KEY=VALUE; may be repeated." sep:"none"`
	Settle   time.Duration `default:"12s" help:"How long no merge may have happened before anything is measured."`
	Seed     uint64        `help:"Seed of the random queries. Default: a new one each time, which the report names."`
	Out      string        `type:"path" help:"Write the report to this Markdown file as well."`
	ZoektBin string        `type:"path" env:"ZOEKT_BIN" help:"Folder of zoekt's binaries. Without it zoekt is not compared."`
}

// openPrograms opens the programs of the flags.
func (p *programFlags) openPrograms() (opts bench.Options, err error) {
	opts = bench.Options{Seed: p.Seed, SettleTime: p.Settle, Log: logLine}
	if opts.Seed == 0 {
		opts.Seed = uint64(time.Now().UnixNano() % 1_000_000)
	}
	if opts.Here, err = engine.OpenQuarry(p.Quarry, p.Set); err != nil {
		return opts, err
	}
	if p.ZoektBin == "" {
		opts.Absent = append(opts.Absent, engine.ErrNoZoekt)
	} else if opts.Zoekt, err = engine.OpenZoekt(p.ZoektBin); err != nil {
		return opts, err
	}
	logLine("random queries of the seed %d", opts.Seed)
	return opts, nil
}

// writeReport prints a report, if there is one, and returns the error of its run.
func (p *programFlags) writeReport(r report.Report, err error) error {
	if len(r.Tables) == 0 && len(r.Missing) == 0 {
		return err
	}
	text := r.Markdown()
	fmt.Print("\n", text)
	if p.Out == "" {
		return err
	}
	return errors.Join(err, os.WriteFile(p.Out, []byte(text), 0o644))
}

// besideFlags are the flags of the commands that compare two builds.
type besideFlags struct {
	programFlags `embed:""`
	Corpora      string   `required:"" type:"path" help:"Where searchbench corpora built them."`
	Only         []string `help:"Import these repositories alone. Default: all that were built, but histories."`
	Before       string   `type:"existingfile" help:"An earlier quarry binary to compare with."`
	Reference    string   `default:"before" help:"Name of the earlier one in the report."`
	Work         string   `type:"path" help:"Folder for indexes and clones; its content is replaced. Default: compare below the corpora."`
}

// runComparison runs a comparison. choose sets its steps and sizes.
func (b *besideFlags) runComparison(ctx context.Context, choose func(*bench.Options) error) error {
	opts, err := b.openPrograms()
	if err != nil {
		return err
	}
	opts.Title, opts.Corpora, opts.Only, opts.Reference, opts.Work, opts.Absent = "Comparison", b.Corpora, b.Only, b.Reference, b.Work, nil
	if opts.Work == "" {
		opts.Work = filepath.Join(b.Corpora, "compare")
	}
	if b.Before != "" {
		if opts.Before, err = engine.OpenQuarry(b.Before, b.Set); err != nil {
			return err
		}
	}
	if err := choose(&opts); err != nil {
		return err
	}
	return b.writeReport(bench.Run(ctx, opts))
}

type compareCommand struct {
	besideFlags `embed:""`
	Queries     int `default:"600" help:"Number of random queries."`
	Runs        int `default:"7" help:"Runs of each query, after one to warm up."`
	Imports     int `default:"2" help:"Imports of each build, in turn."`
	Pushes      int `default:"20" help:"Pushes of one file."`
	Loads       int `default:"3" help:"How often eight clients send the list of queries."`
}

func (c *compareCommand) Run(ctx context.Context) error {
	return c.runComparison(ctx, func(o *bench.Options) (err error) {
		o.Random, o.Runs, o.Imports, o.Pushes, o.Loads = c.Queries, c.Runs, c.Imports, c.Pushes, c.Loads
		o.Steps = []bench.Step{bench.StepImport, bench.StepRandom, bench.StepSuite, bench.StepLoad, bench.StepPushes}
		o.Suite, err = builtIn("queries-first.json", "queries.json")
		return err
	})
}

type randomCommand struct {
	besideFlags `embed:""`
	Queries     int `default:"2000" help:"Number of random queries."`
	Runs        int `default:"5" help:"Runs of each query, after one to warm up."`
	Check       int `default:"50" help:"Number of queries whose matches are compared with ripgrep's; 0 for none."`
}

func (c *randomCommand) Run(ctx context.Context) error {
	return c.runComparison(ctx, func(o *bench.Options) (err error) {
		o.Random, o.Runs, o.Checked, o.Steps = c.Queries, c.Runs, c.Check, []bench.Step{bench.StepImport, bench.StepRandom, bench.StepCounts}
		if c.Check > 0 {
			o.Ripgrep, err = engine.OpenRipgrep()
		}
		return err
	})
}

type growthCommand struct {
	programFlags `embed:""`
	Tree         string `required:"" type:"existingdir" help:"Folder of sources that everything is made of: 60 to 100 MB of text do, such as tree/go of the corpora."`
	Work         string `required:"" type:"path" help:"Folder for repositories and data directories; its content is replaced."`
	Copies       []int  `default:"1,4" help:"Numbers of copies of the tree to compare, ascending; empty for none."`
	Small        int    `default:"200" help:"Number of small repositories, compared with a tenth of them; 0 for none."`
	Pushes       int    `default:"500" help:"Number of pushes of one file, compared with a new build of their result; 0 for none."`
	Queries      int    `default:"230" help:"Number of random queries."`
	Runs         int    `default:"7" help:"Runs of each query, after one to warm up."`
}

func (c *growthCommand) Run(ctx context.Context) error {
	opts, err := c.openPrograms()
	if err != nil {
		return err
	}
	opts.Work, opts.Random, opts.Runs = c.Work, c.Queries, c.Runs
	return c.writeReport(bench.MeasureGrowth(ctx, bench.Growth{Options: opts, Tree: c.Tree, Copies: c.Copies, Small: c.Small, Aging: c.Pushes}))
}

// These steps of the run command create their own indexes and are taken last.
const (
	stepFreshness  bench.Step = "freshness"  // pushes at given rates, on every log
	stepThroughput bench.Step = "throughput" // a backlog of pushes, on every log
	stepBranches   bench.Step = "branches"   // many branches of one repository
)

var (
	sharedSteps = []bench.Step{
		bench.StepMachine, bench.StepImport, bench.StepCore, bench.StepCold, bench.StepSuite, bench.StepClasses, bench.StepLoad, bench.StepStable, bench.StepStream,
		bench.StepScans, bench.StepPushes,
	}
	runSteps = append(slices.Clone(sharedSteps), stepFreshness, stepThroughput, stepBranches)
)

type runCommand struct {
	programFlags `embed:""`
	Corpora      string    `required:"" type:"path" help:"Where searchbench corpora built them."`
	Queries      []string  `type:"existingfile" help:"Files of queries instead of the built-in suite."`
	Work         string    `type:"path" xor:"work" help:"Folder for indexes and clones; its content is replaced. Default: work below the corpora."`
	Reuse        string    `type:"existingdir" xor:"work" help:"Work folder of an earlier run, whose indexes are kept as far as they received no pushes. Quarry imports again if import is among the steps."`
	Only         []string  `help:"Take these steps alone: ${steps}."`
	Sets         []string  `help:"Import and ask these sets alone: ${sets}."`
	Logs         []string  `help:"Event logs of the steps freshness and throughput: ${logs}."`
	KafkaLibs    string    `type:"path" env:"QUARRY_KAFKA_LIBS" help:"Directory of the jars of the brokers that are started."`
	Pushes       int       `help:"Pushes at each rate of the step freshness. Default: 1000."`
	Rates        []float64 `default:"1,20" help:"Pushes a second of the step freshness."`
	Beside       float64   `default:"-1" help:"Gigabytes of text indexed in addition to Linux in the step freshness. Default: 5."`
	Backlog      int       `help:"Pushes that wait in the step throughput, over 200 repositories. Default: 50000."`
	Quick        bool      `help:"Fewer runs, five pushes; freshness: 20 pushes with 0.2 GB of other text; throughput: 2000 pushes over 40 repositories; branches: one round."`
	Bandwidth    int       `default:"256" help:"Megabytes that each core reads and copies to measure the memory; far more than its caches."`
}

func (c *runCommand) Run(ctx context.Context) error {
	opts, err := c.benchOptions()
	if err != nil {
		return err
	}
	own := slices.DeleteFunc(slices.Clone(opts.Steps), func(s bench.Step) bool { return slices.Contains(sharedSteps, s) })
	r := report.Report{Title: opts.Title + time.Now().UTC().Format(" of 2006-01-02"), Machine: report.Describe()}
	if len(own) < len(opts.Steps) {
		if r, err = bench.Run(ctx, opts); err != nil {
			return c.writeReport(r, err)
		}
	}
	if err := c.takeOwnSteps(ctx, opts, own, &r); err != nil {
		return err
	}
	return c.writeReport(r, ctx.Err())
}

func (c *runCommand) benchOptions() (bench.Options, error) {
	opts, err := c.openPrograms()
	if err != nil {
		return opts, err
	}
	opts.Title, opts.Corpora, opts.Work, opts.Goals, opts.BandwidthBytes, opts.CoreSet = "Run", c.Corpora, c.Work, true, c.Bandwidth<<20, "linux"
	opts.Runs, opts.Pushes, opts.Loads = 5, 20, 3
	if c.Quick {
		opts.Runs, opts.Pushes, opts.Loads, opts.CoreSet = 3, 5, 1, "go"
	}
	switch {
	case c.Reuse != "":
		opts.Work, opts.Reuse = c.Reuse, true
	case opts.Work == "":
		opts.Work = filepath.Join(c.Corpora, "work")
	}
	if opts.Steps, err = parseNames(c.Only, runSteps, bench.ErrStep); err != nil {
		return opts, err
	}
	if opts.Sets, err = parseNames(c.Sets, bench.Sets, bench.ErrSets); err != nil {
		return opts, err
	}
	if opts.Suite, err = readQueries(c.Queries); err != nil {
		return opts, err
	}
	if opts.Scans, err = builtIn("scans.json"); err != nil {
		return opts, err
	}
	if opts.Classes, err = builtIn("classes.json"); err != nil {
		return opts, err
	}
	if opts.Ripgrep, err = engine.OpenRipgrep(); err != nil {
		opts.Absent = append(opts.Absent, err)
	}
	return opts, nil
}

// parseNames returns the given names in the order of all names, which none stand for.
func parseNames[T ~string](names []string, all []T, unknown error) ([]T, error) {
	for _, name := range names {
		if !slices.Contains(all, T(name)) {
			return nil, fmt.Errorf("%w: %q; there are %v", unknown, name, all)
		}
	}
	if len(names) == 0 {
		return all, nil
	}
	return slices.DeleteFunc(slices.Clone(all), func(s T) bool { return !slices.Contains(names, string(s)) }), nil
}

// takeOwnSteps adds the results of the steps with their own indexes to a report.
func (c *runCommand) takeOwnSteps(ctx context.Context, opts bench.Options, steps []bench.Step, r *report.Report) error {
	if len(steps) == 0 {
		return nil
	}
	manifest, err := corpus.ReadManifest(c.Corpora)
	if err != nil {
		return err
	}
	o, err := c.backboneOptions(opts, manifest)
	if err != nil {
		return err
	}
	add := func(step bench.Step, rows []report.Row, table report.Table, missing []string, err error) {
		r.Rows, r.Missing = append(r.Rows, rows...), append(r.Missing, missing...)
		if len(table.Rows) > 0 {
			r.Tables = append(r.Tables, table)
		}
		if err != nil {
			r.Missing = append(r.Missing, fmt.Sprintf("%s: %v", step, err))
		}
	}
	for _, step := range steps {
		switch step {
		case stepFreshness:
			f, err := backbone.MeasureFreshness(ctx, o)
			add(step, f.Rows(), f.Table(), f.Missing, err)
		case stepThroughput:
			t, err := backbone.MeasureThroughput(ctx, o)
			add(step, t.Rows(), t.Table(), t.Missing, err)
		case stepBranches:
			rounds := 3
			if c.Quick {
				rounds = 1
			}
			f, err := backbone.MeasureBranches(ctx, backbone.BranchOptions{
				Quarry: opts.Here, Zoekt: opts.Zoekt, Corpora: c.Corpora, Manifest: manifest, Work: filepath.Join(opts.Work, "branches"), Rounds: rounds, SettleTime: c.Settle, Log: logLine,
			})
			add(step, f.Rows(), f.Table(), nil, err)
		}
	}
	return ctx.Err()
}

// backboneOptions returns the options of the steps freshness and throughput.
func (c *runCommand) backboneOptions(opts bench.Options, manifest corpus.Manifest) (backbone.Options, error) {
	o := backbone.Options{
		Quarry: opts.Here, Corpora: c.Corpora, Manifest: manifest, Work: filepath.Join(opts.Work, "backbone"), Reuse: opts.Reuse, KafkaLibs: c.KafkaLibs, Rates: c.Rates,
		SettleTime: c.Settle, QueryRate: 5, Pushes: 1000, BesideBytes: 5_000_000_000, Backlog: 50_000, Repositories: 200, OneByOne: 400, Log: logLine,
	}
	if c.Quick {
		o.Pushes, o.BesideBytes, o.Backlog, o.Repositories, o.OneByOne = 20, 200_000_000, 2000, 40, 40
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
	for _, q := range suite.Interactive(opts.Suite) {
		o.Queries = append(o.Queries, engine.QuarryRequest(q))
	}
	var err error
	o.Logs, err = parseNames(c.Logs, backbone.Logs, backbone.ErrLog)
	return o, err
}
