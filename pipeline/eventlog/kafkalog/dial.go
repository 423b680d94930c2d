package kafkalog

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// connections dials and tracks open connections: the client library keeps a connection
// open until its request is answered, and Close must not wait for that.
type connections struct {
	dialer net.Dialer
	wrap   func(net.Conn) net.Conn // nil changes nothing
	mu     struct {
		sync.Mutex
		open   map[net.Conn]struct{}
		closed bool
	}
}

// connectTimeout bounds the wait for one address, so that an unreachable machine leaves
// time for the next address within Options.DialTimeout.
const connectTimeout = time.Second

func newConnections(opts Options) *connections {
	c := &connections{dialer: net.Dialer{Timeout: min(opts.DialTimeout, connectTimeout)}, wrap: opts.wrap}
	c.mu.open = make(map[net.Conn]struct{})
	return c
}

// dialContext has the signature that the client library requires.
func (c *connections) dialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := c.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if c.wrap != nil {
		conn = c.wrap(conn)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.closed {
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	c.mu.open[conn] = struct{}{}
	return &trackedConn{Conn: conn, owner: c}, nil
}

// closeAll closes every connection, and refuses new ones.
func (c *connections) closeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.closed = true
	for conn := range c.mu.open {
		// Nothing is lost: all appends have been acknowledged or have failed.
		_ = conn.Close()
	}
}

type trackedConn struct {
	net.Conn
	owner *connections
}

// Close implements net.Conn.
func (t *trackedConn) Close() error {
	t.owner.mu.Lock()
	delete(t.owner.mu.open, t.Conn)
	t.owner.mu.Unlock()
	return t.Conn.Close()
}
