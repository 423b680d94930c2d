package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

func (f importFigure) megabytesPerSecond() float64 {
	return float64(f.TextBytes) / 1e6 / f.Wall.Seconds()
}

func (f importFigure) String() string {
	if f.Wall == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f s, %.1f MB/s, peak %d MiB", f.Wall.Seconds(), f.megabytesPerSecond(), f.PeakBytes>>20)
}

// importTimeout bounds one import of a set.
const importTimeout = 30 * time.Minute

func (b *bench) zoektIndex() string { return filepath.Join(b.Work, "zoekt-index") }

// importedKey is the key of the ledger entry that marks an index as complete and lists
// its sets.
const importedKey = "imported"

// importZoekt runs zoekt-git-index once per set, unless an earlier run left a complete
// index that may be reused.
func (b *bench) importZoekt(ctx context.Context) (map[string]importFigure, error) {
	imports, err := b.earlierImports(b.zoektLedger, StepImport)
	if err != nil || imports != nil {
		return imports, err
	}
	if err := b.startOver(ctx, "zoekt", b.zoektIndex(), b.zoektLedger); err != nil {
		return nil, err
	}
	return b.importSets(ctx, "zoekt", b.zoektLedger, func(ctx context.Context, repositories map[string]string) (time.Duration, int64, error) {
		usage, err := b.Zoekt.Index(ctx, b.zoektIndex(), false, slices.Sorted(maps.Values(repositories))...)
		return usage.Wall, usage.PeakBytes, err
	})
}

// importQuarry imports each set into a running server. If imports are requested, they
// always run, because they are measured.
func (b *bench) importQuarry(ctx context.Context) (map[string]importFigure, error) {
	if !b.takesStep(StepImport) {
		if imports, err := b.earlierImports(b.quarryLedger, ""); err != nil || (imports != nil && b.opensQuarry(ctx)) {
			return imports, err
		}
	}
	if err := b.startOver(ctx, "quarry", b.quarryData(), b.quarryLedger); err != nil {
		return nil, err
	}
	server, err := b.serveQuarry(ctx)
	if err != nil {
		return nil, err
	}
	defer b.stopServer("quarry serve", server.Stop)
	return b.importSets(ctx, "quarry", b.quarryLedger, func(ctx context.Context, repositories map[string]string) (time.Duration, int64, error) {
		server.ResetPeak()
		wall, err := server.Index(ctx, repositories)
		peak := server.Usage().PeakBytes
		b.awaitMerges(ctx, server.WrittenBytes)
		return wall, peak, err
	})
}

// Merges follow an import after several idle seconds. They count as done when nothing was
// written for MergesQuiet.
const (
	defaultMergesQuiet = 15 * time.Second
	mergesLimit        = 5 * time.Minute
	mergesPoll         = 500 * time.Millisecond
)

// awaitMerges waits until a server has stopped writing, so that merges do not disturb the
// next measurement.
func (b *bench) awaitMerges(ctx context.Context, written func() int64) {
	start, last, since := time.Now(), written(), time.Now()
	for time.Since(since) < b.MergesQuiet && time.Since(start) < mergesLimit && ctx.Err() == nil {
		time.Sleep(mergesPoll)
		if n := written(); n != last {
			last, since = n, time.Now()
		}
	}
	b.Log("quarry: merges ended %s after the import", since.Sub(start).Round(time.Second))
}

// opensQuarry reports whether this build can open the kept data, which may have another
// format.
func (b *bench) opensQuarry(ctx context.Context) bool {
	server, err := b.serveQuarry(ctx)
	if err != nil {
		b.Log("quarry: the index that was kept does not open with this build and is rebuilt: %v", err)
		return false
	}
	b.stopServer("quarry serve", server.Stop)
	return true
}

// earlierImports returns nil if there is no index to keep. It returns the figures of the
// imports if this step needs them.
func (b *bench) earlierImports(l *ledger, step Step) (map[string]importFigure, error) {
	var held []string
	entry, ok := l.entries[importedKey]
	if !ok || !b.Reuse {
		return nil, nil
	}
	if err := json.Unmarshal(entry.Figure, &held); err != nil || !slices.Equal(held, b.Sets) {
		return nil, fmt.Errorf("%s: the index there holds the sets %v, not %v: %w", l.path, held, b.Sets, errors.Join(ErrSets, err))
	}
	imports := make(map[string]importFigure)
	for _, set := range b.Sets {
		var f importFigure
		if b.takesStep(step) && l.get("import/"+set, &f) {
			imports[set] = f
		}
	}
	return imports, nil
}

// startOver removes an index with its ledger, and creates a fresh clone to push to.
func (b *bench) startOver(ctx context.Context, program, index string, l *ledger) error {
	if err := l.removeAll(); err != nil {
		return err
	}
	for _, path := range []string{index, b.linuxClone(program)} {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return b.cloneLinux(ctx, program)
}

// importSets imports the sets one after the other. index returns the wall time and the
// peak memory.
func (b *bench) importSets(
	ctx context.Context, program string, l *ledger, index func(context.Context, map[string]string) (time.Duration, int64, error),
) (map[string]importFigure, error) {
	imports := make(map[string]importFigure)
	for _, set := range b.Sets {
		repositories := b.repositoryPaths(set, program)
		b.Log("%s: importing %s (%d repositories)", program, set, len(repositories))
		ctx, cancel := context.WithTimeout(ctx, importTimeout)
		wall, peak, err := index(ctx, repositories)
		cancel()
		if err != nil {
			return imports, fmt.Errorf("%s import of %s: %w", program, set, err)
		}
		imports[set] = importFigure{Wall: wall, PeakBytes: peak, TextBytes: b.textBytes(set)}
		b.Log("%s: %s: %s", program, set, imports[set])
		if err := l.put("import/"+set, imports[set]); err != nil {
			return imports, err
		}
	}
	return imports, l.put(importedKey, b.Sets)
}
