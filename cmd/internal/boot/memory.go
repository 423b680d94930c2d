package boot

import (
	"os"
	"runtime/debug"
)

// ApplyMemoryLimit tells the garbage collector to keep the Go heap near limit
// bytes (soft) and to collect at gcPercent, which GOGC overrides. Zero leaves Go's
// default.
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
