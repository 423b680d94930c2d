package webhook

import (
	"crypto/rand"
	"crypto/sha256"
	"sync"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// recentDeliveries recalls the last acknowledged deliveries in a ring of keys and a map.
// The oldest is forgotten first; a recall does not renew a delivery.
type recentDeliveries struct {
	mu struct {
		sync.Mutex
		positions map[[sha256.Size]byte][]event.Position
		ring      [][sha256.Size]byte
		next      int
	}
}

func newRecentDeliveries(n int) *recentDeliveries {
	d := new(recentDeliveries)
	d.mu.positions = make(map[[sha256.Size]byte][]event.Position)
	d.mu.ring = make([][sha256.Size]byte, n)
	return d
}

// get returns the positions of a delivery. The slice is shared and must not be modified.
func (d *recentDeliveries) get(key [sha256.Size]byte) ([]event.Position, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	positions, ok := d.mu.positions[key]
	return positions, ok
}

func (d *recentDeliveries) put(key [sha256.Size]byte, positions []event.Position) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.mu.positions[key]; ok {
		return
	}
	delete(d.mu.positions, d.mu.ring[d.mu.next])
	d.mu.ring[d.mu.next] = key
	d.mu.next = (d.mu.next + 1) % len(d.mu.ring)
	d.mu.positions[key] = positions
}

// maxRegistered bounds registeredIDs. When an ID is forgotten, its repository is
// registered again, which changes nothing.
const maxRegistered = 1 << 16

// registeredIDs remembers the repositories that this process registered, for a process
// without a catalog.
type registeredIDs struct {
	mu struct {
		sync.Mutex
		ids map[code.RepositoryID]struct{}
	}
}

func newRegisteredIDs() *registeredIDs {
	r := new(registeredIDs)
	r.mu.ids = make(map[code.RepositoryID]struct{})
	return r
}

func (r *registeredIDs) containsID(id code.RepositoryID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.mu.ids[id]
	return ok
}

// addID remembers id; 0 stands for none.
func (r *registeredIDs) addID(id code.RepositoryID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id == 0 {
		return
	}
	if len(r.mu.ids) >= maxRegistered {
		clear(r.mu.ids)
	}
	r.mu.ids[id] = struct{}{}
}

// maxIdentities bounds hostIdentities. A renamed repository whose identity is forgotten is
// found by the next check for drift.
const maxIdentities = 1 << 16

// hostIdentities remembers the repositories that deliveries found by their clone URL and
// not by their identity at the host, because they were registered by hand. After a rename,
// only the identity leads from a delivery to such a repository.
type hostIdentities struct {
	mu struct {
		sync.Mutex
		registered map[code.RepositoryID]code.RepositoryID // by the ID that follows from the identity
	}
}

func newHostIdentities() *hostIdentities {
	h := new(hostIdentities)
	h.mu.registered = make(map[code.RepositoryID]code.RepositoryID)
	return h
}

// registeredID returns the ID of the repository with an identity, or 0.
func (h *hostIdentities) registeredID(identity code.RepositoryID) code.RepositoryID {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.registered[identity]
}

// addIdentity remembers the identity of a registered repository; 0 stands for none.
func (h *hostIdentities) addIdentity(identity, registered code.RepositoryID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if identity == 0 || identity == registered {
		return
	}
	if len(h.mu.registered) >= maxIdentities {
		clear(h.mu.registered)
	}
	h.mu.registered[identity] = registered
}

// newDeliveryID returns an ID for a delivery whose sender provided none.
func newDeliveryID() string { return "quarry-" + rand.Text() }
