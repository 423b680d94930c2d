package bench

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
)

// importFigure is one import of a set.
type importFigure struct {
	wall      time.Duration
	peakBytes int64
	textBytes int64
}

func (f importFigure) megabytesPerSecond() float64 {
	return float64(f.textBytes) / 1e6 / f.wall.Seconds()
}

func (f importFigure) String() string {
	if f.wall == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f s, %.1f MB/s, peak %d MiB", f.wall.Seconds(), f.megabytesPerSecond(), f.peakBytes>>20)
}

type memoryFigure struct{ residentBytes, anonymousBytes int64 }

// importTimeout bounds one import of a set.
const importTimeout = 30 * time.Minute

func (b *bench) zoektIndex() string { return filepath.Join(b.Work, "zoekt-index") }

// importZoekt runs zoekt-git-index once per set.
func (b *bench) importZoekt(ctx context.Context) (map[string]importFigure, error) {
	imports := make(map[string]importFigure)
	if _, err := os.Stat(b.zoektIndex()); err == nil && b.Reuse {
		b.missing("zoekt's imports: its index of an earlier run was taken")
		return imports, nil
	}
	for _, set := range sets {
		repositories := b.repositories(set, "zoekt")
		b.Log("zoekt: importing %s (%d repositories)", set, len(repositories))
		ctx, cancel := context.WithTimeout(ctx, importTimeout)
		usage, err := b.Zoekt.Index(ctx, b.zoektIndex(), false, slices.Sorted(maps.Values(repositories))...)
		cancel()
		if err != nil {
			return imports, fmt.Errorf("zoekt import of %s: %w", set, err)
		}
		imports[set] = importFigure{wall: usage.Wall, peakBytes: usage.PeakBytes, textBytes: b.textBytes(set)}
		b.Log("zoekt: %s: %s", set, imports[set])
	}
	return imports, nil
}

// importQuarry imports each set into a running server.
func (b *bench) importQuarry(ctx context.Context, server *engine.QuarryServer) (map[string]importFigure, error) {
	imports := make(map[string]importFigure)
	for _, set := range sets {
		repositories := b.repositories(set, "quarry")
		b.Log("quarry: importing %s (%d repositories)", set, len(repositories))
		server.ResetPeak()
		ctx, cancel := context.WithTimeout(ctx, importTimeout)
		wall, err := server.Index(ctx, repositories)
		cancel()
		if err != nil {
			return imports, fmt.Errorf("quarry import of %s: %w", set, err)
		}
		imports[set] = importFigure{wall: wall, peakBytes: server.Usage().PeakBytes, textBytes: b.textBytes(set)}
		b.Log("quarry: %s: %s", set, imports[set])
	}
	return imports, nil
}

// diskBytes adds up the blocks of all files below root, each once however many names it has, without the folders in skip.
func diskBytes(root string, skip ...string) (int64, error) {
	type inode struct{ device, number uint64 }
	seen := make(map[inode]bool)
	var total int64
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if os.IsNotExist(err) { // a file that a compaction removed meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		if slices.Contains(skip, path) {
			return filepath.SkipDir
		}
		info, err := entry.Info()
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok || seen[inode{stat.Dev, stat.Ino}] {
			return nil
		}
		seen[inode{stat.Dev, stat.Ino}] = true
		total += stat.Blocks * 512
		return nil
	})
	return total, err
}

// gitCommand runs git without the user's settings.
func gitCommand(ctx context.Context, dir string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %.500s", strings.Join(args, " "), err, out)
	}
	return nil
}
