package backbone

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/report"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/stat"
	"github.com/quarrysearch/quarry/cmd/internal/loopback"
)

// FanoutOptions are the options of MeasureFanout. All are required.
type FanoutOptions struct {
	Options
	// Indexed are the repositories (name → bare repository).
	Indexed map[string]string
	// Shards are the numbers of shards that are compared with one process, at most
	// log.partitions.
	Shards []int
	// Runs is the number of times that each layout answers all Queries, after one to warm up.
	Runs int
}

// layout is a process that holds everything, or a front with its shards.
type layout struct {
	name    string
	front   *engine.QuarryServer
	servers []*engine.QuarryServer // all processes that answer
	matches []int                  // of each query
	times   []time.Duration
	cpu     []time.Duration // of all processes for all queries, by run
}

// readCPU returns the processor time of all processes.
func (l *layout) readCPU() (sum time.Duration) {
	for _, s := range l.servers {
		sum += s.CPU()
	}
	return sum
}

// answerAll sends all queries, one after the other.
func (l *layout) answerAll(ctx context.Context, queries []engine.Request, counts bool) error {
	before := l.readCPU()
	l.matches = l.matches[:0]
	for _, q := range queries {
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

// MeasureFanout compares a process that holds everything with fronts and their shards, on the same
// log and the same segments.
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
	serve := func(l *layout, name string, settings ...string) error {
		q := *quarry
		q.Settings = slices.Concat(quarry.Settings, []string{"storage.segments=" + work + "/segments", "access.secret=" + strings.Repeat("s", 32)}, settings)
		s, err := q.Serve(ctx, work+"/"+name, o.allowedRoots())
		if err == nil {
			l.front, l.servers = s, append(l.servers, s)
		}
		return err
	}
	whole := &layout{name: "one process"}
	layouts = append(layouts, whole)
	if err := serve(whole, "whole"); err != nil {
		return t, err
	}
	if _, err := whole.front.Index(ctx, o.Indexed); err != nil {
		return t, err
	}
	if err := o.waitSettled(ctx, whole.front); err != nil {
		return t, err
	}
	for _, n := range o.Shards {
		l := &layout{name: fmt.Sprintf("a front with %d shards", n)}
		layouts = append(layouts, l)
		var peers []string
		for i := range n {
			address, err := loopback.FreeAddress()
			if err != nil {
				return t, err
			}
			peers = append(peers, address)
			if err := serve(l, fmt.Sprintf("shard-%d-%d", n, i), "roles=query", fmt.Sprintf("shard.share=%d/%d", i, n), "shard.listen="+address); err != nil {
				return t, err
			}
		}
		if err := serve(l, fmt.Sprintf("front-%d", n), "roles=query", "shard.peers="+strings.Join(peers, ",")); err != nil {
			return t, err
		}
		o.Log("%s has started", l.name)
	}
	for run := range o.Runs + 1 {
		for i := range layouts {
			if err := layouts[(run+i)%len(layouts)].answerAll(ctx, o.Queries, run > 0); err != nil {
				return t, err
			}
		}
		o.Log("run %d of %d", run, o.Runs)
	}
	return fanoutTable(layouts, len(o.Queries)), nil
}

// fanoutTable compares each layout with the first one.
func fanoutTable(layouts []*layout, queries int) report.Table {
	t := report.Table{
		Title:  "One process, and fronts with shards",
		Header: []string{"layout", "processor time for a query", "p50", "p99", "memory without mapped files", "queries with other counts"},
		Note: "The same queries, one at a time, all layouts in turn; processor time of all processes that answer, the median of the runs. The ratios are those to " +
			"one process.",
	}
	var first []float64
	for _, l := range layouts {
		memory, differ := int64(0), 0
		for _, s := range l.servers {
			memory += s.Memory().AnonymousBytes
		}
		for i, n := range l.matches {
			if n != layouts[0].matches[i] {
				differ++
			}
		}
		figures := []float64{
			float64(stat.Median(l.cpu)) / float64(max(queries, 1)) / float64(time.Millisecond), stat.Quantile(l.times, .5).Seconds() * 1000,
			stat.Quantile(l.times, .99).Seconds() * 1000, float64(memory) / (1 << 20),
		}
		if first == nil {
			first = figures
		}
		row := []string{l.name}
		for i, unit := range []string{"ms", "ms", "ms", "MiB"} {
			row = append(row, fmt.Sprintf("%.2f %s (%.2f)", figures[i], unit, figures[i]/first[i]))
		}
		t.Rows = append(t.Rows, append(row, fmt.Sprint(differ)))
	}
	return t
}
