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

// Options say what to measure. Quarry, Tree, Work and Log are required; an experiment of size zero is left out.
type Options struct {
	Quarry *engine.Quarry
	// Tree is the folder of files that everything is made of.
	Tree string
	// Work holds repositories and data directories; its content is replaced, except for what Reuse keeps.
	Work string
	// Reuse goes on with the repositories and stages of an earlier run with the same tree and sizes, that was cut short, say.
	Reuse bool
	// Copies are the sizes of the first experiment, ascending.
	Copies []int
	// Small is the number of small repositories.
	Small int
	// Pushes is the number of pushes before the comparison.
	Pushes int
	// Rounds is how often each query is sent. Default: DefaultRounds.
	Rounds int
	// Starts is how often each server is killed and started, from the page cache and from the disk. Default: DefaultStarts.
	Starts int
	// SettleTime is how long no merge may have happened before anything is measured. Default: engine.SettleTime.
	SettleTime time.Duration
	Log        func(format string, args ...any)
}

// Defaults of Options.
const (
	DefaultRounds = 15
	DefaultStarts = 3
)

func (o *Options) ensureDefaults() {
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

// Run measures and returns the tables. What fails is named in the report, and in the error.
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

// removeEarlier removes what earlier runs left, unless it is to be used again.
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

// repositoriesDir is the directory of the imported repositories.
func (g *growth) repositoriesDir() string { return filepath.Join(g.Work, "git") }

func (g *growth) dataPath(name string) string { return filepath.Join(g.Work, "data-"+name) }
