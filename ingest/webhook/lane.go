package webhook

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
)

// Bodies draw on two memory budgets, so that small bodies do not wait for large ones. The
// sender of a body is unknown until the whole body has been read and verified. Each
// address is therefore limited to a share of each budget and to a number of deliveries
// that are read and verified concurrently.
const (
	// smallBodyBytes is the size up to which a body uses the budget for small ones. A
	// push of a hundred commits is about 200 kB.
	smallBodyBytes = 1 << 20
	// smallShare divides MaxInFlightBytes into the additional budget for small bodies;
	// addressShare divides a budget into the part that one address may use.
	smallShare   = 4
	addressShare = 4
	// maxUnverified bounds the deliveries of one address that are read and verified
	// concurrently in one budget.
	maxUnverified = 16
)

// bodyBudget bounds the bytes of bodies, in total and per address.
type bodyBudget struct {
	total, share int64
	mu           struct {
		sync.Mutex
		used      int64
		addresses map[string]*sender // those with reservations
		// freed is closed and replaced when a reservation changes or ends.
		freed chan struct{}
	}
}

// sender counts what one address has reserved.
type sender struct {
	bytes      int64
	deliveries int
	unverified int
}

// newBodyBudget returns a budget of total bytes. One address may use a share of it, but
// at least one body of largest bytes.
func newBodyBudget(total, largest int64) *bodyBudget {
	l := &bodyBudget{total: total, share: max(total/addressShare, largest)}
	l.mu.addresses = make(map[string]*sender)
	l.mu.freed = make(chan struct{})
	return l
}

// reservation is the part of a budget that a delivery holds.
type reservation struct {
	budget   *bodyBudget
	address  string
	bytes    int64
	verified bool
}

// reserveBytes waits until there is room for the given bytes of an address.
func (l *bodyBudget) reserveBytes(ctx context.Context, address string, bytes int64) (*reservation, error) {
	for {
		p, freed := l.tryReserve(address, bytes)
		if p != nil {
			return p, nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: too many concurrent deliveries", errUnavailable)
		}
	}
}

// tryReserve returns a reservation, or a channel to wait on if there is no room.
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

// markVerified stops counting the delivery as unverified: its sender is known, and it is
// about to wait for the log.
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

// releaseBytes returns the bytes to the budget.
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

// parseClient returns the sender's address, or the zero value if remote contains none.
func parseClient(remote string) netip.Addr {
	a, _ := netip.ParseAddr(addressOf(remote))
	return a.Unmap().WithZone("")
}
