//go:build !quarrychaos

package boot

import "time"

// Now is the clock for recorded times: times of events, the age of a signature.
// Durations are measured by time.Now, which no clock jump affects. A binary built
// with the tag quarrychaos has a clock that can be moved.
func Now() time.Time { return time.Now() }
