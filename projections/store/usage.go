package store

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
)

// DiskBytes returns the disk space that the files below a directory use, as counted by
// du: in whole blocks, including preallocated space, and counting a file with several
// names once. It ignores files that are removed during the call.
func DiskBytes(ctx context.Context, dir string) (total int64, err error) {
	seen := map[fileID]bool{} // of files with several names
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		bytes, id, names := allocatedBytes(info)
		if names > 1 && seen[id] {
			return nil
		}
		if names > 1 {
			seen[id] = true
		}
		total += bytes
		return nil
	})
	return total, err
}

// fileID identifies a file; all names of a file have the same ID.
type fileID struct{ device, inode uint64 }
