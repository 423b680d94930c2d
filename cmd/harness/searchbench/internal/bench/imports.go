package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/proc"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/random"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/stat"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/suite"
)

// importTimeout bounds one import of everything.
const importTimeout = 30 * time.Minute

// importAll imports with every program in turn, unless an index is kept. zoekt, which
// takes several times as long and has no bound, imports once.
func (c *comparison) importAll(ctx context.Context) error {
	for round, order := range inTurn(c.contenders, c.Imports) {
		for _, o := range order {
			if o == c.zoekt && round > 0 || c.keepsIndex(o) {
				continue
			}
			if err := c.importOnce(ctx, o); err != nil {
				return fmt.Errorf("%s: %w", o.name, err)
			}
		}
	}
	return nil
}

// importedPath returns the path of the file that marks an index as complete and as one
// without pushes. It lists the repositories.
func importedPath(o *contender) string { return indexDir(o) + ".imported" }

// describeSets returns the content of the mark.
func describeSets(o *contender) string {
	var b strings.Builder
	for _, set := range o.sets {
		fmt.Fprintln(&b, set.name, set.repositories)
	}
	return b.String()
}

// keepsIndex reports whether an earlier run left the index of these repositories, and it
// is not to be built again.
func (c *comparison) keepsIndex(o *contender) bool {
	if !c.Reuse || c.takesStep(StepImport) && o != c.zoekt {
		return false
	}
	mark, err := os.ReadFile(importedPath(o))
	return err == nil && string(mark) == describeSets(o)
}

// importOnce builds the index of a program that is not running.
func (c *comparison) importOnce(ctx context.Context, o *contender) error {
	ctx, cancel := context.WithTimeout(ctx, importTimeout)
	defer cancel()
	if err := errors.Join(os.RemoveAll(importedPath(o)), os.MkdirAll(filepath.Dir(importedPath(o)), 0o755)); err != nil {
		return err
	}
	figures, err := o.program.Import(ctx, o.sets)
	if err != nil {
		return err
	}
	for i, f := range figures {
		c.Log("%s: imported %d repositories in %.1f s, %.1f s of processor time, peak %d MiB", o.name, len(o.sets[i].repositories), f.Wall.Seconds(), f.CPU.Seconds(), f.PeakBytes>>20)
	}
	o.imports = append(o.imports, figures)
	return os.WriteFile(importedPath(o), []byte(describeSets(o)), 0o644)
}

func (c *comparison) startAll(ctx context.Context) error {
	for _, o := range c.contenders {
		if err := o.program.Start(ctx, o.countRepositories()); err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
		if server := serverOf(o.program); server != nil {
			o.brief = server.AnswersBriefly(ctx)
		}
	}
	return nil
}

const (
	coldStarts = 3
	// coldPoll is the pause between two queries to a server that does not answer
	// completely yet.
	coldPoll = 2 * time.Millisecond
	// coldTimeout bounds one start.
	coldTimeout = 2 * time.Minute
)

var errNoRareQuery = errors.New("no rare literal is in every index")

// startCold repeats the following with every program in turn: it evicts the files of the
// index from memory, starts a server, and queries it for a rare literal until the answer
// is complete.
func (c *comparison) startCold(ctx context.Context) error {
	q, want, err := c.rareQuery(ctx)
	if err != nil {
		return err
	}
	for _, o := range c.contenders {
		if err := o.program.Stop(); err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
	}
	err = c.measureColdStarts(ctx, q, want)
	return errors.Join(err, c.startAll(ctx)) // later steps ask them, whatever was measured
}

// measureColdStarts measures the starts of all contenders, which are stopped, in turn.
func (c *comparison) measureColdStarts(ctx context.Context, q suite.Query, want map[*contender]int) error {
	for _, order := range inTurn(c.contenders, coldStarts) {
		for _, o := range order {
			dropped, err := proc.DropFiles(indexDir(o))
			if err != nil {
				return fmt.Errorf("%s: %w", o.name, err)
			}
			took, err := firstAnswer(ctx, o.program.Launch, o.program.Translate(q), want[o])
			if err != nil {
				return fmt.Errorf("%s: %w", o.name, err)
			}
			o.cold = append(o.cold, took)
			c.Log("%s: %s found %s after a cold start (%s)", o.name, q.Text, took.Round(time.Millisecond), dropped.Method)
		}
	}
	return nil
}

// rareQuery returns the first rare literal, listed or drawn, that occurs in every index,
// and the number of its matches.
func (c *comparison) rareQuery(ctx context.Context) (q suite.Query, want map[*contender]int, err error) {
	for _, q := range slices.Concat(c.queries[StepClasses], c.queries[StepRandom]) {
		if q.Class != suite.ClassRare && q.Class != random.RareIdentifier {
			continue
		}
		want := map[*contender]int{}
		for _, o := range c.contenders {
			answer, err := o.program.Searchers()[0].Search(ctx, o.program.Translate(q.Query))
			if err != nil {
				return q.Query, nil, fmt.Errorf("%s: %w", o.name, err)
			}
			if answer.Matches > 0 {
				want[o] = answer.Matches
			}
		}
		if len(want) == len(c.contenders) {
			return q.Query, want, nil
		}
	}
	return q, nil, errNoRareQuery
}

// firstAnswer returns the time from the start of a server until it returns want matches.
func firstAnswer(ctx context.Context, start func() (engine.Searcher, func() error, error), request engine.Request, want int) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, coldTimeout)
	defer cancel()
	begin := time.Now()
	server, stop, err := start()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	ticker := time.NewTicker(coldPoll)
	defer ticker.Stop()
	for {
		answer, askErr := server.Search(ctx, request)
		if askErr == nil && answer.Matches == want {
			return time.Since(begin), nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("wait for %d matches of %s after a cold start: %w", want, request.Text, errors.Join(ctx.Err(), askErr))
		case <-ticker.C:
		}
	}
}

// readUsage reads memory, disk and segments after the queries.
func (c *comparison) readUsage(ctx context.Context) (err error) {
	for _, o := range c.contenders {
		o.memory, _ = o.program.Usage()
		var diskErr error
		o.diskBytes, diskErr = diskBytes(o.program)
		err = errors.Join(err, diskErr)
		if server := serverOf(o.program); server != nil {
			m, metricsErr := server.Metrics(ctx)
			o.segments, err = m["quarry_places_segments"], errors.Join(err, metricsErr)
		}
	}
	return err
}

// pushPoll is the pause between two queries for the new word. It is short compared with
// a push and long compared with a query.
const pushPoll = time.Millisecond

// pushAll pushes each prepared commit through every program, in turn.
func (c *comparison) pushAll(ctx context.Context) error {
	linux := c.manifest.Set(pushed)
	if len(linux) == 0 || c.Pushes == 0 {
		return nil
	}
	for _, o := range c.contenders { // the index cannot take the same pushes again
		if err := os.RemoveAll(importedPath(o)); err != nil {
			return err
		}
	}
	pushes := linux[0].Pushes[:min(c.Pushes, len(linux[0].Pushes))]
	for i, order := range inTurn(c.contenders, len(pushes)) {
		p := pushes[i]
		for _, o := range order {
			if err := p.Fetch(ctx, c.Corpora, pushed, o.clone); err != nil {
				return fmt.Errorf("%s: %w", o.name, err)
			}
			start := time.Now()
			err := o.program.Push(ctx, pushed, p)
			if err == nil {
				err = engine.AwaitWord(ctx, o.program.Searchers()[0], p.Word, o.brief, pushPoll)
			}
			if err != nil {
				return fmt.Errorf("%s: push %s: %w", o.name, p.Branch, err)
			}
			o.pushes = append(o.pushes, time.Since(start))
		}
	}
	return nil
}

// leastImport returns the least figure of the imports of a set.
func (o *contender) leastImport(set int, figure func(importFigure) float64) float64 {
	least := 0.0
	for _, figures := range o.imports {
		if f := figure(figures[set]); least == 0 || f < least {
			least = f
		}
	}
	return least
}

// perQuery returns the medians of the wall time and of the processor time of a query
// under a load.
func (o *contender) perQuery(load string) (wall, cpu time.Duration) {
	var walls, cpus []time.Duration
	for _, f := range o.loads[load] {
		walls = append(walls, f.Wall/time.Duration(max(f.Queries, 1)))
		cpus = append(cpus, f.CPU/time.Duration(max(f.Queries, 1)))
	}
	return stat.Median(walls), stat.Median(cpus)
}
