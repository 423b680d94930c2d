package network

import (
	"net/netip"
	"strings"
)

// IsLoopback reports whether a host, in brackets or not, is this machine by its very
// address, or is "localhost".
func IsLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && a.Unmap().IsLoopback()
}

// ClientNetwork returns the part of an address that one client has: all of IPv4, the
// first 64 bits of IPv6. Text that is no address is returned as it is.
func ClientNetwork(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	if a = a.Unmap().WithZone(""); a.Is6() {
		p, _ := a.Prefix(64) // 64 bits fit
		return p.String()
	}
	return a.String()
}
