package boot

import (
	"os"
	"runtime/debug"
)

// ApplyMemoryLimit tells the garbage collector to keep the Go heap near limit
// bytes (soft) and to collect at gcPercent. GOMEMLIMIT and GOGC, where they are
// set, win: an operator who sets them means it. Zero leaves Go's default.
//
// The heap grows to twice its live size by default. A server whose caches are
// bounded has a large, steady live heap, so a lower percentage saves hundreds
// of megabytes and costs little: few new pointers are made per query.
func ApplyMemoryLimit(limit int64, gcPercent int) {
	if limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
	if gcPercent > 0 && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
