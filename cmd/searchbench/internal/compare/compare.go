package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/proc"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/random"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/report"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/suite"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/verify"
)

// Options are the options of Run. Zero numbers turn a step off, but for those with a
// default.
type Options struct {
	Corpora string   // output directory of corpus.Build
	Only    []string // names of the repositories to import; nil means all but histories
	Work    string   // directory for indexes and clones; its content is replaced
	// Here is the build to judge. Before is the build that it is compared with, named
	// Reference; nil compares with zoekt alone.
	Here, Before *engine.Quarry
	Reference    string
	Zoekt        *engine.Zoekt
	Ripgrep      *engine.Ripgrep
	// Seed and Queries are those of the random queries.
	Seed    uint64
	Queries int
	Suite   []suite.Query
	// Runs is the number of runs of each query, after one to warm up. Default 7.
	Runs int
	// Imports is the number of imports of each build, of which the least counts. Default
	// 1.
	Imports int
	// Pushes bounds the pushes to the repository linux.
	Pushes int
	// Loads is the number of times that eight clients send the list of queries.
	Loads int
	// Checked is the number of random queries whose matches are compared with ripgrep's.
	Checked int
	// SettleTime is the time without a merge before anything is measured. Default:
	// engine.SettleTime.
	SettleTime time.Duration
	Log        func(format string, args ...any)
}

// pushed is the name of the repository that receives pushes.
const pushed = "linux"

// ErrWorse is returned if this build is worse than the earlier one.
var ErrWorse = errors.New("this build is worse than the one that it is compared with")

// contender is a program with its figures.
type contender struct {
	name      string
	program   program
	clone     string // its clone of the repository that receives pushes
	imports   []importFigure
	random    []answers // parallel to comparison.queries
	suite     []answers // parallel to Options.Suite
	loads     []loadFigure
	pushes    []time.Duration
	memory    proc.Memory // after the queries
	diskBytes int64
}

type comparison struct {
	Options
	manifest   corpus.Manifest
	contenders []*contender // here, before, zoekt
	here       *contender
	// before and zoekt are nil if they are not compared.
	before, zoekt *contender
	queries       []random.Query
	explained     map[int]string // how this build ran the worst queries, by index
	checks        []verify.Outcome
	steps         []string // with their durations, for the report
}

// Run compares the programs. The error wraps ErrWorse if this build exceeds a bound;
// other errors mean that the comparison could not be made.
func Run(ctx context.Context, opts Options) (report.Report, error) {
	if opts.Runs == 0 {
		opts.Runs = 7
	}
	opts.Imports = max(opts.Imports, 1)
	manifest, err := corpus.ReadManifest(opts.Corpora)
	if err != nil {
		return report.Report{}, err
	}
	c := &comparison{Options: opts, manifest: manifest}
	if err := c.drawQueries(); err != nil {
		return report.Report{}, err
	}
	described := report.Describe() // with the load before the run
	defer c.stopAll()
	if err := c.openPrograms(ctx); err != nil {
		return report.Report{}, err
	}
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"imports", c.importAll}, {"start", c.startAll}, {"random queries", c.askRandom}, {"explanations", c.explainWorst}, {"suite", c.askSuite}, {"clients", c.sendLoads},
		{"memory and disk", c.readUsage}, {"pushes", c.pushAll}, {"counts", c.checkCounts},
	} {
		start := time.Now()
		if err := step.run(ctx); err != nil {
			return report.Report{}, fmt.Errorf("%s: %w", step.name, err)
		}
		c.steps = append(c.steps, fmt.Sprintf("%s %.0f s", step.name, time.Since(start).Seconds()))
		opts.Log("%s", c.steps[len(c.steps)-1])
	}
	r, worse := c.buildReport(described)
	if len(worse) > 0 {
		return r, fmt.Errorf("%w: %d figures, seed %d: %v", ErrWorse, len(worse), c.Seed, worse)
	}
	return r, nil
}

// repositories returns the repositories to import. Histories have other measurements.
func (c *comparison) repositories() (all []corpus.Built) {
	for _, set := range []string{"linux", "go", "mixed"} {
		for _, r := range c.manifest.Set(set) {
			if c.Only == nil || slices.Contains(c.Only, r.Name) {
				all = append(all, r)
			}
		}
	}
	return all
}

func (c *comparison) drawQueries() error {
	trees := map[string]string{}
	for _, r := range c.repositories() {
		trees[r.Name] = corpus.TreePath(c.Corpora, r.Name)
	}
	sample, err := random.ReadSample(trees, c.Seed)
	if err == nil && c.Queries > 0 {
		c.queries, err = sample.Draw(c.Seed, c.Queries)
	}
	return err
}

// openPrograms creates the work directory, with a clone for each program.
func (c *comparison) openPrograms(ctx context.Context) error {
	if err := os.RemoveAll(c.Work); err != nil {
		return err
	}
	add := func(as **contender, name string, open func(dir string) program) error {
		dir := filepath.Join(c.Work, fmt.Sprint(len(c.contenders)))
		o := &contender{name: name, clone: filepath.Join(dir, "git", pushed+".git"), program: open(dir)}
		c.contenders, *as = append(c.contenders, o), o
		if err := os.MkdirAll(filepath.Dir(o.clone), 0o755); err != nil || len(c.manifest.Set(pushed)) == 0 {
			return err
		}
		return corpus.RunGit(ctx, "", "clone", "--quiet", "--bare", "--local", corpus.GitPath(c.Corpora, pushed), o.clone)
	}
	build := func(q *engine.Quarry) func(string) program {
		return func(dir string) program {
			return &quarryProgram{binary: q, settle: cmp.Or(c.SettleTime, engine.SettleTime), data: filepath.Join(dir, "data"), roots: []string{filepath.Join(c.Corpora, "git"), filepath.Join(dir, "git")}}
		}
	}
	err := add(&c.here, "here", build(c.Here))
	if c.Before != nil && err == nil {
		err = add(&c.before, c.Reference, build(c.Before))
	}
	if c.Zoekt != nil && err == nil {
		err = add(&c.zoekt, "zoekt", func(dir string) program {
			return &zoektProgram{binaries: c.Zoekt, index: filepath.Join(dir, "index"), clone: filepath.Join(dir, "git", pushed+".git")}
		})
	}
	return err
}

func (c *comparison) stopAll() {
	for _, o := range c.contenders {
		if err := o.program.Stop(); err != nil {
			c.Log("%s did not end well: %v", o.name, err)
		}
	}
}

// inTurn returns the contenders once for each round, with another one first each time.
func inTurn(contenders []*contender, rounds int) [][]*contender {
	orders := make([][]*contender, rounds)
	for round := range orders {
		for i := range contenders {
			orders[round] = append(orders[round], contenders[(round+i)%len(contenders)])
		}
	}
	return orders
}
