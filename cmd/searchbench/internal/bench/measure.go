package bench

import (
	"context"
	"path/filepath"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/suite"
)

func (b *bench) countRepositories() int { return len(b.manifest.Repositories) }

// measureZoekt runs everything on zoekt: two servers over one index, one after the other.
func (b *bench) measureZoekt(ctx context.Context) *figures {
	f := &figures{}
	var err error
	if f.imports, err = b.importZoekt(ctx); err != nil {
		b.missing("%v", err)
		return f
	}
	if f.diskBytes, err = diskBytes(b.zoektIndex()); err != nil {
		b.missing("zoekt's bytes on disk: %v", err)
	}
	b.zoektRE2(ctx, f)
	server, err := b.Zoekt.Serve(ctx, b.zoektIndex(), b.countRepositories(), false)
	if err != nil {
		b.missing("%v", err)
		return f
	}
	defer b.stop("zoekt-webserver", server.Stop)
	f.suite = b.askAll(ctx, "zoekt", server, b.Queries, forZoekt)
	memory := server.Memory()
	f.memory = memoryFigure{memory.ResidentBytes, memory.AnonymousBytes}
	f.capped = better(b.askCapped(ctx, server), f.capped)
	load := warmLoad(ctx, server, suite.Interactive(b.Queries), forZoekt)
	f.load = &load
	b.Log("zoekt: %.1f queries/s, p99 %s", load.perSecond(), load.p99.Round(time.Millisecond))
	f.scans = b.askAll(ctx, "zoekt", server, b.Scans, forZoekt)
	if len(f.imports) == 0 {
		b.missing("zoekt's pushes: its index of an earlier run holds them already")
	} else if err := b.pushZoekt(ctx, server, f); err != nil {
		b.missing("zoekt's pushes: %v", err)
	}
	return f
}

// zoektRE2 measures the opt-in engine on a server of its own.
func (b *bench) zoektRE2(ctx context.Context, f *figures) {
	server, err := b.Zoekt.Serve(ctx, b.zoektIndex(), b.countRepositories(), true)
	if err != nil {
		b.missing("zoekt's opt-in RE2 engine: %v", err)
		return
	}
	defer b.stop("zoekt-webserver", server.Stop)
	f.suiteRE2 = b.askAll(ctx, "zoekt-re2", server, b.Queries, forZoekt)
	f.capped = b.askCapped(ctx, server)
	f.scansRE2 = b.askAll(ctx, "zoekt-re2", server, b.Scans, forZoekt)
}

// askCapped asks the suite once more with a cap per shard.
func (b *bench) askCapped(ctx context.Context, server *engine.ZoektServer) []timing {
	server.CapShards = true
	defer func() { server.CapShards = false }()
	return b.askAll(ctx, "zoekt-capped", server, b.Queries, forZoekt)
}

func (b *bench) quarryData() string { return filepath.Join(b.Work, "quarry-data") }

// measureQuarry runs everything on one server over a fresh data directory, restarted after the imports so that the query suite meets a server
// in its ordinary state, as zoekt's does.
func (b *bench) measureQuarry(ctx context.Context) *figures {
	f := &figures{}
	if err := b.importIntoQuarry(ctx, f); err != nil {
		b.missing("%v", err)
		return f
	}
	server, err := b.Quarry.Serve(ctx, b.quarryData(), b.roots())
	if err != nil {
		b.missing("%v", err)
		return f
	}
	defer b.stop("quarry serve", server.Stop)
	f.suite = b.askAll(ctx, "quarry", server, b.Queries, forQuarry)
	memory := server.Memory()
	f.memory = memoryFigure{memory.ResidentBytes, memory.AnonymousBytes}
	if f.diskBytes, err = diskBytes(b.quarryData(), filepath.Join(b.quarryData(), "mirrors")); err != nil {
		b.missing("quarry's bytes on disk: %v", err)
	}
	load := warmLoad(ctx, server, suite.Interactive(b.Queries), forQuarry)
	f.load = &load
	b.Log("quarry: %.1f queries/s, p99 %s", load.perSecond(), load.p99.Round(time.Millisecond))
	f.scans = b.askAll(ctx, "quarry", server, b.Scans, forQuarry)
	if f.pushes, err = b.pushQuarry(ctx, server); err != nil {
		b.missing("quarry's pushes: %v", err)
	}
	return f
}

func (b *bench) importIntoQuarry(ctx context.Context, f *figures) error {
	server, err := b.Quarry.Serve(ctx, b.quarryData(), b.roots())
	if err != nil {
		return err
	}
	defer b.stop("quarry serve", server.Stop)
	f.imports, err = b.importQuarry(ctx, server)
	return err
}

// roots are the folders quarry may read repositories from.
func (b *bench) roots() []string {
	return []string{filepath.Join(b.Corpora, "git"), filepath.Dir(b.linuxClone("quarry"))}
}

// measureRipgrep runs the scans over all checkouts.
func (b *bench) measureRipgrep(ctx context.Context) []timing {
	trees := make(map[string]string)
	for _, r := range b.manifest.Repositories {
		trees[r.Name] = corpus.TreePath(b.Corpora, r.Name)
	}
	timings := make([]timing, len(b.Scans))
	for i, q := range b.Scans {
		timings[i] = b.timeRipgrep(ctx, q, trees)
		if timings[i].err != nil {
			b.missing("ripgrep: %s: %v", q.Name, timings[i].err)
		}
	}
	return timings
}

// ripgrepRuns: the files are in the page cache after the first.
const ripgrepRuns = 3

func (b *bench) timeRipgrep(ctx context.Context, q suite.Query, trees map[string]string) timing {
	plain, ok := q.Plain()
	if !ok {
		return timing{err: suite.ErrInvalid}
	}
	var t timing
	var all []time.Duration
	for range ripgrepRuns + 1 {
		counts, elapsed, err := b.Ripgrep.Count(ctx, plain, trees)
		if err != nil {
			return timing{err: err}
		}
		all = append(all, elapsed)
		t.matches, t.files = 0, len(counts)
		for _, n := range counts {
			t.matches += n
		}
	}
	t.first, t.median = all[0], median(all[1:])
	b.Log("ripgrep: %-26s first %9s median %9s, %d matches in %d files", q.Name, t.first.Round(time.Millisecond), t.median.Round(time.Millisecond), t.matches, t.files)
	return t
}
