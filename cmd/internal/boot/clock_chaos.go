//go:build quarrychaos

package boot

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// clockFile names a file with the seconds that the clock is off by. It is read at
// each look: a jump takes effect in a process that runs, as on a real machine.
var clockFile = os.Getenv("QUARRY_CHAOS_CLOCK")

// Now is the machine's clock, moved.
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
	// Without the monotonic part: after a jump, what was noted before it seems far
	// away, as it does after a start.
	return now.Round(0).Add(time.Duration(seconds) * time.Second)
}
