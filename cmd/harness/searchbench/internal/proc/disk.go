package proc

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// DiskBytes returns the disk usage of all files below root, without the folders in skip.
// It counts a file with several names once.
func DiskBytes(root string, skip ...string) (int64, error) {
	type inode struct{ device, number uint64 }
	seen := make(map[inode]bool)
	var total int64
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if os.IsNotExist(err) { // a compaction removed the file in the meantime
			return nil
		}
		if err != nil {
			return err
		}
		if slices.Contains(skip, path) {
			return filepath.SkipDir
		}
		info, err := entry.Info()
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok || seen[inode{stat.Dev, stat.Ino}] {
			return nil
		}
		seen[inode{stat.Dev, stat.Ino}] = true
		total += stat.Blocks * 512
		return nil
	})
	return total, err
}
