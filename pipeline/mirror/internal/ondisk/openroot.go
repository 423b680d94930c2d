package ondisk

import (
	"os"
	"syscall"
)

// OpenRoot opens a directory below root as a new root. Unlike Root.OpenRoot it does not
// block if there is a FIFO in place of the directory.
func OpenRoot(root *os.Root, name string) (*os.Root, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &os.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	return openRoot(root, name)
}
