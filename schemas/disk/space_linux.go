package disk

import (
	"errors"
	"os"
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
