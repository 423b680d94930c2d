package segmentstore

import (
	"errors"
	"sync"
)

// ErrHeld says that an object cannot be deleted now because the store is being
// copied. The caller retries later.
var ErrHeld = errors.New("objects are held for a backup")

// deletionHolds keeps objects from being deleted.
type deletionHolds struct {
	sync.Mutex
	n int
}

// Hold keeps every object until release is called: Delete fails with ErrHeld. It is
// for the deletions of this process. Calling release again does nothing.
func (d *Directory) Hold() (release func()) {
	d.holds.Lock()
	defer d.holds.Unlock()
	d.holds.n++
	return sync.OnceFunc(func() {
		d.holds.Lock()
		defer d.holds.Unlock()
		d.holds.n--
	})
}

// unlessHeld calls remove unless objects are held. No hold begins meanwhile.
func (h *deletionHolds) unlessHeld(remove func() error) error {
	h.Lock()
	defer h.Unlock()
	if h.n > 0 {
		return ErrHeld
	}
	return remove()
}
