package boot

import (
	"os"
	"runtime/debug"
	"sync"
	"time"
)

// ApplyMemoryLimit makes the garbage collector keep the Go heap near limit bytes (a soft
// limit) and collect at gcPercent, unless GOGC is set. Zero keeps Go's default.
//
// The large and steady parts, frames of text and Pebble's blocks, are not in the Go heap.
// An import makes the heap large for a while, and the limit keeps it from growing to
// twice that size. GOMEMLIMIT bounds everything: the caller has subtracted the caches.
func ApplyMemoryLimit(limit int64, gcPercent int) {
	if limit > 0 {
		debug.SetMemoryLimit(limit)
	}
	if gcPercent > 0 && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

// These are constants of CollectWhileBuilding.
const (
	// buildingGCPercent is the growth of the heap between collections while large
	// segments are built. With Go's default, their memory would exist twice. It contains
	// no pointers, so that a collection is cheap.
	buildingGCPercent = 30
	// buildingPause is how long after the last segment the percentage is restored, so
	// that the memory of the segment is collected first.
	buildingPause = 10 * time.Second
)

// CollectWhileBuilding returns a function to call with true when the building of large
// segments begins and with false when it ends. In between, the heap grows by at most
// buildingGCPercent, otherwise by gcPercent. It returns nil if GOGC is set, because GOGC
// overrides it.
func CollectWhileBuilding(gcPercent int) func(building bool) {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	if gcPercent <= 0 {
		gcPercent = 100 // Go's default
	}
	var mu struct {
		sync.Mutex
		reset *time.Timer
	}
	return func(building bool) {
		mu.Lock()
		defer mu.Unlock()
		if mu.reset != nil {
			mu.reset.Stop()
		}
		if building {
			debug.SetGCPercent(min(gcPercent, buildingGCPercent))
			return
		}
		mu.reset = time.AfterFunc(buildingPause, func() { debug.SetGCPercent(gcPercent) })
	}
}
