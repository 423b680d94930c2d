package doctor

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

func spaceOf(dir string) (Space, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return Space{}, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	size := int64(s.Bsize)
	return Space{FreeBytes: int64(s.Bavail) * size, TotalBytes: int64(s.Blocks) * size, FreeFiles: int64(s.Ffree), TotalFiles: int64(s.Files)}, nil
}

func memoryOfMachine() (m Memory, err error) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return m, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kibibytes int64
		name, rest, _ := strings.Cut(lines.Text(), ":")
		if _, err := fmt.Sscan(rest, &kibibytes); err != nil {
			continue
		}
		switch name {
		case "MemTotal":
			m.Total = kibibytes << 10
		case "MemAvailable":
			m.Available = kibibytes << 10
		}
	}
	if m.Total == 0 {
		return m, errors.New("/proc/meminfo does not say it")
	}
	m.Limit = groupLimit("/proc/self/cgroup", "/sys/fs/cgroup")
	return m, nil
}

// groupLimit returns the lowest memory limit of the control group of this process and
// those above it, 0 if there is none. It knows both versions of control groups.
func groupLimit(membership, root string) (limit int64) {
	b, err := os.ReadFile(membership)
	if err != nil {
		return 0
	}
	look := func(path string) {
		b, err := os.ReadFile(path)
		n, convErr := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
		if err == nil && convErr == nil && n > 0 && (limit == 0 || n < limit) {
			limit = n
		}
	}
	for line := range strings.Lines(string(b)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 || fields[1] != "" && fields[1] != "memory" {
			continue
		}
		for dir := filepath.Clean("/" + fields[2]); ; dir = filepath.Dir(dir) {
			if fields[1] == "" {
				look(filepath.Join(root, dir, "memory.max"))
			} else {
				look(filepath.Join(root, "memory", dir, "memory.limit_in_bytes"))
			}
			if dir == "/" {
				break
			}
		}
	}
	return limit
}

// openFilesOf returns the hard limit: the Go runtime raises the soft one to it.
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
