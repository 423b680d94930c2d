package clocktest

import (
	"context"
	"net"
	"sync"
)

// Listener accepts connections in memory. A bubble of testing/synctest can use them, and
// their deadlines follow its clock; with sockets, a goroutine that reads is not blocked
// as far as the bubble knows. A write waits until it is read.
type Listener struct {
	accepted chan net.Conn
	closed   chan struct{}
	close    sync.Once
}

// NewListener returns a Listener of the bubble that calls it.
func NewListener() *Listener {
	return &Listener{accepted: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. It does not close connections.
func (l *Listener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return loopback }

// loopback is the address of both ends of each connection.
var loopback = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}

// DialContext connects to l, whatever the address. It serves as the function of that name
// of an http.Transport.
func (l *Listener) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.accepted <- connection{far}:
		return connection{near}, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// connection is a connection in memory with addresses like those of a socket.
type connection struct{ net.Conn }

func (connection) LocalAddr() net.Addr  { return loopback }
func (connection) RemoteAddr() net.Addr { return loopback }
