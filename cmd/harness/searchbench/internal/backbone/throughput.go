package backbone

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/internal/accounting"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/schemas/clock"
)

// Drained holds the results for a backlog on one log.
type Drained struct {
	Log    Log
	Events int
	// Filled is the time to append the pushes to the log. Wall is the time from the start
	// of the server's process to the end of its backlog.
	Filled, Wall time.Duration
	// PeakBytes is the peak memory of the server's process and its children, from its
	// start to the end of the backlog.
	PeakBytes int64
	Revisions float64
	// OneByOne is the number of pushes after the backlog, each made after the previous
	// one was found. Pushed and Fetched are their times with Quarry and with git alone.
	OneByOne        int
	Pushed, Fetched time.Duration
	// Account summarizes the outcomes of all pushes in the log.
	Account *accounting.Account
}

// Throughput holds the results of the experiment.
type Throughput struct {
	Runs    []Drained
	Missing []string
}

const (
	// drainTimeout bounds one drain; drainPoll is the interval at which it is polled.
	drainTimeout, drainPoll = 15 * time.Minute, 20 * time.Millisecond
	// onePoll is the pause between two queries for the word of a single push.
	onePoll = time.Millisecond
)

// MeasureThroughput fills each log while no worker runs, and drains it.
func MeasureThroughput(ctx context.Context, o Options) (*Throughput, error) {
	t := &Throughput{}
	waiting := max(o.Backlog/o.Repositories, 1)
	after := (o.OneByOne + o.Repositories - 1) / o.Repositories
	repositories, err := o.prepareSmall(ctx, waiting+after)
	if err != nil {
		return t, err
	}
	o.Log("throughput: %d repositories of %d commits are prepared", len(repositories), waiting+after)
	for _, l := range o.Logs {
		run, err := o.drainOn(ctx, l, repositories, waiting)
		if err != nil {
			t.Missing = append(t.Missing, fmt.Sprintf("throughput on %s: %v", l, err))
		} else {
			t.Runs = append(t.Runs, run)
		}
		if ctx.Err() != nil {
			return t, ctx.Err()
		}
	}
	return t, nil
}

// openLog opens the log of a stopped server.
func (o *Options) openLog(ctx context.Context, data string, b *backend) (eventlog.Log, error) {
	if b.brokers == nil {
		return embeddedlog.Open(filepath.Join(data, "log"), embeddedlog.Options{})
	}
	return kafkalog.Open(ctx, kafkalog.Options{Brokers: b.brokers.Addresses})
}

func (o *Options) drainOn(ctx context.Context, l Log, repositories []*smallRepository, waiting int) (run Drained, err error) {
	run = Drained{Log: l, Events: waiting * len(repositories)}
	quarry, b, err := o.startLog(ctx, l)
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	data := o.dataPath("throughput-" + string(l))
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	if err := os.RemoveAll(data); err != nil {
		return run, err
	}
	if err := o.importSmall(ctx, quarry, data, repositories); err != nil {
		return run, err
	}
	if err := o.fillLog(ctx, &run, data, b, repositories, waiting); err != nil {
		return run, err
	}
	if err := o.drainBacklog(ctx, &run, quarry, data, repositories, waiting); err != nil {
		return run, err
	}
	log, err := o.openLog(ctx, data, b)
	if err != nil {
		return run, err
	}
	run.Account, err = accounting.Read(ctx, log)
	return run, errors.Join(err, log.Close())
}

// importSmall imports the repositories in their state before the pushes, and stops the
// server.
func (o *Options) importSmall(ctx context.Context, quarry *engine.Quarry, data string, repositories []*smallRepository) (err error) {
	var paths []string
	for _, s := range repositories {
		if err := corpus.Move(s.dir, s.commits[0]); err != nil {
			return err
		}
		paths = append(paths, s.dir)
	}
	server, err := quarry.Serve(ctx, data, o.allowedRoots())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	if err := indexAll(ctx, quarry, server, paths); err != nil {
		return err
	}
	return o.waitSettled(ctx, server)
}

func (o *Options) fillLog(ctx context.Context, run *Drained, data string, b *backend, repositories []*smallRepository, waiting int) (err error) {
	log, err := o.openLog(ctx, data, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	h, err := openHooks(log)
	if err != nil {
		return err
	}
	run.Filled, err = h.deliverAll(ctx, repositories, waiting)
	o.Log("throughput on %s: %d events wait, delivered in %s", run.Log, run.Events, run.Filled.Round(time.Millisecond))
	return err
}

// drainBacklog starts the server, waits until the backlog is drained, and then pushes one
// by one.
func (o *Options) drainBacklog(ctx context.Context, run *Drained, quarry *engine.Quarry, data string, repositories []*smallRepository, waiting int) (err error) {
	began := time.Now()
	server, err := quarry.Serve(ctx, data, o.allowedRoots())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	ended, err := o.awaitDrained(ctx, server, repositories, waiting)
	if err != nil {
		return err
	}
	run.Wall, run.PeakBytes = ended.Sub(began), server.Usage().PeakBytes
	m, err := server.Metrics(ctx)
	if err != nil {
		return err
	}
	run.Revisions = m["quarry_indexer_revisions_total"]
	o.Log("throughput on %s: drained in %s, %.0f events a second", run.Log, run.Wall.Round(time.Millisecond), float64(run.Events)/run.Wall.Seconds())
	if err := o.waitSettled(ctx, server); err != nil {
		return err
	}
	return o.pushOneByOne(ctx, run, server, repositories, waiting)
}

// awaitDrained waits until the last word of every repository is found and no record waits
// for a worker or a projection.
func (o *Options) awaitDrained(ctx context.Context, server *engine.QuarryServer, repositories []*smallRepository, waiting int) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	next := 0
	for {
		for next < len(repositories) {
			answer, err := server.Search(ctx, engine.Request{Text: repositories[next].pushWord(waiting), Limit: 1})
			if err != nil {
				return time.Time{}, err
			}
			if answer.Matches == 0 {
				break
			}
			next++
		}
		if next == len(repositories) {
			m, err := server.Metrics(ctx)
			if err != nil {
				return time.Time{}, err
			}
			if m["quarry_worker_lag_records"] == 0 && m["quarry_projections_lag_records"] == 0 {
				return time.Now(), nil
			}
		}
		if err := clock.Sleep(ctx, drainPoll); err != nil {
			return time.Time{}, fmt.Errorf("drain: %d of %d repositories are up to date: %w", next, len(repositories), err)
		}
	}
}

// pushOneByOne makes one push after the other, each after the previous one was found, and
// in turn fetches the same commits with git alone.
func (o *Options) pushOneByOne(ctx context.Context, run *Drained, server *engine.QuarryServer, repositories []*smallRepository, waiting int) error {
	clones := o.dataPath("throughput-clones")
	if err := errors.Join(os.RemoveAll(clones), os.MkdirAll(clones, 0o755)); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(clones) }()
	for _, s := range repositories[:min(o.OneByOne, len(repositories))] {
		if err := corpus.RunGit(ctx, "", "clone", "--quiet", "--bare", s.dir, filepath.Join(clones, filepath.Base(s.dir))); err != nil {
			return err
		}
	}
	for n := range o.OneByOne {
		s, push := repositories[n%len(repositories)], waiting+1+n/len(repositories)
		if err := corpus.Move(s.dir, s.commits[push]); err != nil {
			return err
		}
		began := time.Now()
		if err := server.Push(ctx, s.dir, "refs/heads/"+corpus.Branch, s.commits[push-1], s.commits[push]); err != nil {
			return err
		}
		if err := engine.AwaitWord(ctx, server, s.pushWord(push), true, onePoll); err != nil {
			return err
		}
		found := time.Now()
		if err := corpus.RunGit(ctx, filepath.Join(clones, filepath.Base(s.dir)), "fetch", "--quiet", "--no-tags", s.dir, "+refs/heads/*:refs/heads/*"); err != nil {
			return err
		}
		run.Pushed, run.Fetched, run.OneByOne = run.Pushed+found.Sub(began), run.Fetched+time.Since(found), run.OneByOne+1
	}
	o.Log("throughput on %s: %d pushes one by one in %s, as many fetches in %s", run.Log, run.OneByOne, run.Pushed.Round(time.Millisecond), run.Fetched.Round(time.Millisecond))
	return nil
}
