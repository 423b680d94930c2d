package diskspace

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/quarrysearch/quarry/schemas/disk"
)

const (
	// ReserveName is the file name of a reserve.
	ReserveName = "disk-reserve"
	// reservedPart is the part of the minimum free space that a reserve takes.
	reservedPart = 4
	// maxReserveBytes is more than the stores write when they are opened after a stop.
	maxReserveBytes = 64 << 20
)

// reserve is a file that reserves space for the stores on its file system. It is removed
// when the disk is full.
type reserve struct {
	directory, path string
	bytes           int64
	mu              sync.Mutex
}

// newReserves returns a reserve for each file system with a store: in the data directory
// if that is on it, otherwise in the directory of the store.
func newReserves(directories []Directory, bytes int64) (out []*reserve) {
	seen := map[uint64]bool{}
	for _, d := range directories {
		if !d.Store {
			continue
		}
		of, err := disk.FileSystemOf(existingAncestor(d.Path))
		if err != nil || seen[of] {
			continue
		}
		seen[of] = true
		directory := d.Path
		if main, err := disk.FileSystemOf(existingAncestor(directories[0].Path)); err == nil && main == of {
			directory = directories[0].Path
		}
		out = append(out, &reserve{directory: directory, path: filepath.Join(directory, ReserveName), bytes: bytes})
	}
	return out
}

// releaseSpace removes the file and reports whether there was one.
func (r *reserve) releaseSpace() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return os.Remove(r.path) == nil
}

// reserveSpace creates the file if there is much more space than it needs. A file system
// that does not support allocation has no reserve.
func (r *reserve) reserveSpace(g *Guard) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := os.Stat(r.path); err == nil {
		return
	}
	if space, err := g.space(r.directory); err != nil || space.FreeBytes < g.minFree+2*r.bytes {
		return
	}
	if err := disk.Allocate(r.path, r.bytes); err != nil {
		g.logger.Debug("disk reserve cannot be created", "path", r.path, "error", err)
	}
}
