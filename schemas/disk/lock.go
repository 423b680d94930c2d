package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrHeld means that another process holds a data directory.
var ErrHeld = errors.New("data directory is held by another process")

// lockName is a file in a data directory. Its lock protects the directory.
const lockName = "LOCK"

// Directory is a data directory that is locked for this process.
type Directory struct {
	path string
	file *os.File
}

// LockDirectory creates dir if it is missing and locks it for this process. The lock ends
// with the process, even after a crash. If another process holds the lock, the error
// wraps ErrHeld and names the process.
func LockDirectory(dir string) (*Directory, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create data directory: %w", err)
	}
	name := filepath.Join(dir, lockName)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	if err := lockFile(f); err != nil {
		holder := readHolder(name)
		_ = f.Close()
		if errors.Is(err, ErrHeld) {
			return nil, fmt.Errorf("%s: %w%s; stop it, or choose another directory with --data", dir, ErrHeld, holder)
		}
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	d := &Directory{path: dir, file: f}
	if err := d.writeHolder(); err != nil {
		_ = f.Close()
		return nil, err
	}
	return d, nil
}

// LockPath returns the path of the lock file.
func (d *Directory) LockPath() string { return d.file.Name() }

// Close unlocks the directory. It does not leave that to the closing of the file, because
// a program that this process is starting has a copy of the open file until it executes.
func (d *Directory) Close() error { return errors.Join(unlockFile(d.file), d.file.Close()) }

// Holder describes the process that holds a data directory. Process is 0 if it is
// unknown.
type Holder struct {
	Held    bool
	Process int
}

// HolderOf returns the holder of a data directory and leaves the directory unchanged. No
// other process can lock the directory during the check.
func HolderOf(dir string) (Holder, error) {
	name := filepath.Join(dir, lockName)
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Holder{}, nil
	}
	if err != nil {
		return Holder{}, err
	}
	defer func() { _ = f.Close() }() // closing also releases the lock, if it was free
	err = lockFile(f)
	if errors.Is(err, ErrHeld) {
		return Holder{Held: true, Process: holderProcess(name)}, nil
	}
	return Holder{}, err
}

// writeHolder writes the process ID for other processes that find the directory locked.
func (d *Directory) writeHolder() error {
	if err := d.file.Truncate(0); err != nil {
		return fmt.Errorf("lock %s: %w", d.path, err)
	}
	if _, err := d.file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return fmt.Errorf("lock %s: %w", d.path, err)
	}
	return nil
}

func readHolder(name string) string {
	if pid := holderProcess(name); pid != 0 {
		return fmt.Sprintf(" (process %d)", pid)
	}
	return ""
}

// holderProcess returns the process ID in a lock file, or 0 if there is none.
func holderProcess(name string) int {
	b, err := os.ReadFile(name)
	pid, convErr := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || convErr != nil || pid < 0 {
		return 0
	}
	return pid
}
