package auth

import (
	"sync"
	"time"
)

// Limits of the audit entries about failed sign-ins. Each attempt gets an entry; but an
// attacker who guesses from many addresses, each of which is throttled separately, would
// fill the disk at about 900 bytes per attempt. Beyond failedNotes, which refill at
// failedNotesPerSecond, the next entry reports how many attempts had no entry.
const (
	failedNotes          = 20_000
	failedNotesPerSecond = 20
)

// failedNoter decides which failed sign-ins are recorded.
type failedNoter struct {
	mu struct {
		sync.Mutex
		taken      float64 // of failedNotes, as of last
		last       time.Time
		suppressed int64
	}
}

// allowEntry reports whether the next failed sign-in is recorded, and how many before it
// were not.
func (f *failedNoter) allowEntry(now time.Time) (suppressed int64, wanted bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.After(f.mu.last) {
		f.mu.taken = max(f.mu.taken-now.Sub(f.mu.last).Seconds()*failedNotesPerSecond, 0)
		f.mu.last = now
	}
	if f.mu.taken+1 > failedNotes {
		f.mu.suppressed++
		return 0, false
	}
	f.mu.taken++
	suppressed, f.mu.suppressed = f.mu.suppressed, 0
	return suppressed, true
}
