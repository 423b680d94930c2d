package backbone

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/proc"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/report"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/stat"
	"github.com/quarrysearch/quarry/cmd/internal/loopback"
)

// FanoutOptions are the options of MeasureFanout. All but those of zoekt are required.
type FanoutOptions struct {
	Options
	// Indexed are the repositories (name → bare repository).
	Indexed map[string]string
	// Shards are the numbers of shards that are compared with one process, at most
	// log.partitions.
	Shards []int
	// Zoekt is compared as well if it is not nil: one process, and as many as shards, with
	// ZoektQueries.
	Zoekt        *engine.Zoekt
	ZoektQueries []engine.Request
	// Runs is the number of times that each layout answers all Queries, after one to warm up.
	Runs int
}

// layout is a process that holds everything, a front with its shards, or processes of zoekt that
// hold everything together.
type layout struct {
	name    string
	base    *layout // what it is compared with: one process of the same program
	queries []engine.Request
	front   engine.Searcher
	servers []process // all processes that answer
	matches []int     // of each query
	times   []time.Duration
	cpu     []time.Duration // of all processes for all queries, by run
}

// process is a running server.
type process interface {
	CPU() time.Duration
	Memory() proc.Memory
	Stop() error
}

// scattered sends each query to all of some processes at the same time, and adds up their counts. No
// list is merged.
type scattered []engine.Searcher

// Search implements engine.Searcher.
func (s scattered) Search(ctx context.Context, q engine.Request) (sum engine.Answer, err error) {
	answers, failures := make([]engine.Answer, len(s)), make([]error, len(s))
	began := time.Now()
	var g sync.WaitGroup
	for i, one := range s {
		g.Go(func() { answers[i], failures[i] = one.Search(ctx, q) })
	}
	g.Wait()
	sum.Elapsed = time.Since(began)
	for _, a := range answers {
		sum.Matches += a.Matches
		sum.Files += a.Files
	}
	return sum, errors.Join(failures...)
}

// readCPU returns the processor time of all processes.
func (l *layout) readCPU() (sum time.Duration) {
	for _, s := range l.servers {
		sum += s.CPU()
	}
	return sum
}

// answerAll sends all queries, one after the other.
func (l *layout) answerAll(ctx context.Context, counts bool) error {
	before := l.readCPU()
	l.matches = l.matches[:0]
	for _, q := range l.queries {
		answer, err := l.front.Search(ctx, q)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", l.name, q.Text, err)
		}
		l.matches = append(l.matches, answer.Matches)
		if counts {
			l.times = append(l.times, answer.Elapsed)
		}
	}
	if counts {
		l.cpu = append(l.cpu, l.readCPU()-before)
	}
	return nil
}

// countLateAgain returns how many answers slower than p95 there are, and how many of their queries
// are that slow in the next run, too.
func (l *layout) countLateAgain() string {
	limit, n, late, again := stat.Quantile(l.times, .95), len(l.times), 0, 0
	for i, took := range l.times {
		if took > limit {
			late++
			if l.times[(i+len(l.queries))%n] > limit {
				again++
			}
		}
	}
	return fmt.Sprintf("%d of %d", again, late)
}

// MeasureFanout compares a process that holds everything with fronts and their shards, on the same
// log and the same segments, and one process of zoekt with several.
func MeasureFanout(ctx context.Context, o FanoutOptions) (t report.Table, err error) {
	quarry, b, err := o.startLog(ctx, OneBroker)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	work := o.dataPath("fanout")
	if err := errors.Join(os.RemoveAll(work), os.MkdirAll(work, 0o755)); err != nil {
		return t, err
	}
	var layouts []*layout
	defer func() {
		for _, l := range layouts {
			for _, s := range l.servers {
				err = errors.Join(err, s.Stop())
			}
		}
		err = errors.Join(err, os.RemoveAll(work))
	}()
	serve := func(l *layout, name string, settings ...string) (*engine.QuarryServer, error) {
		q := *quarry
		q.Settings = slices.Concat(quarry.Settings, []string{"storage.segments=" + work + "/segments", "access.secret=" + strings.Repeat("s", 32)}, settings)
		s, err := q.Serve(ctx, work+"/"+name, o.allowedRoots())
		if err == nil {
			l.front, l.servers = s, append(l.servers, s)
		}
		return s, err
	}
	whole := &layout{name: "one process", queries: o.Queries}
	whole.base = whole
	layouts = append(layouts, whole)
	server, err := serve(whole, "whole")
	if err != nil {
		return t, err
	}
	if _, err := server.Index(ctx, o.Indexed); err != nil {
		return t, err
	}
	if err := o.waitSettled(ctx, server); err != nil {
		return t, err
	}
	for _, n := range o.Shards {
		l := &layout{name: fmt.Sprintf("a front with %d shards", n), base: whole, queries: o.Queries}
		layouts = append(layouts, l)
		var peers []string
		for i := range n {
			address, err := loopback.FreeAddress()
			if err != nil {
				return t, err
			}
			peers = append(peers, address)
			if _, err := serve(l, fmt.Sprintf("shard-%d-%d", n, i), "roles=query", fmt.Sprintf("shard.share=%d/%d", i, n), "shard.listen="+address); err != nil {
				return t, err
			}
		}
		if _, err := serve(l, fmt.Sprintf("front-%d", n), "roles=query", "shard.peers="+strings.Join(peers, ",")); err != nil {
			return t, err
		}
		o.Log("%s has started", l.name)
	}
	if o.Zoekt != nil {
		zoekts, err := o.serveZoekts(ctx, work)
		if layouts = append(layouts, zoekts...); err != nil {
			return t, err
		}
	}
	for run := range o.Runs + 1 {
		for i := range layouts {
			if err := layouts[(run+i)%len(layouts)].answerAll(ctx, run > 0); err != nil {
				return t, err
			}
		}
		o.Log("run %d of %d", run, o.Runs)
	}
	return fanoutTable(layouts), nil
}

// serveZoekts starts one process of zoekt, and as many as shards, unless some would have no
// repository. After an error, it returns what has started.
func (o *FanoutOptions) serveZoekts(ctx context.Context, work string) (layouts []*layout, err error) {
	for _, n := range append([]int{1}, o.Shards...) {
		if n > len(o.Indexed) {
			continue
		}
		l := &layout{name: fmt.Sprintf("processes of zoekt: %d", n), queries: o.ZoektQueries}
		layouts = append(layouts, l)
		l.base = layouts[0]
		if err := o.serveZoekt(ctx, l, n, work); err != nil {
			return layouts, err
		}
		o.Log("%s", l.name)
	}
	return layouts, nil
}

// serveZoekt starts processes of zoekt, each with an index of some of the repositories.
func (o *FanoutOptions) serveZoekt(ctx context.Context, l *layout, n int, work string) error {
	parts := make([]map[string]string, n)
	for i, name := range slices.Sorted(maps.Keys(o.Indexed)) {
		if parts[i%n] == nil {
			parts[i%n] = map[string]string{}
		}
		parts[i%n][name] = o.Indexed[name]
	}
	var all scattered
	for i, part := range parts {
		s, err := o.Zoekt.ServeIndexed(ctx, fmt.Sprintf("%s/zoekt-%d-%d", work, n, i), part)
		if err != nil {
			return err
		}
		l.servers, all = append(l.servers, s), append(all, s)
	}
	l.front = all
	return nil
}

// fanoutTable compares each layout with one process of the same program.
func fanoutTable(layouts []*layout) report.Table {
	t := report.Table{
		Title:  "One process, and fronts with shards",
		Header: []string{"layout", "processor time for a query", "p50", "p99", "memory without mapped files", "queries with other counts", "late again"},
		Note: "The same queries, one at a time, all layouts in turn; processor time of all processes that answer, the median of the runs. The ratios are those to " +
			"one process of the same program. Counts of zoekt with a limit depend on what it has begun; nothing merges the lists of its processes. " +
			"The last column is the share of the answers slower than p95 whose query is that slow in the next run as well: a second replica would not answer them sooner.",
	}
	all := map[*layout][]float64{}
	for _, l := range layouts {
		memory, differ := int64(0), 0
		for _, s := range l.servers {
			memory += s.Memory().AnonymousBytes
		}
		for i, n := range l.matches {
			if n != l.base.matches[i] {
				differ++
			}
		}
		figures := []float64{
			float64(stat.Median(l.cpu)) / float64(max(len(l.queries), 1)) / float64(time.Millisecond), stat.Quantile(l.times, .5).Seconds() * 1000,
			stat.Quantile(l.times, .99).Seconds() * 1000, float64(memory) / (1 << 20),
		}
		all[l] = figures
		row := []string{l.name}
		for i, unit := range []string{"ms", "ms", "ms", "MiB"} {
			row = append(row, fmt.Sprintf("%.2f %s (%.2f)", figures[i], unit, figures[i]/all[l.base][i]))
		}
		t.Rows = append(t.Rows, append(row, fmt.Sprint(differ), l.countLateAgain()))
	}
	return t
}
