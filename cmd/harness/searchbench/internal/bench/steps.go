package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/proc"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/stat"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/suite"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/verify"
)

// sampleBytes is the size of the text that represents all sources. It exceeds the caches
// near a core.
const sampleBytes = 16 << 20

var errNoText = errors.New("the checkouts hold no text to measure with")

// measureMachine measures the memory bandwidth of this machine with the text of a
// repository.
func (c *comparison) measureMachine(context.Context) error {
	var sample []byte
	err := filepath.WalkDir(corpus.TreePath(c.Corpora, c.repositories()[0].Name), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if sample = append(sample, content...); len(sample) >= sampleBytes {
			return filepath.SkipAll
		}
		return err
	})
	if err == nil && len(sample) == 0 {
		err = errNoText
	}
	if err == nil {
		c.bandwidth = proc.MeasureBandwidth(sample, c.BandwidthBytes)
	}
	return err
}

const (
	// loadClients is the number of clients that send a list at the same time.
	loadClients = 8
	// heavyEvery is the distance of the scans in the list with scans.
	heavyEvery = 20
)

// These are the lists that the clients send.
const (
	loadInteractive = "interactive"
	loadHeavy       = "heavy"
)

// loadFigure is one run of a list of queries by all clients.
type loadFigure struct {
	Queries, Failed int
	Wall, CPU       time.Duration
	Latencies       []time.Duration
}

// loadQueries returns the interactive list, which consists of the interactive part of the
// suite and of random queries of the two small limits, and, if there are scans, the heavy
// list: interactive queries in an order that is always the same, with a scan after each
// nineteen of them. The whole list is sent, because one that is cut off counts too many
// slow queries of a slow program.
func (c *comparison) loadQueries() map[string][]suite.Query {
	interactive := suite.Interactive(c.Suite)
	lists := map[string][]suite.Query{}
	if c.takesStep(StepScans) && len(interactive) > 0 {
		order := slices.Clone(interactive)
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for i, scan := range c.Scans {
			for n := range heavyEvery - 1 {
				lists[loadHeavy] = append(lists[loadHeavy], order[(i*(heavyEvery-1)+n)%len(order)])
			}
			lists[loadHeavy] = append(lists[loadHeavy], scan)
		}
	}
	lists[loadInteractive] = slices.Clone(interactive)
	for _, q := range c.queries[StepRandom] {
		if q.Limit > 0 && q.Limit <= 100 {
			lists[loadInteractive] = append(lists[loadInteractive], q.Query)
		}
	}
	return lists
}

// sendLoads lets the clients of one program after the other send the lists, once to warm
// up and then Loads times.
func (c *comparison) sendLoads(ctx context.Context) error {
	if c.Loads == 0 {
		return nil
	}
	lists := c.loadQueries()
	for round, order := range inTurn(c.contenders, c.Loads+1) {
		for _, o := range order {
			for _, list := range []string{loadInteractive, loadHeavy} {
				if len(lists[list]) == 0 {
					continue
				}
				requests := make([]engine.Request, len(lists[list]))
				for i, q := range lists[list] {
					requests[i] = o.program.Translate(q)
				}
				_, cpu := o.program.Usage()
				start := time.Now()
				latencies, failed := engine.SendAll(ctx, o.program.Searchers()[0], requests, loadClients)
				f := loadFigure{Queries: len(latencies), Failed: failed, Wall: time.Since(start), Latencies: latencies}
				if ctx.Err() != nil {
					return ctx.Err()
				}
				_, after := o.program.Usage()
				if f.CPU = after - cpu; round > 0 {
					o.loads[list] = append(o.loads[list], f)
				}
			}
		}
	}
	return nil
}

// stableRequests is how often each request is sent.
const stableRequests = 20

// stableFigure describes the answers to one limited request, sent repeatedly.
type stableFigure struct {
	// Lists is the number of different lists among the answers.
	Lists int
	// Matches and FilesRead are the largest counts among all answers, although a list has
	// no more matches than the limit.
	Matches, FilesRead int
}

// stableQueries returns the suite's common words with a limit of 100.
func (c *comparison) stableQueries() (queries []suite.Query) {
	for _, q := range c.Suite {
		if q.Class == "common-literal" || q.Class == "limit-100" {
			queries = append(queries, q)
		}
	}
	return queries
}

// countLists sends each of these queries repeatedly.
func (c *comparison) countLists(ctx context.Context) error {
	for _, q := range c.stableQueries() {
		for _, o := range c.contenders {
			request := o.program.Translate(q)
			request.List = true
			var f stableFigure
			lists := map[uint64]bool{}
			for range stableRequests {
				answer, err := o.program.Searchers()[0].Search(ctx, request)
				if err != nil {
					return fmt.Errorf("%s: lists of %s: %w", o.name, q.Name, err)
				}
				lists[answer.List] = true
				f.Matches, f.FilesRead = max(f.Matches, answer.Matches), max(f.FilesRead, answer.FilesRead)
			}
			f.Lists = len(lists)
			o.stable = append(o.stable, f)
		}
	}
	return nil
}

// streamFigure holds the medians of a streamed query.
type streamFigure struct {
	Query        string
	First, Whole time.Duration
	Chunks       int
}

// readStreams streams the suite's long lists of matches. zoekt streams only over gRPC,
// which is not measured.
func (c *comparison) readStreams(ctx context.Context) error {
	for _, q := range c.Suite {
		if q.Class != "limit-10k" {
			continue
		}
		for _, o := range c.contenders {
			server := serverOf(o.program)
			if server == nil {
				continue
			}
			var first, whole []time.Duration
			f := streamFigure{Query: q.Text}
			for n := range c.Runs + 1 { // one to warm up
				answer, err := server.Stream(ctx, o.program.Translate(q))
				if err != nil {
					return fmt.Errorf("%s: stream of %s: %w", o.name, q.Name, err)
				}
				if n > 0 {
					first, whole, f.Chunks = append(first, answer.First), append(whole, answer.Whole), answer.Chunks
				}
			}
			f.First, f.Whole = stat.Median(first), stat.Median(whole)
			o.streams = append(o.streams, f)
		}
	}
	return nil
}

// ripgrepRuns is the number of runs. After the first, the files are in the page cache.
const ripgrepRuns = 3

// askScans sends the scans to all programs, and runs ripgrep over the checkouts.
func (c *comparison) askScans(ctx context.Context) error {
	if err := c.askStep(ctx, StepScans, nil); err != nil || c.Ripgrep == nil {
		return err
	}
	c.ripgrep = make([]time.Duration, len(c.Scans))
	for i, q := range c.Scans {
		plain, ok := q.Plain()
		if !ok {
			return fmt.Errorf("ripgrep: %s: %w", q.Name, suite.ErrInvalid)
		}
		var times []time.Duration
		for n := range ripgrepRuns + 1 {
			_, elapsed, err := c.Ripgrep.Count(ctx, plain, c.trees())
			if err != nil {
				return err
			}
			if n > 0 {
				times = append(times, elapsed)
			}
		}
		c.ripgrep[i] = stat.Median(times)
	}
	return nil
}

// checkCounts compares the files and matches of random queries with ripgrep's, as far as
// ripgrep can answer them.
func (c *comparison) checkCounts(ctx context.Context) error {
	server := serverOf(c.here.program)
	if server == nil || c.Ripgrep == nil || c.Checked == 0 {
		return nil
	}
	checker := &verify.Checker{Quarry: server, Ripgrep: c.Ripgrep, Trees: c.trees()}
	for _, q := range c.queries[StepRandom] {
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
