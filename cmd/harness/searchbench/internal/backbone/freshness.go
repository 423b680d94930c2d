package backbone

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/proc"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/stat"
	"github.com/quarrysearch/quarry/schemas/clock"
)

// linux is the name of the repository that receives the pushes.
const linux = "linux"

// Fresh holds the results for one rate on one log.
type Fresh struct {
	Log  Log
	Rate float64
	// Found holds the times of the pushes, in order.
	Found []time.Duration
	// Accepted holds the times until the webhooks were answered.
	Accepted []time.Duration
	// Behind is how late the most delayed push was sent.
	Behind time.Duration
	Asked  asked
	// Revisions and Mean come from the server's histogram.
	Revisions float64
	Mean      time.Duration
}

// Freshness holds the results of the experiment.
type Freshness struct {
	Runs []Fresh
	// BesideBytes and Repositories were indexed in addition to Linux.
	BesideBytes  int64
	Repositories int
	// Missing describes what could not be measured.
	Missing []string
}

// MeasureFreshness pushes to Linux on every log.
func MeasureFreshness(ctx context.Context, o Options) (*Freshness, error) {
	f := &Freshness{}
	if err := os.MkdirAll(o.gitPath(""), 0o755); err != nil {
		return f, err
	}
	h, err := corpus.PreparePushSeries(ctx, o.gitPath(linux+".git"), corpus.GitPath(o.Corpora, linux), corpus.TreePath(o.Corpora, linux), len(o.Rates)*o.Pushes)
	if err != nil {
		return f, err
	}
	o.Log("freshness: %d commits of Linux are prepared", len(h.Commits))
	paths, text, err := o.prepareExtraRepositories(ctx)
	if err != nil {
		return f, err
	}
	f.BesideBytes, f.Repositories = text, len(paths)
	o.Log("freshness: %d other repositories, %.0f MB of text", len(paths), float64(text)/1e6)
	for _, l := range o.Logs {
		runs, err := o.measureFreshnessOn(ctx, l, h, paths)
		f.Runs = append(f.Runs, runs...)
		if err != nil {
			f.Missing = append(f.Missing, fmt.Sprintf("freshness on %s: %v", l, err))
		}
		if ctx.Err() != nil {
			return f, ctx.Err()
		}
	}
	return f, ctx.Err()
}

// measureFreshnessOn imports everything on one log and pushes at each rate.
func (o *Options) measureFreshnessOn(ctx context.Context, l Log, h *corpus.PushSeries, beside []string) (runs []Fresh, err error) {
	quarry, b, err := o.startLog(ctx, l)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	data := o.dataPath("freshness-" + string(l))
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	if err := errors.Join(os.RemoveAll(data), corpus.Move(h.Dir, h.Before)); err != nil {
		return nil, err
	}
	server, err := quarry.Serve(ctx, data, o.allowedRoots())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	if err := o.importAll(ctx, quarry, server, h, beside); err != nil {
		return nil, err
	}
	for i, rate := range o.Rates {
		run, err := o.measurePushes(ctx, server, h, l, rate, i*o.Pushes)
		if err != nil {
			return runs, err
		}
		runs = append(runs, run)
	}
	return runs, nil
}

func (o *Options) importAll(ctx context.Context, quarry *engine.Quarry, server *engine.QuarryServer, h *corpus.PushSeries, beside []string) error {
	began := time.Now()
	if _, err := server.Index(ctx, map[string]string{linux: h.Dir}); err != nil {
		return err
	}
	if err := indexAll(ctx, quarry, server, beside); err != nil {
		return err
	}
	o.Log("quarry: imported everything in %s", time.Since(began).Round(time.Second))
	return o.waitSettled(ctx, server)
}

// maxTargets bounds the repositories of one quarry index command.
const maxTargets = 50

// indexAll registers repositories and waits until all are searchable.
func indexAll(ctx context.Context, quarry *engine.Quarry, server *engine.QuarryServer, paths []string) error {
	for len(paths) > 0 {
		n := min(len(paths), maxTargets)
		_, err := proc.Run(ctx, proc.Spec{Path: quarry.Path, Args: slices.Concat([]string{"index"}, server.Flags(), paths[:n]), Unmetered: true})
		if err != nil {
			return err
		}
		paths = paths[n:]
	}
	return nil
}

// measurePushes makes o.Pushes pushes at a rate, starting with number first.
func (o *Options) measurePushes(ctx context.Context, server *engine.QuarryServer, h *corpus.PushSeries, l Log, rate float64, first int) (Fresh, error) {
	run := Fresh{Log: l, Rate: rate}
	before, err := server.Metrics(ctx)
	if err != nil {
		return run, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	questions := o.startAsking(ctx, server, o.Queries)
	sent := make(chan time.Time, o.Pushes)
	delivered := make(chan error, 1)
	go func() { delivered <- o.sendPushes(ctx, server, h, &run, first, sent) }()
	err = o.awaitPushes(ctx, server, h, &run, first, sent)
	if err != nil {
		cancel()
	}
	err = errors.Join(<-delivered, err)
	run.Asked = questions.stop()
	if err != nil {
		return run, err
	}
	after, err := server.Metrics(ctx)
	if err != nil {
		return run, err
	}
	const histogram = "quarry_push_to_searchable_seconds"
	run.Revisions = after[histogram+"_count"] - before[histogram+"_count"]
	if run.Revisions > 0 {
		run.Mean = time.Duration((after[histogram+"_sum"] - before[histogram+"_sum"]) / run.Revisions * float64(time.Second))
	}
	o.Log("quarry on %s, %g pushes a second: p50 %s, p99 %s over %d", l, rate, stat.Quantile(run.Found, 0.5), stat.Quantile(run.Found, 0.99), len(run.Found))
	return run, nil
}

// sendPushes sends the pushes at their scheduled times, without waiting until earlier
// ones are found. At the end it closes sent.
func (o *Options) sendPushes(ctx context.Context, server *engine.QuarryServer, h *corpus.PushSeries, run *Fresh, first int, sent chan<- time.Time) error {
	defer close(sent)
	begin := time.Now()
	for n := range o.Pushes {
		due := begin.Add(time.Duration(float64(n) / run.Rate * float64(time.Second)))
		if wait := time.Until(due); wait > 0 {
			if err := clock.Sleep(ctx, wait); err != nil {
				return err
			}
		}
		if err := corpus.Move(h.Dir, h.Commits[first+n]); err != nil {
			return err
		}
		at := time.Now()
		run.Behind = max(run.Behind, at.Sub(due))
		if err := server.Push(ctx, linux, "refs/heads/"+corpus.Branch, h.Parent(first+n), h.Commits[first+n]); err != nil {
			return err
		}
		run.Accepted = append(run.Accepted, time.Since(at))
		sent <- at
	}
	return nil
}

// awaitPushes searches for the words in order. A word that is found implies all earlier
// ones.
func (o *Options) awaitPushes(ctx context.Context, server *engine.QuarryServer, h *corpus.PushSeries, run *Fresh, first int, sent <-chan time.Time) error {
	n := 0
	for at := range sent {
		if err := engine.AwaitWord(ctx, server, h.Words[first+n], true, pollEvery); err != nil {
			return err
		}
		run.Found = append(run.Found, time.Since(at))
		n++
	}
	return nil
}
