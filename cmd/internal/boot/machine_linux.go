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
)

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
