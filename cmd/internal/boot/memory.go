package boot

import (
	"os"
	"runtime/debug"
	"sync"
	"time"
)

// ApplyMemoryLimit makes the garbage collector keep the Go heap near limit bytes
// (soft) and collect at gcPercent, which GOGC overrides. Zero leaves Go's default.
//
// What is large and steady is not in the Go heap: frames of text and Pebble's
// blocks. An import is what makes the heap large for a while, and the limit keeps
// it from growing to twice that. GOMEMLIMIT is the bound of all of it: the caller
// has subtracted the caches.
func ApplyMemoryLimit(limit int64, gcPercent int) {
	if limit > 0 {
		debug.SetMemoryLimit(limit)
	}
	if gcPercent > 0 && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

// Constants of CollectWhileBuilding.
const (
	// buildingGCPercent is the growth of the heap between collections while large
	// segments are built: with Go's default, what they hold would be there twice. It
	// has no pointers, so that a collection is cheap.
	buildingGCPercent = 60
	// buildingPause is how long after the last segment the percentage goes back: what
	// was held is garbage first.
	buildingPause = 10 * time.Second
)

// CollectWhileBuilding returns what to call with true when building large segments
// begins and with false when it ends; nil if GOGC is set, which overrides it. In
// between, the heap grows by at most buildingGCPercent, else by gcPercent.
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
