//go:build !quarrychaos

package boot

import "time"

// Now returns the time for recorded times, such as the time of an event or the age of a
// signature. Measure durations with time.Now, which clock jumps do not affect. In a
// binary built with the tag quarrychaos, tests can move this clock.
func Now() time.Time { return time.Now() }
