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

// Options are the options of Run.
type Options struct {
	Corpora string // output directory of corpus.Build
	Work    string // directory for indexes and clones; its content is replaced
	Quarry  *engine.Quarry
	Zoekt   *engine.Zoekt
	Ripgrep *engine.Ripgrep
	// Absent holds the reasons why programs are nil.
	Absent  []error
	Queries []suite.Query
	// Extra holds query classes outside of the suite. They do not count in its means.
	Extra []suite.Query
	Scans []suite.Query
	// Steps are the steps to run; nil means all. Imports are always run if there is no
	// index to keep.
	Steps []Step
	// Sets are the sets of repositories to import, in this order; nil means all.
	Sets []string
	// Runs is the number of runs after the warm-up, whose median counts. Default 5.
	Runs int
	// ExtraRuns is Runs for Extra, where the slowest runs count. Default 10.
	ExtraRuns int
	// LoadDuration is the duration of each mix of queries. Default 15 s.
	LoadDuration time.Duration
	// BandwidthBytes is the size of the buffers with which the bandwidth of the memory is
	// measured. Default: machine.DefaultBufferBytes.
	BandwidthBytes int
	// MergesQuiet is the time without writes after an import before anything is measured.
	// Default 15 s.
	MergesQuiet time.Duration
	// CoreSet is the set with which the core of indexing is measured. Default linux.
	CoreSet string
	// Pushes bounds the pushes to Linux. Default: all prepared ones.
	Pushes int
	// SkipNormalPush omits zoekt's run without its delta mode, which takes as long as an
	// import.
	SkipNormalPush bool
	// QueryBudget bounds all runs of one query. Default 40 s.
	QueryBudget time.Duration
	// SkipCapped omits zoekt with a cap per shard, which no goal uses.
	SkipCapped bool
	// Reuse keeps the indexes of an earlier run in Work, and reuses the figures of zoekt
	// and ripgrep of that run.
	Reuse bool
	// Again measures zoekt and ripgrep again on the stored indexes.
	Again bool
	// Backbone contains the sizes of the steps freshness and throughput. Run fills in
	// programs, corpora and queries.
	Backbone backbone.Options
	// BranchRounds is the number of imports of each kind in the step branches. Default:
	// branches.DefaultRounds.
	BranchRounds int
	Log          func(format string, args ...any)
}

const (
	defaultRuns = 5
	// defaultExtraRuns makes 240 answers of 24 rare literals, so that the slowest
	// hundredth is more than one answer.
	defaultExtraRuns = 10
)

// Sets contains all sets. The Go library is imported between the two timed sets.
var Sets = []string{"linux", "go", "mixed"}

// ErrSets is returned for unknown or unsuitable sets.
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
	if o.BandwidthBytes == 0 {
		o.BandwidthBytes = machine.DefaultBufferBytes
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

// Run runs all steps. It returns an error only if it could not begin or was interrupted;
// the report contains all other failures.
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
	// freshness and throughput are nil if they were not measured.
	freshness  *backbone.Freshness
	throughput *backbone.Throughput
	// branches is nil if it was not measured.
	branches *branches.Figures
	// bandwidth is the memory bandwidth of this machine.
	bandwidth machine.Bandwidth
	// zoektLedger also keeps ripgrep's figures, because both programs are only compared
	// with. quarryLedger is never replayed.
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

// linuxClone returns the path of the repository that a program indexes as linux and that
// receives the pushes.
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
	return corpus.RunGit(ctx, "", "clone", "--quiet", "--bare", "--local", corpus.GitPath(b.Corpora, "linux"), clone)
}

// repositoryPaths returns the bare repositories of a set for one program, by name.
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

// chosenRepositories returns the repositories of the measured sets.
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

// stopServer stops a server. A failure is added to the report.
func (b *bench) stopServer(name string, stop func() error) {
	if err := stop(); err != nil {
		b.noteMissing("%s did not end well: %v", name, err)
	}
	runtime.GC()
}

// isInterrupted reports whether an error means only that the whole run was stopped.
func isInterrupted(err error) bool { return errors.Is(err, context.Canceled) }
