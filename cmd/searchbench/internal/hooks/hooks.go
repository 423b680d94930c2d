package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/growth"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/report"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/stat"
	"github.com/quarrysearch/quarry/schemas/clock"
)

// Options are the options of Run. All are required, except for Only.
type Options struct {
	Quarry *engine.Quarry
	// Tree is a folder of sources from which repositories are created.
	Tree string
	// Work is the folder for repositories and data; its content is replaced.
	Work string
	// Duration is the duration of one phase, Rate the number of deliveries per second.
	Duration time.Duration
	Rate     float64
	// Clients is the number of clients for each kind of load.
	Clients int
	// Only selects phases by name. Empty means all.
	Only []string
	Log  func(format string, args ...any)
}

// Phase holds the measurements of the deliveries under one load.
type Phase struct {
	Name string
	// Waited holds the times until 202, sorted. Failed counts all other responses.
	Waited []time.Duration
	Failed int
	// Work counts the requests of the load: searches, imports, rejected deliveries.
	Work int
	// Received is the server's mean time from the headers of a delivery to its response,
	// Appended the part of the log in it, and Synced the part of the disk.
	Received, Appended, Synced time.Duration
	// Load is the machine's one-minute load average at the end.
	Load string
}

// Result holds the phases in order.
type Result struct{ Phases []Phase }

// bench is a run.
type bench struct {
	Options
	server  *engine.QuarryServer
	imports []string // bare repositories that are not imported yet
	number  int      // number of the next delivery
	mu      struct {
		sync.Mutex
		failure error // the first response that was not a 202
	}
}

// pushedRepository is the repository that the deliveries name.
const pushedRepository = "pushed"

// Run measures every phase.
func Run(ctx context.Context, o Options) (r Result, err error) {
	b := &bench{Options: o}
	if err := b.prepareRepositories(ctx); err != nil {
		return r, err
	}
	data := filepath.Join(o.Work, "data")
	if b.server, err = o.Quarry.Serve(ctx, data, []string{o.Work}); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, b.server.Stop(), os.RemoveAll(data)) }()
	if _, err := b.server.Index(ctx, map[string]string{pushedRepository: b.repositoryPath(0)}); err != nil {
		return r, err
	}
	for _, phase := range []struct {
		name  string
		loads []load
	}{
		{"nothing", nil},
		{"searches", []load{b.runSearch}},
		{"imports", []load{b.importOne}},
		{"small-forgeries", []load{b.forgeLoad(10_000)}},
		{"large-forgeries", []load{b.forgeLoad(10_000_000)}},
		{"all", []load{b.runSearch, b.importOne, b.forgeLoad(10_000), b.forgeLoad(10_000_000)}},
	} {
		if len(o.Only) > 0 && !slices.Contains(o.Only, phase.name) {
			continue
		}
		p := b.measurePhase(ctx, phase.name, phase.loads)
		r.Phases = append(r.Phases, p)
		o.Log("hooks under %s: p50 %s, p99 %s, slowest %s of %d, %d failed, server's means %s, append %s, sync %s, load did %d, load average %s", p.Name,
			p.quantile(0.5), p.quantile(0.99), p.quantile(1), len(p.Waited), p.Failed,
			p.Received.Round(time.Millisecond/10), p.Appended.Round(time.Millisecond/10), p.Synced.Round(time.Millisecond/10), p.Work, p.Load)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.failure != nil {
		o.Log("hooks: the first delivery that got no 202: %v", b.mu.failure)
	}
	return r, ctx.Err()
}

func (b *bench) repositoryPath(n int) string {
	return filepath.Join(b.Work, fmt.Sprintf("copy-%d.git", n))
}

// maxImports bounds the repositories that the phases import.
const maxImports = 6

// prepareRepositories creates the repositories.
func (b *bench) prepareRepositories(ctx context.Context) error {
	if err := os.RemoveAll(b.Work); err != nil {
		return err
	}
	if err := os.MkdirAll(b.Work, 0o755); err != nil {
		return err
	}
	tree, err := growth.ReadTree(b.Tree)
	if err != nil {
		return err
	}
	for n := range maxImports {
		if _, err := tree.WriteCopy(ctx, b.repositoryPath(n), n); err != nil {
			return err
		}
		if n > 0 {
			b.imports = append(b.imports, b.repositoryPath(n))
		}
	}
	return nil
}

// load performs one unit of work and reports whether there was any.
type load func(ctx context.Context) bool

// measurePhase sends deliveries for Duration while the clients of each load work.
func (b *bench) measurePhase(ctx context.Context, name string, loads []load) Phase {
	p := Phase{Name: name}
	before, _ := b.server.Metrics(ctx) // without metrics there are no means
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	var clients sync.WaitGroup
	for _, work := range loads {
		for range b.Clients {
			clients.Go(func() {
				for ctx.Err() == nil && work(ctx) {
					mu.Lock()
					p.Work++
					mu.Unlock()
				}
			})
		}
	}
	var deliveries sync.WaitGroup
	begin := time.Now()
	for n := 0; ; n++ {
		due := begin.Add(time.Duration(float64(n) / b.Rate * float64(time.Second)))
		if due.Sub(begin) > b.Duration || clock.Sleep(ctx, time.Until(due)) != nil {
			break
		}
		b.number++
		id := fmt.Sprintf("msg_hooks_%d", b.number)
		deliveries.Go(func() {
			err := b.server.Deliver(ctx, engine.Delivery{ID: id, Repository: pushedRepository, Ref: "refs/heads/main"})
			waited := time.Since(due)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				p.Waited = append(p.Waited, waited)
				return
			}
			p.Failed++
			b.noteFailure(err)
		})
	}
	deliveries.Wait()
	after, _ := b.server.Metrics(ctx)
	p.Received = histogramMean(before, after, "quarry_webhook_delivery_duration_seconds", `{kind="genericGitHost"}`)
	p.Appended = histogramMean(before, after, "quarry_webhook_append_duration_seconds", "")
	p.Synced = histogramMean(before, after, "quarry_embeddedlog_sync_seconds", "")
	p.Load = report.Describe().Load
	stop()
	clients.Wait()
	slices.Sort(p.Waited)
	return p
}

// histogramMean returns the mean of the observations of a histogram of seconds between
// two reads.
func histogramMean(before, after map[string]float64, name, labels string) time.Duration {
	sum, count := name+"_sum"+labels, name+"_count"+labels
	if after[count] == before[count] {
		return 0
	}
	return time.Duration((after[sum] - before[sum]) / (after[count] - before[count]) * float64(time.Second))
}

func (b *bench) noteFailure(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.failure == nil {
		b.mu.failure = err
	}
}

// runSearch searches for an expression that its trigrams barely narrow down.
func (b *bench) runSearch(ctx context.Context) bool {
	_, _ = b.server.Search(ctx, engine.Request{Text: `[a-z]+Err[a-z]* := .*\(`, Limit: 50}) // it is only load; the result does not matter
	return true
}

// importOne registers one of the copies and waits until it is searchable.
func (b *bench) importOne(ctx context.Context) bool {
	b.mu.Lock()
	if len(b.imports) == 0 {
		b.mu.Unlock()
		return false
	}
	path := b.imports[0]
	b.imports = b.imports[1:]
	b.mu.Unlock()
	_, _ = b.server.Index(ctx, map[string]string{filepath.Base(path): path}) // ends with the phase
	return true
}

// forgeLoad returns a load of deliveries with an invalid signature and a body of the
// given size.
func (b *bench) forgeLoad(size int) load {
	body := bytes.Repeat([]byte("x"), size)
	return func(ctx context.Context) bool {
		_ = b.server.Forge(ctx, body) // it is rejected
		return true
	}
}

// quantile returns a quantile of the times, rounded for a report.
func (p *Phase) quantile(q float64) time.Duration {
	return stat.Quantile(p.Waited, q).Round(100 * time.Microsecond)
}

// Markdown returns the phases as a table.
func (r Result) Markdown() string {
	out := "| load | deliveries | p50 | p99 | slowest | not 202 | load average |\n| --- | --- | --- | --- | --- | --- | --- |\n"
	for _, p := range r.Phases {
		out += fmt.Sprintf("| %s | %d | %s | %s | %s | %d | %s |\n", p.Name, len(p.Waited)+p.Failed,
			p.quantile(0.5), p.quantile(0.99), p.quantile(1), p.Failed, p.Load)
	}
	return out
}
