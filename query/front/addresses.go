package front

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// ClientAddresses lets next see the address of the client, as RemoteAddr with port
// 0, where a request comes through one of the trusted proxies. Of the addresses
// that proxies have added, the right-most that is none of theirs is the client's:
// any client can have written the ones left of it. Without proxies it is next
// itself, and headers mean nothing.
//
// A proxy has to set X-Forwarded-For or Forwarded and to take away the other. If
// both are there and name different clients, one of them is the client's own
// invention: then the proxy's address stays.
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

// maxHops bounds how many addresses of a request are looked at.
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

// rightmostClient returns the first hop from the right that is no proxy; the last proxy
// before what cannot be read.
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

// forwardedFor returns the parameter for of each element of Forwarded (RFC 7239);
// an element without one is a hop that cannot be read.
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

// parseHop reads an address with or without port, in brackets or not.
func parseHop(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	a, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return a.Unmap().WithZone(""), err == nil
}
