package webhook

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
)

// Bodies wait for memory in two lanes, so that small bodies do not wait for large
// ones. The sender of a body is unknown until the whole body was read and verified.
// Each address is therefore limited to a share of each lane, and to a number of
// deliveries that are read and verified at once.
const (
	// smallBodyBytes is the size up to which a body goes into the lane of small ones.
	// A push of a hundred commits is about 200 kB.
	smallBodyBytes = 1 << 20
	// smallShare is the part of MaxInFlightBytes that the small lane has besides,
	// addressShare the part of a lane that one address may have.
	smallShare   = 4
	addressShare = 4
	// maxUnverified bounds the deliveries of one address that are read and verified at
	// once in a lane.
	maxUnverified = 16
)

// lane bounds the bytes of bodies, and what each address has of them.
type bodyBudget struct {
	total, share int64
	mu           struct {
		sync.Mutex
		used      int64
		addresses map[string]*sender // that have something in the lane
		// freed is closed, and replaced, when something leaves.
		freed chan struct{}
	}
}

// sender is what one address has in a lane.
type sender struct {
	bytes      int64
	deliveries int
	unverified int
}

// newBodyBudget returns a lane of total bytes, of which one address may use a part, but
// at least one body of largest bytes.
func newBodyBudget(total, largest int64) *bodyBudget {
	l := &bodyBudget{total: total, share: max(total/addressShare, largest)}
	l.mu.addresses = make(map[string]*sender)
	l.mu.freed = make(chan struct{})
	return l
}

// place is what a delivery has in a lane.
type reservation struct {
	budget   *bodyBudget
	address  string
	bytes    int64
	verified bool
}

// reserveBytes waits until there is room for so many bytes of an address.
func (l *bodyBudget) reserveBytes(ctx context.Context, address string, bytes int64) (*reservation, error) {
	for {
		p, freed := l.tryReserve(address, bytes)
		if p != nil {
			return p, nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: too many deliveries at once", errUnavailable)
		}
	}
}

// tryReserve returns what to wait for if there is no room.
func (l *bodyBudget) tryReserve(address string, bytes int64) (*reservation, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var has sender
	if s := l.mu.addresses[address]; s != nil {
		has = *s
	}
	if l.mu.used+bytes > l.total || has.bytes+bytes > l.share || has.unverified >= maxUnverified {
		return nil, l.mu.freed
	}
	l.mu.used += bytes
	l.mu.addresses[address] = &sender{has.bytes + bytes, has.deliveries + 1, has.unverified + 1}
	return &reservation{budget: l, address: address, bytes: bytes}, nil
}

// markVerified says that the delivery does not count as unverified any more: its sender is
// known, and it is about to wait for the log.
func (p *reservation) markVerified() {
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	p.verifyLocked()
	p.budget.freeLocked()
}

func (p *reservation) verifyLocked() {
	if !p.verified {
		p.verified = true
		p.budget.mu.addresses[p.address].unverified--
	}
}

// releaseBytes gives the place up.
func (p *reservation) releaseBytes() {
	l := p.budget
	l.mu.Lock()
	defer l.mu.Unlock()
	p.verifyLocked()
	l.mu.used -= p.bytes
	s := l.mu.addresses[p.address]
	s.bytes -= p.bytes
	if s.deliveries--; s.deliveries == 0 {
		delete(l.mu.addresses, p.address)
	}
	l.freeLocked()
}

func (l *bodyBudget) freeLocked() {
	close(l.mu.freed)
	l.mu.freed = make(chan struct{})
}

// addressOf returns the sender's address without its port.
func addressOf(remote string) string {
	if host, _, err := net.SplitHostPort(remote); err == nil {
		return host
	}
	return remote
}

// parseClient returns the sender's address; the zero value if remote has none.
func parseClient(remote string) netip.Addr {
	a, _ := netip.ParseAddr(addressOf(remote))
	return a.Unmap().WithZone("")
}
