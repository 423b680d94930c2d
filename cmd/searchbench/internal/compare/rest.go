package compare

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/stat"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/suite"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/verify"
)

// importTimeout bounds one import of everything.
const importTimeout = 30 * time.Minute

// importAll imports with every program in turn. zoekt, which takes several times as long
// and has no bound, imports once.
func (c *comparison) importAll(ctx context.Context) error {
	for round, order := range inTurn(c.contenders, c.Imports) {
		for _, o := range order {
			if o == c.zoekt && round > 0 {
				continue
			}
			if err := c.importOnce(ctx, o); err != nil {
				return fmt.Errorf("%s: %w", o.name, err)
			}
		}
	}
	return nil
}

// importOnce builds the index of a program that is not running.
func (c *comparison) importOnce(ctx context.Context, o *contender) error {
	repositories := map[string]string{}
	for _, r := range c.repositories() {
		repositories[r.Name] = corpus.GitPath(c.Corpora, r.Name)
		if r.Name == pushed {
			repositories[r.Name] = o.clone
		}
	}
	ctx, cancel := context.WithTimeout(ctx, importTimeout)
	defer cancel()
	f, err := o.program.Import(ctx, repositories)
	if err != nil {
		return err
	}
	o.imports = append(o.imports, f)
	c.Log("%s: imported %d repositories in %.1f s, %.1f s of processor time, peak %d MiB", o.name, len(repositories),
		f.Wall.Seconds(), f.CPU.Seconds(), f.PeakBytes>>20)
	return nil
}

func (c *comparison) startAll(ctx context.Context) error {
	for _, o := range c.contenders {
		if err := o.program.Start(ctx, len(c.repositories())); err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
	}
	return nil
}

// loadClients is the number of clients that send the list at the same time.
const loadClients = 8

// loadFigure is one run of the list of queries by all clients.
type loadFigure struct {
	Queries, Failed int
	Wall, CPU       time.Duration
}

// loadRequests returns the list that the clients send: the interactive part of the
// suite, and random queries of the two small limits.
func (c *comparison) loadRequests(o *contender) (requests []engine.Request) {
	for _, q := range suite.Interactive(c.Suite) {
		requests = append(requests, o.program.Translate(q))
	}
	for _, q := range c.queries {
		if q.Limit > 0 && q.Limit <= 100 {
			requests = append(requests, o.program.Translate(q.Query))
		}
	}
	return requests
}

// sendLoads lets the clients of one program after the other send the list, once to warm
// up and then Loads times.
func (c *comparison) sendLoads(ctx context.Context) error {
	if c.Loads == 0 {
		return nil
	}
	for round, order := range inTurn(c.contenders, c.Loads+1) {
		for _, o := range order {
			requests := c.loadRequests(o)
			_, cpu := o.program.Usage()
			start := time.Now()
			latencies, failed := engine.SendAll(ctx, o.program.Searchers()[0], requests, loadClients)
			f := loadFigure{Queries: len(latencies), Failed: failed, Wall: time.Since(start)}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			_, after := o.program.Usage()
			f.CPU = after - cpu
			if round > 0 {
				o.loads = append(o.loads, f)
			}
		}
	}
	return nil
}

// perQuery returns the medians of the wall time and of the processor time of a query.
func (o *contender) perQuery() (wall, cpu time.Duration) {
	var walls, cpus []time.Duration
	for _, f := range o.loads {
		walls = append(walls, f.Wall/time.Duration(max(f.Queries, 1)))
		cpus = append(cpus, f.CPU/time.Duration(max(f.Queries, 1)))
	}
	return stat.Median(walls), stat.Median(cpus)
}

func (c *comparison) readUsage(context.Context) (err error) {
	for _, o := range c.contenders {
		o.memory, _ = o.program.Usage()
		var diskErr error
		o.diskBytes, diskErr = o.program.DiskBytes()
		err = errors.Join(err, diskErr)
	}
	return err
}

// pushPoll is the pause between two queries for the new word. It is short compared with
// a push and long compared with a query.
const pushPoll = time.Millisecond

// pushAll pushes each prepared commit through every program, in turn.
func (c *comparison) pushAll(ctx context.Context) error {
	linux := c.manifest.Set(pushed)
	if len(linux) == 0 {
		return nil
	}
	pushes := linux[0].Pushes[:min(c.Pushes, len(linux[0].Pushes))]
	for i, order := range inTurn(c.contenders, len(pushes)) {
		p := pushes[i]
		for _, o := range order {
			if err := p.Fetch(ctx, c.Corpora, pushed, o.clone); err != nil {
				return fmt.Errorf("%s: %w", o.name, err)
			}
			start := time.Now()
			err := o.program.Push(ctx, p)
			if err == nil {
				err = engine.AwaitWord(ctx, o.program.Searchers()[0], p.Word, pushPoll)
			}
			if err != nil {
				return fmt.Errorf("%s: push %s: %w", o.name, p.Branch, err)
			}
			o.pushes = append(o.pushes, time.Since(start))
		}
	}
	return nil
}

// checkCounts compares the files and matches of random queries with ripgrep's, as far as
// ripgrep can answer them.
func (c *comparison) checkCounts(ctx context.Context) error {
	here, ok := c.here.program.(*quarryProgram)
	if !ok || c.Ripgrep == nil || c.Checked == 0 {
		return nil
	}
	trees := map[string]string{}
	for _, r := range c.repositories() {
		trees[r.Name] = corpus.TreePath(c.Corpora, r.Name)
	}
	checker := &verify.Checker{Quarry: here.server, Ripgrep: c.Ripgrep, Trees: trees}
	for _, q := range c.queries {
		if len(c.checks) == c.Checked {
			break
		}
		outcome, ok, err := checker.Check(ctx, q.Query)
		if err != nil {
			return fmt.Errorf("compare the matches of %s with ripgrep's: %w", q.Text, err)
		}
		if ok {
			c.checks = append(c.checks, outcome)
		}
	}
	return nil
}
