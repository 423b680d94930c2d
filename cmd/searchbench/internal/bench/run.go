package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/backbone"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/branches"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/machine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/report"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/suite"
)

// Options of Run.
type Options struct {
	Corpora string // where corpus.Build put the corpora
	Work    string // indexes and clones are made here; its content is replaced
	Quarry  *engine.Quarry
	Zoekt   *engine.Zoekt
	Ripgrep *engine.Ripgrep
	// Absent says why a program is nil.
	Absent  []error
	Queries []suite.Query
	// Extra are classes of queries outside of the suite, which do not count in its means.
	Extra []suite.Query
	Scans []suite.Query
	// Steps to take; nil means all. The imports are made in any case where there is no index to keep.
	Steps []Step
	// Sets of repositories to import, in this order; nil means all.
	Sets []string
	// Runs after the warm-up whose median counts. Default 5.
	Runs int
	// ExtraRuns is Runs for Extra, whose slowest runs count. Default 10.
	ExtraRuns int
	// LoadDuration is how long each mix of queries is run. Default 15 s.
	LoadDuration time.Duration
	// MergesQuiet is how long nothing must have been written after an import before anything is measured. Default 15 s.
	MergesQuiet time.Duration
	// CoreSet is the set of which the core of indexing is measured. Default linux.
	CoreSet string
	// Pushes bounds the pushes to Linux. Default: all that are prepared.
	Pushes int
	// SkipNormalPush leaves out zoekt's run without its delta mode, which takes as long as an import.
	SkipNormalPush bool
	// QueryBudget bounds all runs of one query. Default 40 s.
	QueryBudget time.Duration
	// SkipCapped leaves out zoekt with a cap per shard, which no goal is held against.
	SkipCapped bool
	// Reuse keeps the indexes of an earlier run in Work, and takes zoekt's and ripgrep's figures of that run where there are any.
	Reuse bool
	// Again measures zoekt and ripgrep again on the stored indexes.
	Again bool
	// Backbone sizes the steps freshness and throughput; programs, corpora and questions are filled in.
	Backbone backbone.Options
	// BranchRounds is how often each import of the step branches is made. Default: branches.DefaultRounds.
	BranchRounds int
	Log          func(format string, args ...any)
}

const (
	defaultRuns = 5
	// defaultExtraRuns of 24 rare literals are 240 answers, of which the slowest hundredth is more than one.
	defaultExtraRuns = 10
)

// Sets that there are. The Go library is imported between the two timed sets.
var Sets = []string{"linux", "go", "mixed"}

// ErrSets is returned for sets that are not there.
var ErrSets = errors.New("sets of repositories do not fit")

func (o *Options) ensureDefaults() {
	if o.Runs == 0 {
		o.Runs = defaultRuns
	}
	if o.ExtraRuns == 0 {
		o.ExtraRuns = defaultExtraRuns
	}
	if o.LoadDuration == 0 {
		o.LoadDuration = defaultLoadDuration
	}
	if o.MergesQuiet == 0 {
		o.MergesQuiet = defaultMergesQuiet
	}
	if o.CoreSet == "" {
		o.CoreSet = "linux"
	}
	if o.QueryBudget == 0 {
		o.QueryBudget = defaultQueryBudget
	}
	if o.Steps == nil {
		o.Steps = Steps
	}
	if o.Sets == nil {
		o.Sets = Sets
	}
}

// Run measures everything. The error says only that it could not begin or was interrupted; the report says the rest.
func Run(ctx context.Context, opts Options) (report.Report, error) {
	opts.ensureDefaults()
	manifest, err := corpus.ReadManifest(opts.Corpora)
	if err != nil {
		return report.Report{}, err
	}
	b := &bench{Options: opts, manifest: manifest, machine: report.Describe()}
	if err := b.openWork(); err != nil {
		return report.Report{}, err
	}
	for _, reason := range opts.Absent {
		b.noteMissing("%v", reason)
	}
	if b.takesStep(StepMachine) {
		b.measureMachine()
	}
	if opts.Zoekt != nil && b.takesSharedStep() {
		b.zoekt = b.measureZoekt(ctx)
	}
	if opts.Quarry != nil && b.takesSharedStep() && ctx.Err() == nil {
		b.quarry = b.measureQuarry(ctx)
	}
	if opts.Ripgrep != nil && b.takesStep(StepScans) && ctx.Err() == nil {
		b.ripgrep = b.measureRipgrep(ctx)
	}
	if opts.Quarry != nil && ctx.Err() == nil {
		b.measureBackbone(ctx)
		b.measureBranches(ctx)
	}
	return b.buildReport(), ctx.Err()
}

type bench struct {
	Options
	manifest corpus.Manifest
	machine  report.Machine
	absent   []string
	zoekt    *figures
	quarry   *figures
	ripgrep  []timing
	// freshness and throughput are nil where they were not measured.
	freshness  *backbone.Freshness
	throughput *backbone.Throughput
	// branches is nil where it was not measured.
	branches *branches.Figures
	// bandwidth is that of this machine's memory.
	bandwidth machine.Bandwidth
	// zoektLedger keeps ripgrep's figures as well: both are what is compared with. quarryLedger is never replayed.
	zoektLedger, quarryLedger *ledger
}

func (b *bench) noteMissing(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	b.Log("NOT MEASURED: %s", line)
	b.absent = append(b.absent, strings.ReplaceAll(line, "\n", " "))
}

// openWork checks the corpora and opens the work directory.
func (b *bench) openWork() error {
	for _, set := range b.Sets {
		if len(b.manifest.Set(set)) == 0 && b.needsSets() {
			return fmt.Errorf("%w: the corpora lack the set %q; build them all", ErrSets, set)
		}
	}
	if !b.Reuse {
		if err := os.RemoveAll(b.Work); err != nil {
			return err
		}
	}
	var err error
	if b.zoektLedger, err = openLedger(filepath.Join(b.Work, "zoekt-figures.json"), b.Reuse && !b.Again); err != nil {
		return err
	}
	b.quarryLedger, err = openLedger(filepath.Join(b.Work, "quarry-figures.json"), false)
	return err
}

// linuxClone is the repository that a program indexes as linux and that receives the pushes.
func (b *bench) linuxClone(program string) string {
	return filepath.Join(b.Work, program+"-git", "linux.git")
}

func (b *bench) cloneLinux(ctx context.Context, program string) error {
	clone := b.linuxClone(program)
	if _, err := os.Stat(clone); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(clone), 0o755); err != nil {
		return err
	}
	return gitCommand(ctx, "", "clone", "--quiet", "--bare", "--local", corpus.GitPath(b.Corpora, "linux"), clone)
}

// repositoryPaths are name → bare repository of a set, for one program.
func (b *bench) repositoryPaths(set, program string) map[string]string {
	paths := make(map[string]string)
	for _, r := range b.manifest.Set(set) {
		paths[r.Name] = corpus.GitPath(b.Corpora, r.Name)
		if r.Name == "linux" {
			paths[r.Name] = b.linuxClone(program)
		}
	}
	return paths
}

// chosenRepositories are the repositories of the sets that are measured.
func (b *bench) chosenRepositories() []corpus.Built {
	var all []corpus.Built
	for _, set := range b.Sets {
		all = append(all, b.manifest.Set(set)...)
	}
	return all
}

func (b *bench) textBytes(set string) int64 {
	var n int64
	for _, r := range b.manifest.Set(set) {
		n += r.TextBytes
	}
	return n
}

func (b *bench) allTextBytes() int64 {
	var n int64
	for _, set := range b.Sets {
		n += b.textBytes(set)
	}
	return n
}

// stopServer ends a server; one that cannot be ended is worth a line in the report.
func (b *bench) stopServer(name string, stop func() error) {
	if err := stop(); err != nil {
		b.noteMissing("%s did not end well: %v", name, err)
	}
	runtime.GC()
}

// isInterrupted hides errors that only say that the whole run was stopped.
func isInterrupted(err error) bool { return errors.Is(err, context.Canceled) }
