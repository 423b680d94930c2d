package clocktest

import (
	"time"

	"golang.org/x/sys/unix"
)

// readThreadTime returns the processor time that the calling thread has used.
func readThreadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic("clocktest: the clock of a thread cannot be read: " + err.Error())
	}
	return time.Duration(t.Nano())
}
