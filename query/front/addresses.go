package front

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// ClientAddresses returns a handler that passes requests to next with the client's
// address as RemoteAddr (port 0) if they arrive through a trusted proxy. Among the
// addresses that proxies have added, the client is the right-most one that is not a
// trusted proxy: any client can forge the addresses to the left of it. Without proxies,
// ClientAddresses returns next itself and ignores the headers.
//
// A proxy must set one of X-Forwarded-For and Forwarded and remove the other. If both are
// present and name different clients, the client has forged one of them, so RemoteAddr
// keeps the proxy's address.
func ClientAddresses(proxies []netip.Prefix, next http.Handler) http.Handler {
	if len(proxies) == 0 {
		return next
	}
	t := trustedProxies(proxies)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if client, ok := t.clientAddress(r); ok {
			behind := *r
			behind.RemoteAddr = net.JoinHostPort(client.String(), "0")
			r = &behind
		}
		next.ServeHTTP(w, r)
	})
}

// maxHops bounds how many addresses of a request are checked.
const maxHops = 32

type trustedProxies []netip.Prefix

func (t trustedProxies) containsAddress(a netip.Addr) bool {
	for _, p := range t {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// clientAddress returns the client of a request that came through a proxy.
func (t trustedProxies) clientAddress(r *http.Request) (netip.Addr, bool) {
	peer, ok := parseHop(r.RemoteAddr)
	if !ok || !t.containsAddress(peer) {
		return netip.Addr{}, false
	}
	by := r.Header.Values("X-Forwarded-For")
	standard := r.Header.Values("Forwarded")
	switch {
	case len(by) == 0 && len(standard) == 0:
		return netip.Addr{}, false
	case len(standard) == 0:
		return t.rightmostClient(peer, splitList(by)), true
	case len(by) == 0:
		return t.rightmostClient(peer, forwardedFor(standard)), true
	}
	a, b := t.rightmostClient(peer, splitList(by)), t.rightmostClient(peer, forwardedFor(standard))
	return a, a == b
}

// rightmostClient returns the right-most hop that is not a proxy. At a hop that cannot be
// parsed, it returns the last proxy before it.
func (t trustedProxies) rightmostClient(peer netip.Addr, hops []string) netip.Addr {
	last := peer
	for i := len(hops) - 1; i >= max(0, len(hops)-maxHops); i-- {
		hop, ok := parseHop(hops[i])
		if !ok {
			return last
		}
		if last = hop; !t.containsAddress(hop) {
			return hop
		}
	}
	return last
}

// splitList returns the elements of a list in one header or several.
func splitList(values []string) []string {
	var out []string
	for _, v := range values {
		out = append(out, strings.Split(v, ",")...)
	}
	return out
}

// forwardedFor returns the "for" parameter of each element of Forwarded (RFC 7239). An
// element without one counts as a hop that cannot be parsed.
func forwardedFor(values []string) []string {
	out := splitList(values)
	for i, element := range out {
		out[i] = ""
		for pair := range strings.SplitSeq(element, ";") {
			if name, value, ok := strings.Cut(strings.TrimSpace(pair), "="); ok && strings.EqualFold(name, "for") {
				out[i] = strings.Trim(value, `"`)
			}
		}
	}
	return out
}

// parseHop parses an address with or without a port and brackets.
func parseHop(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	a, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return a.Unmap().WithZone(""), err == nil
}
