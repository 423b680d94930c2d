package report

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine describes the machine of a measurement, without names.
type Machine struct {
	Cores       int
	MemoryBytes int64
	CPU         string
	OS          string
	Kernel      string
	Go          string
	Load        string // load averages at the start: other work on the machine makes the figures worse
}

// String returns a description in one sentence.
func (m Machine) String() string {
	return fmt.Sprintf("Machine: %d cores (%s), %.0f GiB of memory, %s, kernel %s, %s; load before the run %s.",
		m.Cores, m.CPU, float64(m.MemoryBytes)/(1<<30), m.OS, m.Kernel, m.Go, m.Load)
}

// Describe returns a description of this machine. Values that cannot be read are
// "unknown".
func Describe() Machine {
	return Machine{
		Cores:       runtime.NumCPU(),
		MemoryBytes: memoryBytes(),
		CPU:         readField("/proc/cpuinfo", "model name", ":"),
		OS:          strings.Trim(readField("/etc/os-release", "PRETTY_NAME", "="), `"`),
		Kernel:      firstWord("/proc/sys/kernel/osrelease"),
		Go:          runtime.Version(),
		Load:        firstWord("/proc/loadavg"),
	}
}

func memoryBytes() int64 {
	kilobytes, err := strconv.ParseInt(strings.TrimSuffix(readField("/proc/meminfo", "MemTotal", ":"), " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return kilobytes << 10
}

// readField returns VALUE from a line "NAME<separator>VALUE" of a file.
func readField(path, name, separator string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		key, value, ok := strings.Cut(line, separator)
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func firstWord(path string) string {
	data, err := os.ReadFile(path)
	if words := strings.Fields(string(data)); err == nil && len(words) > 0 {
		return words[0]
	}
	return "unknown"
}
