package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/proc"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/random"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/report"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/suite"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/verify"
)

// Options are the options of Run. Zero numbers turn a step off, but for those with a
// default.
type Options struct {
	Title   string
	Corpora string   // output directory of corpus.Build
	Sets    []string // sets to import, in this order; nil means Sets
	Only    []string // names of the repositories to import; nil means all of the sets
	// Work is the directory for indexes and clones. Its content is replaced, but for the
	// indexes of an earlier run that Reuse keeps.
	Work  string
	Reuse bool
	// Goals compares the figures with the goals, which are also those of the imports of
	// each set. So it imports the sets one after the other.
	Goals bool
	// Here is the build to judge. Before is the build that it is compared with, named
	// Reference; nil compares with zoekt alone.
	Here, Before *engine.Quarry
	Reference    string
	Zoekt        *engine.Zoekt
	Ripgrep      *engine.Ripgrep
	// Absent holds the reasons why programs are nil.
	Absent []error
	// Steps are the steps to take; the index is built in any case.
	Steps []Step
	// Seed and Random are the seed and the number of the random queries.
	Seed   uint64
	Random int
	// Suite, Classes and Scans are the fixed queries.
	Suite, Classes, Scans []suite.Query
	// Runs is the number of runs of each query, after one to warm up. Default 7.
	Runs int
	// Imports is the number of imports of each build, of which the least counts. Default
	// 1.
	Imports int
	// Pushes bounds the pushes to the repository linux.
	Pushes int
	// Loads is the number of times that eight clients send a list of queries.
	Loads int
	// Checked is the number of random queries whose matches are compared with ripgrep's.
	Checked int
	// BandwidthBytes is the size of the buffers that measure the memory.
	BandwidthBytes int
	// CoreSet is the set with which the core of indexing is measured.
	CoreSet string
	// SettleTime is the time without a merge before anything is measured. Default:
	// engine.SettleTime.
	SettleTime time.Duration
	Log        func(format string, args ...any)
}

// Sets contains the sets of the corpora. Histories have other measurements.
var Sets = []string{"linux", "go", "mixed"}

// pushed is the name of the repository that receives pushes.
const pushed = "linux"

// These errors are returned for names that do not exist, and if this build is worse than
// the earlier one.
var (
	ErrSets  = errors.New("no such set of repositories")
	ErrStep  = errors.New("no such step")
	ErrWorse = errors.New("this build is worse than the one that it is compared with")
)

// Step is a part of a run that can be requested separately.
type Step string

// These are the steps, in order.
const (
	StepMachine Step = "machine" // memory bandwidth, which bounds scans
	StepImport  Step = "import"  // timed imports, even if there is an index to keep
	StepCore    Step = "core"    // the core of indexing alone
	StepCold    Step = "cold"    // start with files that are not in memory
	StepRandom  Step = "random"  // queries drawn from the text
	StepSuite   Step = "suite"   // the query suite
	StepClasses Step = "classes" // query classes outside of the suite: rare literals, symbols
	StepScans   Step = "scans"   // exact counts that an index hardly speeds up
	StepLoad    Step = "load"    // many clients
	StepStable  Step = "stable"  // whether the same request returns the same list
	StepStream  Step = "stream"  // first part of a streamed answer
	StepPushes  Step = "pushes"  // freshness
	StepCounts  Step = "counts"  // matches compared with ripgrep's
)

// contender is a program with its figures.
type contender struct {
	name    string
	program program
	clone   string // its clone of the repository that receives pushes
	sets    []importSet
	// imports holds the figures of each import, by set.
	imports   [][]importFigure
	cold      []time.Duration
	core      CoreFigure
	answers   map[Step][]answers // parallel to the queries of the step
	loads     map[string][]loadFigure
	stable    []stableFigure
	streams   []streamFigure
	pushes    []time.Duration
	memory    proc.Memory // after the queries
	diskBytes int64
	segments  float64
	brief     bool // it answers requests without advice
}

type comparison struct {
	Options
	manifest   corpus.Manifest
	machine    report.Machine // with the load before the run
	contenders []*contender   // here, before, zoekt
	here       *contender
	// before and zoekt are nil if they are not compared.
	before, zoekt *contender
	queries       map[Step][]random.Query
	ripgrep       []time.Duration // medians, parallel to the scans
	bandwidth     proc.Bandwidth
	explained     map[int]string // how this build ran the worst random queries, by index
	checks        []verify.Outcome
	missing       []string
	took          []string // the steps with their durations
}

// Run compares the programs. If there is an earlier build, a step that fails ends the
// run, and the error wraps ErrWorse if this build exceeds a bound; otherwise, the report
// names the steps that fail, and the others continue.
func Run(ctx context.Context, opts Options) (report.Report, error) {
	c := &comparison{Options: opts, machine: report.Describe()}
	if err := c.prepareQueries(); err != nil {
		return report.Report{}, err
	}
	defer c.stopAll()
	if err := c.openPrograms(ctx); err != nil {
		return report.Report{}, err
	}
	if err := c.takeSteps(ctx); err != nil {
		return report.Report{}, err
	}
	r, worse := c.buildReport()
	if len(worse) > 0 {
		return r, fmt.Errorf("%w: %d figures, seed %d: %v", ErrWorse, len(worse), c.Seed, worse)
	}
	return r, ctx.Err()
}

// prepareQueries sets the defaults, reads the corpora and draws the queries.
func (c *comparison) prepareQueries() (err error) {
	c.Runs, c.Imports = cmp.Or(c.Runs, 7), max(c.Imports, 1)
	if c.Sets == nil {
		c.Sets = Sets
	}
	if c.manifest, err = corpus.ReadManifest(c.Corpora); err != nil {
		return err
	}
	if len(c.repositories()) == 0 {
		return fmt.Errorf("%w: the corpora have none of %v", ErrSets, c.Sets)
	}
	for _, reason := range c.Absent {
		c.missing = append(c.missing, reason.Error())
	}
	c.queries = map[Step][]random.Query{StepSuite: wrapQueries(c.Suite), StepClasses: wrapQueries(c.Classes), StepScans: wrapQueries(c.Scans)}
	if !c.takesStep(StepRandom) {
		return nil
	}
	sample, err := random.ReadSample(c.trees(), c.Seed)
	if err == nil {
		c.queries[StepRandom], err = sample.Draw(c.Seed, c.Random)
	}
	return err
}

// wrapQueries returns queries without filters that were drawn.
func wrapQueries(queries []suite.Query) []random.Query {
	all := make([]random.Query, len(queries))
	for i, q := range queries {
		all[i] = random.Query{Query: q, Filter: random.NoFilter}
	}
	return all
}

func (c *comparison) takesStep(s Step) bool { return slices.Contains(c.Steps, s) }

// repositories returns the repositories to import.
func (c *comparison) repositories() (all []corpus.Built) {
	for _, set := range c.Sets {
		for _, r := range c.manifest.Set(set) {
			if c.Only == nil || slices.Contains(c.Only, r.Name) {
				all = append(all, r)
			}
		}
	}
	return all
}

// trees returns the checkouts by repository name.
func (c *comparison) trees() map[string]string {
	trees := map[string]string{}
	for _, r := range c.repositories() {
		trees[r.Name] = corpus.TreePath(c.Corpora, r.Name)
	}
	return trees
}

// importSets returns the repositories that a contender imports, where its clone stands
// for the repository that receives pushes.
func (c *comparison) importSets(clone string) (sets []importSet) {
	for _, r := range c.repositories() {
		name := ""
		if c.Goals {
			name = r.Set
		}
		if len(sets) == 0 || sets[len(sets)-1].name != name {
			sets = append(sets, importSet{name: name, repositories: map[string]string{}})
		}
		set := &sets[len(sets)-1]
		set.repositories[r.Name] = corpus.GitPath(c.Corpora, r.Name)
		if r.Name == pushed {
			set.repositories[r.Name] = clone
		}
		set.textBytes += r.TextBytes
	}
	return sets
}

func (o *contender) textBytes() (n int64) {
	for _, set := range o.sets {
		n += set.textBytes
	}
	return n
}

func (o *contender) countRepositories() (n int) {
	for _, set := range o.sets {
		n += len(set.repositories)
	}
	return n
}

// openPrograms creates the work directory, with a clone for each program.
func (c *comparison) openPrograms(ctx context.Context) error {
	if !c.Reuse {
		if err := os.RemoveAll(c.Work); err != nil {
			return err
		}
	}
	roots := []string{filepath.Join(c.Corpora, "git")}
	c.here = c.addContender("here", c.buildProgram(c.Here, roots))
	if c.Before != nil {
		c.before = c.addContender(c.Reference, c.buildProgram(c.Before, roots))
	}
	if c.Zoekt != nil {
		c.zoekt = c.addContender("zoekt", func(dir string) program {
			return &zoektProgram{binaries: c.Zoekt, index: filepath.Join(dir, "index"), clone: filepath.Join(dir, "git", pushed+".git")}
		})
	}
	for _, o := range c.contenders {
		o.clone = filepath.Join(filepath.Dir(indexDir(o)), "git", pushed+".git")
		o.sets = c.importSets(o.clone)
		if err := os.MkdirAll(filepath.Dir(o.clone), 0o755); err != nil {
			return err
		}
		if _, err := os.Stat(o.clone); err == nil || len(c.manifest.Set(pushed)) == 0 {
			continue
		}
		if err := corpus.RunGit(ctx, "", "clone", "--quiet", "--bare", "--local", corpus.GitPath(c.Corpora, pushed), o.clone); err != nil {
			return err
		}
	}
	return nil
}

// addContender adds a contender, whose program gets a folder below the work directory.
func (c *comparison) addContender(name string, open func(dir string) program) *contender {
	o := &contender{name: name, program: open(filepath.Join(c.Work, fmt.Sprint(len(c.contenders)))), answers: map[Step][]answers{}, loads: map[string][]loadFigure{}}
	c.contenders = append(c.contenders, o)
	return o
}

// buildProgram returns a function that opens a build of Quarry.
func (c *comparison) buildProgram(q *engine.Quarry, roots []string) func(dir string) program {
	return func(dir string) program {
		return &quarryProgram{
			binary: q, settle: cmp.Or(c.SettleTime, engine.SettleTime), data: filepath.Join(dir, "data"), roots: append(slices.Clip(roots), filepath.Join(dir, "git")),
		}
	}
}

func indexDir(o *contender) string {
	dir, _ := o.program.Index()
	return dir
}

// takeSteps takes the chosen steps in order.
func (c *comparison) takeSteps(ctx context.Context) error {
	for _, step := range []struct {
		name   Step
		always bool
		run    func(context.Context) error
	}{
		{name: StepMachine, run: c.measureMachine},
		{StepImport, true, c.importAll},
		{name: StepCore, run: c.measureCores},
		{"start", true, c.startAll},
		{name: StepCold, run: c.startCold},
		{name: StepRandom, run: c.askRandom},
		{name: StepSuite, run: func(ctx context.Context) error { return c.askStep(ctx, StepSuite, c.suiteGroups()) }},
		{name: StepClasses, run: func(ctx context.Context) error { return c.askStep(ctx, StepClasses, nil) }},
		{name: StepLoad, run: c.sendLoads},
		{"usage", c.takesStep(StepRandom) || c.takesStep(StepSuite), c.readUsage},
		{name: StepStable, run: c.countLists},
		{name: StepStream, run: c.readStreams},
		{name: StepScans, run: c.askScans},
		{name: StepPushes, run: c.pushAll},
		{name: StepCounts, run: c.checkCounts},
	} {
		if !step.always && !c.takesStep(step.name) {
			continue
		}
		start := time.Now()
		if err := step.run(ctx); err != nil {
			err = fmt.Errorf("%s: %w", step.name, err)
			if c.before != nil || step.always || ctx.Err() != nil {
				return err
			}
			c.noteMissing(err)
		}
		c.took = append(c.took, fmt.Sprintf("%s %.0f s", step.name, time.Since(start).Seconds()))
		c.Log("%s", c.took[len(c.took)-1])
	}
	return nil
}

func (c *comparison) noteMissing(err error) {
	c.Log("NOT MEASURED: %v", err)
	c.missing = append(c.missing, strings.ReplaceAll(err.Error(), "\n", " "))
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
