package proc

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Dropped describes how files were evicted from the page cache, and what stayed.
type Dropped struct {
	Method string `json:"method"`
	// Resident is the share of the files' bytes that is still in memory.
	Resident float64 `json:"resident"`
}

// These are the methods, in the order in which they are tried. The first affects only
// these files.
const (
	byAdvice = "posix_fadvise(POSIX_FADV_DONTNEED) of each file"
	bySystem = "/proc/sys/vm/drop_caches"
)

// coldEnough is the resident share below which files count as cold.
const coldEnough = 0.01

// DropFiles evicts all files below root from the page cache. No process may have them
// mapped. It returns an error if they cannot be made cold.
func DropFiles(root string) (Dropped, error) {
	unix.Sync() // dirty pages would stay
	if err := eachFile(root, adviseDontNeed); err != nil {
		return Dropped{}, err
	}
	d := Dropped{Method: byAdvice}
	var err error
	if d.Resident, err = residentShare(root); err != nil || d.Resident <= coldEnough {
		return d, err
	}
	if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("1\n"), 0); err != nil {
		return d, fmt.Errorf("%.0f %% of %s stays in memory: %w", 100*d.Resident, root, err)
	}
	d.Method = bySystem
	if d.Resident, err = residentShare(root); err == nil && d.Resident > coldEnough {
		err = fmt.Errorf("%.0f %% of %s stays in memory", 100*d.Resident, root)
	}
	return d, err
}

func eachFile(root string, visit func(f *os.File, size int64) error) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil || info.Size() == 0 {
			return err
		}
		if err := visit(f, info.Size()); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	})
}

func adviseDontNeed(f *os.File, _ int64) error {
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}

// residentShare returns the share of all bytes below root that is in the page cache,
// counted in whole pages.
func residentShare(root string) (float64, error) {
	var all, held int
	err := eachFile(root, func(f *os.File, size int64) error {
		mapped, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Munmap(mapped) }()
		pages := make([]byte, (len(mapped)+os.Getpagesize()-1)/os.Getpagesize())
		_, _, errno := syscall.Syscall(syscall.SYS_MINCORE, uintptr(unsafe.Pointer(&mapped[0])), uintptr(len(mapped)), uintptr(unsafe.Pointer(&pages[0])))
		if errno != 0 {
			return fmt.Errorf("mincore: %w", errno)
		}
		all += len(pages)
		for _, p := range pages {
			held += int(p & 1)
		}
		return nil
	})
	return float64(held) / float64(max(all, 1)), err
}
