package fleet

import (
	"os"
	"path/filepath"
)

// Keep copies the content of the fleet's disk to the mount directory, before Close
// unmounts the disk, so that a failure can be examined.
func (f *Fleet) Keep() error {
	if f.Disk == nil {
		return nil
	}
	for _, m := range f.Members {
		m.Kill()
	}
	if err := f.Disk.Empty(); err != nil {
		return err
	}
	kept := filepath.Join(f.dir, "kept")
	if err := os.RemoveAll(kept); err != nil {
		return err
	}
	return os.CopyFS(kept, os.DirFS(f.storeDir()))
}
