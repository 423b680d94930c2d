//go:build unix

package disk

import (
	"errors"
	"os"
	"syscall"
)

// lockFile takes an advisory lock, which the kernel releases when the process ends.
func lockFile(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrHeld
	}
	return err
}

// unlockFile releases the lock, also if another process has a copy of the open file.
func unlockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
