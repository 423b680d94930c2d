package ondisk

import (
	"os"
	"strconv"
	"syscall"
)

// openRoot opens the directory without blocking, since it may have been replaced by a
// FIFO, and creates a root from its descriptor.
func openRoot(root *os.Root, name string) (*os.Root, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	opened, err := os.OpenRoot("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
	if os.IsNotExist(err) { // /proc is not mounted
		return root.OpenRoot(name)
	}
	return opened, err
}
