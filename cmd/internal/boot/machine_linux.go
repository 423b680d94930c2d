package boot

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// SpaceOf returns the space of the file system that contains path.
func SpaceOf(path string) (Space, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return Space{}, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	size := int64(s.Bsize)
	return Space{FreeBytes: int64(s.Bavail) * size, TotalBytes: int64(s.Blocks) * size, FreeFiles: int64(s.Ffree), TotalFiles: int64(s.Files)}, nil
}

// FileSystemOf returns a number that identifies the file system of path.
func FileSystemOf(path string) (uint64, error) {
	var s syscall.Stat_t
	if err := syscall.Stat(path, &s); err != nil {
		return 0, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return uint64(s.Dev), nil //nolint:unconvert // 32 bits on some processors
}

// Allocate creates a file of n bytes and allocates its space. If that fails, it removes
// the file.
func Allocate(path string, n int64) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err = syscall.Fallocate(int(f.Fd()), 0, 0, n); err != nil {
		err = &os.PathError{Op: "fallocate", Path: path, Err: err}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path) // the first error is more useful
	}
	return err
}

// MemoryOfMachine returns the memory of the machine and the limit of its control group.
func MemoryOfMachine() (m Memory, err error) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return m, err
	}
	defer func() { _ = f.Close() }() // opened only for reading
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
		return m, errors.New("/proc/meminfo does not say how much memory there is")
	}
	m.Limit, m.LimitFile = controlGroupLimit("/proc/self/cgroup", "/sys/fs/cgroup")
	return m, nil
}

// unlimited is the smallest value that version 1 of control groups shows for no limit:
// the largest number of bytes in whole pages of up to 64 KiB.
const unlimited = 1<<63 - 1<<16

// controlGroupLimit returns the lowest memory limit of the control group of this process
// and its ancestors, and the file of the limit. It returns 0 if there is none. It
// supports both versions of control groups. In a container, membership contains the path
// on the host, but the files are at the root.
func controlGroupLimit(membership, root string) (limit int64, file string) {
	b, err := os.ReadFile(membership)
	if err != nil {
		return 0, ""
	}
	look := func(path string) {
		b, err := os.ReadFile(path)
		n, convErr := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
		if err == nil && convErr == nil && n > 0 && n < unlimited && (limit == 0 || n < limit) {
			limit, file = n, path
		}
	}
	for line := range strings.Lines(string(b)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		directory, names := root, []string{"memory.max", "memory.high"}
		if controllers := strings.Split(fields[1], ","); fields[1] != "" {
			if !slices.Contains(controllers, "memory") {
				continue
			}
			directory, names = filepath.Join(root, "memory"), []string{"memory.limit_in_bytes"}
		}
		for group := filepath.Clean("/" + fields[2]); ; group = filepath.Dir(group) {
			for _, name := range names {
				look(filepath.Join(directory, group, name))
			}
			if group == "/" {
				break
			}
		}
	}
	return limit, file
}
