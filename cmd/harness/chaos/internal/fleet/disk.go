package fleet

import (
	"errors"
	"os"
	"path/filepath"
)

// maxDiskBytes is the size of the file system of one fleet.
const maxDiskBytes = 1 << 30

// ErrNoDisk means that no file system could be mounted, which requires root.
var ErrNoDisk = errors.New("no file system can be mounted here, so no disk becomes full")

// Disk is an in-memory file system.
type Disk struct{ dir string }

func (d *Disk) ballastPath() string { return filepath.Join(d.dir, "ballast") }

// Empty frees the space that Fill has used.
func (d *Disk) Empty() error {
	if err := os.Remove(d.ballastPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
