package ctags

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Bounds of a process. The processor time counts over the lifetime of the process, so that
// the limit also ends a process that loops after Quarry was killed. A process that reaches
// it is replaced.
const (
	maxMemoryBytes      = 1 << 30
	maxProcessorSeconds = 600
)

// limitProcess limits the memory and processor time of a process and disables core dumps.
func limitProcess(pid int) error {
	for resource, limit := range map[int]uint64{unix.RLIMIT_AS: maxMemoryBytes, unix.RLIMIT_CPU: maxProcessorSeconds, unix.RLIMIT_CORE: 0} {
		if err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: limit, Max: limit}, nil); err != nil {
			return fmt.Errorf("limit the process: %w", err)
		}
	}
	return nil
}
