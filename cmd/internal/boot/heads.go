package boot

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

const (
	// maxHeads bounds the bytes of all incomplete request headers. Without it, a client
	// that opens thousands of connections and sends a megabyte on each could hold that
	// memory for readHeaderTimeout.
	maxHeads = 64 << 20
	// freeHead is the number of header bytes that each connection may always send. The
	// headers of ordinary requests are smaller, so that the bound does not affect them.
	freeHead = 16 << 10
)

// errHeads ends a connection whose headers exceed the budget.
var errHeads = errors.New("too many bytes of heads of requests at once")

// headerBudget counts the bytes of incomplete headers. The zero value with maxBytes set
// is ready to use.
type headerBudget struct {
	maxBytes  int64
	heldBytes atomic.Int64
}

type headListener struct {
	net.Listener
	heads *headerBudget
}

// Accept implements net.Listener.
func (l headListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &headConn{Conn: c, heads: l.heads}, nil
}

// headConn is a connection that knows whether a header is incomplete.
type headConn struct {
	net.Conn
	heads *headerBudget
	mu    struct {
		sync.Mutex
		whole bool // the header is complete: the following bytes are the body
		held  int64
	}
}

// Read implements net.Conn.
func (c *headConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.whole {
		return n, err
	}
	c.mu.held += int64(n)
	if c.heads.heldBytes.Add(int64(n)) > c.heads.maxBytes && c.mu.held > freeHead {
		return 0, errHeads
	}
	return n, err
}

// setWhole sets whether the header is complete. A complete header is no longer counted.
func (c *headConn) setWhole(whole bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.whole = whole
	c.heads.heldBytes.Add(-c.mu.held)
	c.mu.held = 0
}

// Close implements net.Conn.
func (c *headConn) Close() error {
	c.setWhole(true)
	return c.Conn.Close()
}

// CloseWrite lets net/http signal the end of a response before it closes the connection.
func (c *headConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

type headConnKey struct{}

// instrumentServer makes server notify connections when a header is complete, and when
// the next one begins.
func (h *headerBudget) instrumentServer(server *http.Server) {
	next := server.Handler
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, headConnKey{}, c)
	}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(headConnKey{}).(*headConn); ok {
			c.setWhole(true)
		}
		next.ServeHTTP(w, r)
	})
	server.ConnState = func(c net.Conn, state http.ConnState) {
		if c, ok := c.(*headConn); ok && state == http.StateIdle {
			c.setWhole(false)
		}
	}
}
