package ondisk

import (
	"os"
	"syscall"
)

// OpenRoot opens a directory below root as a root of its own. Unlike Root.OpenRoot it
// does not wait for the writer of a FIFO that is in its place.
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
