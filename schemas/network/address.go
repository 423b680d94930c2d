package network

import (
	"net/netip"
	"strings"
)

// IsLoopback reports whether a host, in brackets or not, is a loopback address or
// "localhost".
func IsLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && a.Unmap().IsLoopback()
}

// ClientNetwork returns the part of an address that identifies one client: all of an IPv4
// address, the first 64 bits of an IPv6 address. It returns text that is not an address
// unchanged.
func ClientNetwork(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	if a = a.Unmap().WithZone(""); a.Is6() {
		p, _ := a.Prefix(64) // cannot fail: IPv6 has at least 64 bits
		return p.String()
	}
	return a.String()
}
