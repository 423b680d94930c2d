package diskspace

import (
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/schemas/disk"
)

// newGuard returns the guard of a data directory and a log on a disk with some free bytes,
// of which 1,000 must stay free.
func newGuard(t *testing.T, free *atomic.Int64) *Guard {
	t.Helper()
	data := t.TempDir()
	return New(Options{
		Directories: []Directory{{Name: DirectoryData, Path: data}, {Name: DirectoryLog, Path: filepath.Join(data, "log"), Store: true}},
		MinFree:     1000, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
		SpaceOf: func(path string) (disk.Space, error) {
			if path != data {
				return disk.Space{}, errors.New("no such directory") // the ancestor that exists is measured
			}
			return disk.Space{FreeBytes: free.Load(), TotalBytes: 1 << 40}, nil
		},
	})
}

// TestLowDisk checks that a process only reads below the bound, removes still above half of
// it, and writes again when there is space.
func TestLowDisk(t *testing.T) {
	var free atomic.Int64
	g := newGuard(t, &free)
	for _, c := range []struct {
		free         int64
		writes, half bool
	}{{1000, true, true}, {999, false, true}, {499, false, false}, {5000, true, true}} {
		free.Store(c.free)
		g.measureSpace(t.Context())
		write, remove := g.CheckSpace(DirectoryData, DirectoryLog), g.CheckHalfSpace(DirectoryLog)
		if (write == nil) != c.writes || (remove == nil) != c.half {
			t.Errorf("%d bytes free: write %v, remove %v", c.free, write, remove)
		}
		if write != nil && (!errors.Is(write, errDiskFull) || strings.Contains(write.Error(), "/")) {
			t.Errorf("%d bytes free: %v, want %v without a path", c.free, write, errDiskFull)
		}
	}
	if err := g.CheckSpace(DirectoryMirrors); err != nil {
		t.Errorf("a directory that was not measured: %v", err)
	}
}

// TestWaitForSpace checks that the write of a store waits while its disk is full, until there
// is space or the guard is closed.
func TestWaitForSpace(t *testing.T) {
	for name, end := range map[string]func(g *Guard, free *atomic.Int64){
		"space": func(_ *Guard, free *atomic.Int64) { free.Store(tightBytes) },
		"close": func(g *Guard, _ *atomic.Int64) { _ = g.Close() }, // never fails
	} {
		synctest.Test(t, func(t *testing.T) {
			var free atomic.Int64
			free.Store(tightBytes - 1)
			g := newGuard(t, &free)
			waited := make(chan struct{})
			go func() {
				g.WaitForSpace()
				close(waited)
			}()
			synctest.Wait()
			select {
			case <-waited:
				t.Fatalf("%s: a write does not wait for space", name)
			default:
			}
			end(g, &free)
			<-waited
		})
	}
}
