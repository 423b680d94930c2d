package rpc

import (
	"net"
	"slices"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/query/corpus"
)

const (
	// maxKept bounds the connections of a Pool, each of which takes a slot of the shard, and
	// maxPoolBytes the sum of their largest messages: both sides keep the buffers of messages and
	// those of package gob, and a connection the list of repositories.
	maxKept      = 8
	maxPoolBytes = 32 << 20
	// maxConnectionAge bounds the time for which a connection gets new sessions, so that renewed
	// certificates and new addresses are used.
	maxConnectionAge = time.Minute
	// endTimeout bounds the time to send the end of a session.
	endTimeout = time.Second
)

// connection is a connection to a shard, which has one session at a time.
type connection struct {
	stream   net.Conn
	codec    *codec
	reusable bool // the shard accepts more sessions
	opened   time.Time
	list     []*corpus.Repository // of the last session
}

// Pool keeps connections to one shard whose session has ended. A new connection costs a handshake,
// and the descriptions of all types of the messages, which both sides send and compile: more than
// most searches. A nil Pool keeps none.
type Pool struct {
	mu     sync.Mutex
	kept   []*connection
	closed bool
}

// keep ends the session of a connection and keeps it, or reports that it did not.
func (p *Pool) keep(c *connection) bool {
	if p == nil || !c.reusable || time.Since(c.opened) > maxConnectionAge {
		return false
	}
	if c.stream.SetDeadline(time.Now().Add(endTimeout)) != nil || c.codec.sendMessage(&call{Ended: true}) != nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	held := c.codec.largest
	for _, k := range p.kept {
		held += k.codec.largest
	}
	if len(p.kept) == maxKept || held > maxPoolBytes || p.closed {
		return false
	}
	p.kept = append(p.kept, c)
	return true
}

// take returns the connection that was kept last, or nil. It is no longer kept.
func (p *Pool) take() *connection {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.kept) == 0 {
		return nil
	}
	c := p.kept[len(p.kept)-1]
	p.kept = p.kept[:len(p.kept)-1]
	return c
}

// CloseOld closes the kept connections that are too old.
func (p *Pool) CloseOld() { p.closeKept(maxConnectionAge) }

// CloseKept closes the kept connections.
func (p *Pool) CloseKept() { p.closeKept(-1) }

// Close closes the kept connections, and keeps none any more.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.CloseKept()
}

// closeKept closes the kept connections that are older than some time.
func (p *Pool) closeKept(age time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = slices.DeleteFunc(p.kept, func(c *connection) bool {
		old := time.Since(c.opened) > age
		if old {
			_ = c.stream.Close() // it has no session
		}
		return old
	})
}
