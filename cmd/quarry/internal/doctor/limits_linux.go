package doctor

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// openFilesOf returns the hard limit, because the Go runtime raises the soft limit to it.
func openFilesOf(process int) (uint64, error) {
	if process == 0 {
		var limit syscall.Rlimit
		err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
		return limit.Max, err
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", process))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "Max open files"); ok {
			fields := strings.Fields(rest)
			if len(fields) < 2 {
				break
			}
			return strconv.ParseUint(fields[1], 10, 64)
		}
	}
	return 0, errUnknown
}
