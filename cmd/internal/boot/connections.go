package boot

import (
	"net"
	"net/http"
	"net/netip"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/quarrysearch/quarry/schemas/network"
)

// ConnectionLimits bound the open connections of a listener; 0 means no bound.
type ConnectionLimits struct {
	// All bounds the connections of all clients, EachAddress those of one IPv4 address or
	// one IPv6 network of 64 bits.
	All, EachAddress int
	// Exempt are the networks of proxies, whose connections belong to many clients:
	// EachAddress does not apply to them.
	Exempt []netip.Prefix
}

// Connections counts the open connections of a listener, and closes new ones beyond the
// limits. When three quarters of a limit are in use, connections are closed after each
// response, so that clients that only keep them open make room for others.
type Connections struct {
	limits  ConnectionLimits
	refused *prometheus.CounterVec
	mu      struct {
		sync.Mutex
		all       int
		byAddress map[string]int
	}
}

// NewConnections returns the counts of a listener, with their metrics.
func NewConnections(limits ConnectionLimits, reg prometheus.Registerer) *Connections {
	auto := promauto.With(reg)
	c := &Connections{limits: limits, refused: auto.NewCounterVec(prometheus.CounterOpts{
		Name: "quarry_server_refused_connections_total",
		Help: "New connections closed because too many were open, by the limit: limits.connections (all) or limits.connectionsPerAddress (address).",
	}, []string{"limit"})}
	c.mu.byAddress = map[string]int{}
	for _, limit := range []string{limitAll, limitAddress} {
		c.refused.WithLabelValues(limit)
	}
	auto.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "quarry_server_open_connections",
		Help: "Open connections to the main listener.",
	}, func() float64 { return float64(c.openCount()) })
	return c
}

// These are values of the label limit.
const (
	limitAll     = "all"
	limitAddress = "address"
)

func (c *Connections) openCount() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.all
}

// WrapListener counts the connections of l. It closes those beyond the limits and does
// not return them.
func (c *Connections) WrapListener(l net.Listener) net.Listener {
	return countedListener{l, c}
}

// CloseWhenCrowded makes connections end with their response while three quarters of a
// limit are in use.
func (c *Connections) CloseWhenCrowded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.isCrowded(c.keyOf(r.RemoteAddr)) {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// keyOf returns what identifies the client of an address, or an empty string if only the
// limit of all connections applies.
func (c *Connections) keyOf(address string) string {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return ""
	}
	client := a.Addr().Unmap().WithZone("")
	for _, p := range c.limits.Exempt {
		if p.Contains(client) {
			return ""
		}
	}
	return network.ClientNetwork(client.String())
}

func (c *Connections) isCrowded(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	crowded := func(open, limit int) bool { return limit > 0 && 4*open > 3*limit }
	return crowded(c.mu.all, c.limits.All) || key != "" && crowded(c.mu.byAddress[key], c.limits.EachAddress)
}

// enter counts a connection, or returns the limit that it would exceed.
func (c *Connections) enter(key string) (limit string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.limits.All > 0 && c.mu.all >= c.limits.All:
		return limitAll
	case key != "" && c.limits.EachAddress > 0 && c.mu.byAddress[key] >= c.limits.EachAddress:
		return limitAddress
	}
	c.mu.all++
	if key != "" {
		c.mu.byAddress[key]++
	}
	return ""
}

func (c *Connections) leave(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.all--
	if key == "" {
		return
	}
	if c.mu.byAddress[key]--; c.mu.byAddress[key] == 0 {
		delete(c.mu.byAddress, key)
	}
}

type countedListener struct {
	net.Listener
	connections *Connections
}

// Accept implements net.Listener.
func (l countedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		key := l.connections.keyOf(conn.RemoteAddr().String())
		limit := l.connections.enter(key)
		if limit == "" {
			return &countedConn{Conn: conn, leave: sync.OnceFunc(func() { l.connections.leave(key) })}, nil
		}
		l.connections.refused.WithLabelValues(limit).Inc()
		_ = conn.Close() // it has carried nothing
	}
}

// countedConn is a connection that is counted until it is closed.
type countedConn struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	c.leave()
	return c.Conn.Close()
}

// CloseWrite lets net/http signal the end of a response before it closes the connection.
func (c *countedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
