package boot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// queueListener accepts the connections of a queue, then ends.
type queueListener struct {
	net.Listener
	queue []net.Conn
}

func (l *queueListener) Accept() (net.Conn, error) {
	if len(l.queue) == 0 {
		return nil, net.ErrClosed
	}
	next := l.queue[0]
	l.queue = l.queue[1:]
	return next, nil
}

// peer is a connection that has only an address.
type peer struct {
	net.Conn
	address string
	closed  bool
}

func (p *peer) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(p.address))
}
func (p *peer) Close() error { p.closed = true; return nil }

// TestConnectionsAreLimited checks which connections are refused, and that closed ones
// make room.
func TestConnectionsAreLimited(t *testing.T) {
	registry := prometheus.NewRegistry()
	c := NewConnections(ConnectionLimits{All: 6, EachAddress: 2, Exempt: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}, registry)
	var open []net.Conn
	accept := func(addresses ...string) (accepted []string) {
		t.Helper()
		l := &queueListener{}
		for _, a := range addresses {
			l.queue = append(l.queue, &peer{address: a})
		}
		given := slices.Clone(l.queue)
		for wrapped := c.WrapListener(l); ; {
			conn, err := wrapped.Accept()
			if errors.Is(err, net.ErrClosed) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, conn)
			accepted = append(accepted, conn.RemoteAddr().String())
		}
		for _, conn := range given {
			if p := conn.(*peer); p.closed == slices.Contains(accepted, p.address) {
				t.Errorf("%s: closed %t, accepted %q", p.address, p.closed, accepted)
			}
		}
		return accepted
	}
	check := func(got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("accepted %q, want %q", got, want)
		}
	}
	check(accept("192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3", "[::ffff:192.0.2.1]:4", "192.0.2.2:5"), "192.0.2.1:1", "192.0.2.1:2", "192.0.2.2:5")
	check(accept("[2001:db8::1]:1", "[2001:db8::2]:2", "[2001:db8::3]:3"), "[2001:db8::1]:1", "[2001:db8::2]:2")
	check(accept("10.0.0.1:1", "10.0.0.1:2"), "10.0.0.1:1") // the last of six
	if n := testutil.ToFloat64(c.refused.WithLabelValues("address")); n != 3 {
		t.Errorf("%v refused for their address, want 3", n)
	}
	if n := testutil.ToFloat64(c.refused.WithLabelValues("all")); n != 1 {
		t.Errorf("%v refused for all, want 1", n)
	}
	for _, conn := range open {
		for range 2 { // the second Close counts nothing
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if n := c.openCount(); n != 0 || len(c.mu.byAddress) != 0 {
		t.Errorf("%d connections are counted after all were closed, and %v", n, c.mu.byAddress)
	}
	check(accept("10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3"), "10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3") // a proxy has many clients
}

// TestCrowdedConnectionsEnd checks that connections are closed after their response
// while three quarters of a limit are in use.
func TestCrowdedConnectionsEnd(t *testing.T) {
	c := NewConnections(ConnectionLimits{All: 100, EachAddress: 4}, prometheus.NewRegistry())
	h := c.CloseWhenCrowded(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {}))
	for n := range 5 {
		r, w := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
		r.RemoteAddr = "192.0.2.1:1"
		h.ServeHTTP(w, r)
		if closes := w.Header().Get("Connection") == "close"; closes != (n > 3) {
			t.Errorf("with %d of 4 connections: closes %t", n, closes)
		}
		c.enter("192.0.2.1")
	}
}

// TestRefusedConnectionsMakeRoom checks the limit on sockets: a connection is accepted
// again once another one has ended.
func TestRefusedConnectionsMakeRoom(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := NewConnections(ConnectionLimits{EachAddress: 1}, prometheus.NewRegistry())
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	h := NewHTTP(c.WrapListener(listener), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") }), discardLogger())
	go func() { served <- h.Run(ctx) }()
	first, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprint(first, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(first, make([]byte, 12)); err != nil {
		t.Fatal(err)
	}
	second, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := second.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Errorf("a connection beyond the limit: %d, %v; want its end", n, err)
	}
	_ = first.Close()
	for ok := false; !ok; { // until the server has noticed
		response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(httptest.NewRequest(http.MethodGet, "http://"+listener.Addr().String(), nil))
		if ok = err == nil && response.StatusCode == http.StatusOK; err == nil {
			_ = response.Body.Close()
		}
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
