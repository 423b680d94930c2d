//go:build linux

package fleet

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// mountDisk mounts an in-memory file system of some size on dir.
func mountDisk(dir string, bytes int64) (*Disk, error) {
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, fmt.Sprintf("size=%d", bytes)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDisk, err)
	}
	return &Disk{dir: dir}, nil
}

// Fill uses all remaining space except for free bytes.
func (d *Disk) Fill(free int64) error {
	var s syscall.Statfs_t
	if err := syscall.Statfs(d.dir, &s); err != nil {
		return fmt.Errorf("statfs %s: %w", d.dir, err)
	}
	take := int64(s.Bavail)*s.Bsize - free
	if take <= 0 {
		return nil
	}
	file, err := os.OpenFile(d.ballastPath(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	// Processes write in the meantime, so less space may be left than was measured.
	err = syscall.Fallocate(int(file.Fd()), 0, 0, take)
	if errors.Is(err, syscall.ENOSPC) {
		err = nil
	}
	return errors.Join(err, file.Close())
}

// Close unmounts the file system.
func (d *Disk) Close() error {
	if err := syscall.Unmount(d.dir, syscall.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount %s: %w", d.dir, err)
	}
	return nil
}
