package segmentstore

import (
	"errors"
	"sync"
)

// ErrHeld reports that an object cannot be deleted now because the store is being copied.
// The caller should retry later.
var ErrHeld = errors.New("objects are held for a backup")

// ErrKept reports that an object cannot be deleted because a snapshot names it. Other objects
// can be deleted meanwhile; the caller should retry once the snapshot may be deleted.
var ErrKept = errors.New("a snapshot names the object")

// deletionHolds blocks the deletion of objects.
type deletionHolds struct {
	sync.Mutex
	n int
}

// Hold blocks deletions by this process until release is called: Delete returns ErrHeld.
// Further calls of release do nothing.
func (h *deletionHolds) Hold() (release func()) {
	h.Lock()
	defer h.Unlock()
	h.n++
	return sync.OnceFunc(func() {
		h.Lock()
		defer h.Unlock()
		h.n--
	})
}

// unlessHeld calls remove unless objects are held. No hold can begin during the call.
func (h *deletionHolds) unlessHeld(remove func() error) error {
	h.Lock()
	defer h.Unlock()
	if h.n > 0 {
		return ErrHeld
	}
	return remove()
}
