package growth

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/report"
)

// Options are the options of Run. Quarry, Tree, Work and Log are required. An experiment
// of size zero is skipped.
type Options struct {
	Quarry *engine.Quarry
	// Tree is the folder of files from which everything is derived.
	Tree string
	// Work contains repositories and data directories. Its content is replaced, except
	// for what Reuse keeps.
	Work string
	// Reuse continues with the repositories and stages of an earlier run with the same
	// tree and sizes, for example one that was interrupted.
	Reuse bool
	// Copies are the sizes of the first experiment, in ascending order.
	Copies []int
	// Small is the number of small repositories.
	Small int
	// Pushes is the number of pushes before the comparison.
	Pushes int
	// ComparedPushes is the number of pushes to both the aged and the fresh server, in
	// turn, at the end. Default: DefaultComparedPushes.
	ComparedPushes int
	// Rounds is how often each query is sent. Default: DefaultRounds.
	Rounds int
	// Starts is how often each server is killed and started, both from the page cache and
	// from the disk. Default: DefaultStarts.
	Starts int
	// SettleTime is the time without a merge before anything is measured. Default:
	// engine.SettleTime.
	SettleTime time.Duration
	Log        func(format string, args ...any)
}

// These are the defaults of Options.
const (
	DefaultComparedPushes = 100
	DefaultRounds         = 15
	DefaultStarts         = 3
)

func (o *Options) ensureDefaults() {
	if o.ComparedPushes <= 0 {
		o.ComparedPushes = DefaultComparedPushes
	}
	if o.Rounds <= 0 {
		o.Rounds = DefaultRounds
	}
	if o.Starts <= 0 {
		o.Starts = DefaultStarts
	}
	if o.SettleTime <= 0 {
		o.SettleTime = engine.SettleTime
	}
}

// growth is one run.
type growth struct {
	Options
	base   *base
	kinds  []questionKind
	report report.Report
}

// Run runs the experiments and returns the tables. Failures are named in the report, and
// in the error.
func Run(ctx context.Context, o Options) (report.Report, error) {
	o.ensureDefaults()
	g := &growth{Options: o, report: report.Report{Title: "Growth", Machine: report.Describe()}}
	if err := g.removeEarlier(); err != nil {
		return g.report, err
	}
	var err error
	if g.base, err = readBase(o.Tree); err != nil {
		return g.report, err
	}
	g.kinds = g.base.chooseQuestions()
	g.addInputs()
	var failed []error
	for _, experiment := range []struct {
		name string
		do   func(context.Context) error
		size int
	}{
		{"copies", g.measureCopies, len(g.Copies)}, {"small repositories", g.measureSmall, g.Small}, {"pushes", g.measurePushes, g.Pushes},
	} {
		if experiment.size <= 0 {
			continue
		}
		began := time.Now()
		if err := experiment.do(ctx); err != nil {
			failed = append(failed, err)
			g.report.Missing = append(g.report.Missing, experiment.name+": "+err.Error())
		}
		g.Log("%s: done in %s", experiment.name, time.Since(began).Round(time.Second))
	}
	return g.report, errors.Join(failed...)
}

// removeEarlier removes the data of earlier runs, unless it is reused.
func (g *growth) removeEarlier() error {
	if !g.Reuse {
		left, err := filepath.Glob(filepath.Join(g.Work, "data-*"))
		if err != nil {
			return err
		}
		for _, path := range append(left, g.repositoriesDir()) {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return os.MkdirAll(g.repositoriesDir(), 0o755)
}

// repositoriesDir returns the directory of the imported repositories.
func (g *growth) repositoriesDir() string { return filepath.Join(g.Work, "git") }

func (g *growth) dataPath(name string) string { return filepath.Join(g.Work, "data-"+name) }
