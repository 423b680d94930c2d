//go:build !race

package framecache

// raceEnabled reports whether the race detector is on. Then reused slots are overwritten.
const raceEnabled = false
