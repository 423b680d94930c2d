package fleet

import (
	"errors"
	"os"
	"path/filepath"
)

// diskBytes returns the size of the file system of a fleet. Each process keeps a reserve of 64 MiB,
// and logs of its stores; workers wait below storage.minFreeBytes, 256 MiB, so that a run ends on a
// disk that is full without a fault.
func diskBytes(s Setup) int64 {
	switch s {
	case InBucket:
		return 2 << 30
	case Sharded:
		return 3 << 30
	}
	return 1 << 30
}

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
