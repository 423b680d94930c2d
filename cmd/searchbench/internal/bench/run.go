package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
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
	Scans   []suite.Query
	// Runs after the warm-up whose median counts. Default 5.
	Runs int
	// Pushes bounds the pushes to Linux. Default: all that are prepared.
	Pushes int
	// SkipNormalPush leaves out zoekt's run without its delta mode, which takes as long as an import.
	SkipNormalPush bool
	// Reuse takes zoekt's index of an earlier run in Work, without figures for its imports.
	Reuse bool
	Log   func(format string, args ...any)
}

const defaultRuns = 5

// sets that are imported, in this order. The Go library is imported between the two timed sets.
var sets = []string{"linux", "go", "mixed"}

// Run measures everything. The error says only that it could not begin or was interrupted; the report says the rest.
func Run(ctx context.Context, opts Options) (report.Report, error) {
	if opts.Runs == 0 {
		opts.Runs = defaultRuns
	}
	manifest, err := corpus.ReadManifest(opts.Corpora)
	if err != nil {
		return report.Report{}, err
	}
	b := &bench{Options: opts, manifest: manifest, machine: report.Describe()}
	if err := b.prepare(ctx); err != nil {
		return report.Report{}, err
	}
	for _, reason := range opts.Absent {
		b.missing("%v", reason)
	}
	if opts.Zoekt != nil {
		b.zoekt = b.measureZoekt(ctx)
	}
	if opts.Quarry != nil && ctx.Err() == nil {
		b.quarry = b.measureQuarry(ctx)
	}
	if opts.Ripgrep != nil && ctx.Err() == nil {
		b.ripgrep = b.measureRipgrep(ctx)
	}
	return b.report(), ctx.Err()
}

type bench struct {
	Options
	manifest corpus.Manifest
	machine  report.Machine
	absent   []string
	zoekt    *figures
	quarry   *figures
	ripgrep  []timing
}

// figures are what is measured of one program. Zero values mean not measured.
type figures struct {
	imports   map[string]importFigure // by set
	diskBytes int64                   // all that is needed to search
	memory    memoryFigure
	suite     []timing // parallel to Options.Queries
	suiteRE2  []timing // zoekt's opt-in engine
	capped    []timing // zoekt with a cap per shard, the faster of its two engines
	scans     []timing // parallel to Options.Scans
	scansRE2  []timing
	load      *loadFigure
	pushes    []pushFigure
	// normalPush is zoekt's run without delta mode.
	normalPush *pushFigure
}

func (b *bench) missing(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	b.Log("NOT MEASURED: %s", line)
	b.absent = append(b.absent, strings.ReplaceAll(line, "\n", " "))
}

// prepare checks the corpora and makes the work directory.
func (b *bench) prepare(ctx context.Context) error {
	for _, set := range sets {
		if len(b.manifest.Set(set)) == 0 {
			return fmt.Errorf("the corpora lack the set %q; build them all", set)
		}
	}
	if !b.Reuse {
		if err := os.RemoveAll(b.Work); err != nil {
			return err
		}
	}
	for _, name := range []string{"zoekt", "quarry"} {
		if err := b.cloneLinux(ctx, name); err != nil {
			return err
		}
	}
	return nil
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

// repositories are name → bare repository of a set, for one program.
func (b *bench) repositories(set, program string) map[string]string {
	paths := make(map[string]string)
	for _, r := range b.manifest.Set(set) {
		paths[r.Name] = corpus.GitPath(b.Corpora, r.Name)
		if r.Name == "linux" {
			paths[r.Name] = b.linuxClone(program)
		}
	}
	return paths
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
	for _, set := range sets {
		n += b.textBytes(set)
	}
	return n
}

// stop ends a server; one that cannot be ended is worth a line in the report.
func (b *bench) stop(name string, stop func() error) {
	if err := stop(); err != nil {
		b.missing("%s did not end well: %v", name, err)
	}
	runtime.GC()
}

// interrupted hides errors that only say that the whole run was stopped.
func interrupted(err error) bool { return errors.Is(err, context.Canceled) }
