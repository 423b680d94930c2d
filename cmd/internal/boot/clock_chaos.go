//go:build quarrychaos

package boot

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// clockFile names a file with the offset of the clock in seconds. Now reads it at each
// call, so that a clock jump affects a running process, as on a real machine.
var clockFile = os.Getenv("QUARRY_CHAOS_CLOCK")

// Now returns the time of the machine plus the offset.
func Now() time.Time {
	now := time.Now()
	if clockFile == "" {
		return now
	}
	b, err := os.ReadFile(clockFile)
	if err != nil {
		return now
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return now
	}
	// Drop the monotonic part, so that times recorded before a jump seem far away, as
	// they do after a restart.
	return now.Round(0).Add(time.Duration(seconds) * time.Second)
}
