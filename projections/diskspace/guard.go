package diskspace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/disk"
)

const (
	// measureSpaceEvery is the interval at which the free space is measured.
	measureSpaceEvery = time.Second
	// measureUsageEvery is the interval at which all files are counted.
	measureUsageEvery = 10 * time.Minute
	// minFreeFiles is the number of inodes below which a disk counts as full.
	minFreeFiles = 1000
	// tightBytes is the free space below which a failed write waits for more.
	tightBytes = 8 << 20
	// waitForSpacePoll is the interval at which such a write checks again.
	waitForSpacePoll = 200 * time.Millisecond
)

// errDiskFull means that a disk has less free space than storage.minFreeBytes.
var errDiskFull = errors.New("the disk is almost full")

// Guard watches the free space of the directories that Quarry writes to. Below
// storage.minFreeBytes the process only reads. Reserves, which are files that Guard
// removes when the disk is full, provide the space that a store needs to keep running.
type Guard struct {
	directories []Directory
	minFree     int64
	reserves    []*reserve
	space       func(path string) (disk.Space, error)
	logger      *slog.Logger
	metrics     *guardMetrics
	// closed ends all waits for space.
	closed      chan struct{}
	stopWaiting func()

	mu struct {
		sync.Mutex
		space   map[string]disk.Space
		low     []string // directories that were logged as low
		waiting bool
	}
}

// Directory is a directory that Quarry writes to. Its name is the name in the storage
// settings and the label of the metrics.
type Directory struct {
	Name, Path string
	// Store is set if the contents of the directory cannot work without space.
	Store bool
}

// These are the names of directories.
const (
	DirectoryData        = "data"
	DirectoryLog         = "log"
	DirectorySegments    = "segments"
	DirectoryProjections = "projections"
	DirectoryAccounts    = "accounts"
	DirectoryMirrors     = "mirrors"
)

// Options are the options of New.
type Options struct {
	// Directories are those that the process writes to, the data directory first.
	Directories []Directory
	// MinFree is storage.minFreeBytes.
	MinFree    int64
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	// SpaceOf replaces the file systems, which then get no reserve. nil measures the file
	// systems.
	SpaceOf func(path string) (disk.Space, error)
}

// New measures the disks once. It frees the reserves of full disks, so that the stores
// can be opened.
func New(o Options) *Guard {
	g := &Guard{
		directories: o.Directories, minFree: o.MinFree, space: o.SpaceOf,
		logger: o.Logger, closed: make(chan struct{}),
	}
	g.stopWaiting = sync.OnceFunc(func() { close(g.closed) })
	g.metrics = newMetrics(o.Registerer, g.minFree)
	if g.space == nil {
		g.space = disk.SpaceOf
		g.reserves = newReserves(g.directories, min(g.minFree/reservedPart, maxReserveBytes))
	}
	g.measureSpace(context.Background())
	for _, r := range g.reserves {
		if space, err := g.space(r.directory); err == nil && space.FreeBytes < r.bytes {
			g.releaseReserve(r)
		}
	}
	return g
}

// Run measures until ctx ends. After that, writes no longer wait for space.
func (g *Guard) Run(ctx context.Context) error {
	defer g.stopWaiting()
	var walks sync.WaitGroup
	defer walks.Wait()
	walks.Go(func() {
		g.MeasureUsage(ctx)
		_ = clock.RunEvery(ctx, measureUsageEvery, g.MeasureUsage) // MeasureUsage returns no error
	})
	return clock.RunEvery(ctx, measureSpaceEvery, g.measureSpace)
}

// MeasureUsage measures the space that each directory uses. It visits every file; mirrors
// may have several hundred thousand.
func (g *Guard) MeasureUsage(ctx context.Context) {
	for _, d := range g.directories {
		if ctx.Err() != nil {
			return
		}
		if n, err := store.DiskBytes(ctx, d.Path); err == nil {
			g.metrics.used.WithLabelValues(d.Name).Set(float64(n))
		}
	}
}

// Close ends all waits for space.
func (g *Guard) Close() error { g.stopWaiting(); return nil }

// measureSpace measures the free space, logs a change that affects what the process does,
// and refills the reserves.
func (g *Guard) measureSpace(context.Context) {
	spaces := map[string]disk.Space{}
	var low []string
	for _, d := range g.directories {
		space, err := g.space(existingAncestor(d.Path))
		if err != nil {
			continue // unknown counts as enough
		}
		spaces[d.Name] = space
		g.metrics.free.WithLabelValues(d.Name).Set(float64(space.FreeBytes))
		g.metrics.size.WithLabelValues(d.Name).Set(float64(space.TotalBytes))
		isLow := 0.0
		if isBelow(space, g.minFree, minFreeFiles) {
			isLow, low = 1, append(low, d.Name)
		}
		g.metrics.low.WithLabelValues(d.Name).Set(isLow)
	}
	g.mu.Lock()
	g.mu.space = spaces
	before := g.mu.low
	g.mu.low = low
	g.mu.Unlock()
	switch {
	case slices.Equal(before, low):
	case len(low) > 0:
		g.logger.Error("disk is almost full; rejecting webhooks and changes and pausing indexing until there is space; searches continue",
			"directories", strings.Join(low, ","), "free_bytes", spaces[low[0]].FreeBytes, "min_free_bytes", g.minFree)
	default:
		g.logger.Info("disk has enough space again; webhooks and changes are accepted", "directories", strings.Join(before, ","))
	}
	for _, r := range g.reserves {
		r.reserveSpace(g)
	}
}

func isBelow(s disk.Space, bytes int64, files int64) bool {
	return s.FreeBytes < bytes || s.TotalFiles > 0 && s.FreeFiles < files
}

// CheckSpace returns errDiskFull if one of the named directories has too little space.
// The error contains no path, because it is shown to callers.
func (g *Guard) CheckSpace(names ...string) error {
	return g.checkAbove(g.minFree, minFreeFiles, names)
}

// CheckHalfSpace is CheckSpace with half of the bound.
func (g *Guard) CheckHalfSpace(names ...string) error {
	return g.checkAbove(g.minFree/2, minFreeFiles/2, names)
}

func (g *Guard) checkAbove(bytes, files int64, names []string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, name := range names {
		s, ok := g.mu.space[name]
		switch {
		case !ok || !isBelow(s, bytes, files):
		case s.FreeBytes < bytes:
			return fmt.Errorf("%w: the disk of the directory %s has %d MiB left, and %d MiB are needed (storage.minFreeBytes); free some space", errDiskFull, name, s.FreeBytes>>20, bytes>>20)
		default:
			return fmt.Errorf("%w: the disk of the directory %s has room for %d more files, and %d are needed; remove some", errDiskFull, name, s.FreeFiles, files)
		}
	}
	return nil
}

// WaitForSpace is called by a store whose write failed because the disk is full. It frees
// a reserve, or waits until there is space or the process ends. A store that cannot write
// its log would end the process, and searches with it.
func (g *Guard) WaitForSpace() {
	defer g.setWaiting(false)
	for g.storesAreTight() {
		if g.releaseTight() {
			continue
		}
		g.setWaiting(true)
		select {
		case <-g.closed:
			return
		case <-time.After(waitForSpacePoll):
		}
	}
}

func (g *Guard) setWaiting(waiting bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if waiting && !g.mu.waiting {
		g.logger.Error("disk is full; writing waits until there is space")
	}
	g.mu.waiting = waiting
}

// storesAreTight reports whether a store has almost no space.
func (g *Guard) storesAreTight() bool {
	for _, d := range g.directories {
		space, err := g.space(existingAncestor(d.Path))
		if d.Store && err == nil && space.FreeBytes < tightBytes {
			return true
		}
	}
	return false
}

// releaseTight frees the reserves of disks with almost no space.
func (g *Guard) releaseTight() (released bool) {
	for _, r := range g.reserves {
		if space, err := g.space(r.directory); err == nil && space.FreeBytes < tightBytes && g.releaseReserve(r) {
			released = true
		}
	}
	return released
}

func (g *Guard) releaseReserve(r *reserve) bool {
	released := r.releaseSpace()
	if released {
		g.logger.Error("disk is full; its reserve was released so that the stores can continue; free some space", "path", r.path, "bytes", r.bytes)
	}
	return released
}

// existingAncestor returns the path, or its nearest ancestor that exists.
func existingAncestor(path string) string {
	path, err := filepath.Abs(path)
	for err == nil {
		if _, statErr := os.Stat(path); statErr == nil || filepath.Dir(path) == path {
			break
		}
		path = filepath.Dir(path)
	}
	return path
}
