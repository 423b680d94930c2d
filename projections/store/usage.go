package store

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
)

// DiskBytes returns what the files below a directory take on disk, as du counts: in
// whole blocks, space that is allocated ahead included, and a file with several names
// once. Files that are removed meanwhile are left out.
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

// fileID is equal for the names of one file.
type fileID struct{ device, inode uint64 }
