package netguard

import "net/netip"

// MetadataNetworks are the addresses at which clouds, and their agents, provide a
// machine's credentials to every process on it. No code host is there.
var MetadataNetworks = []netip.Prefix{
	netip.MustParsePrefix("169.254.169.254/32"), // AWS, Azure, Google, OpenStack, …
	netip.MustParsePrefix("169.254.170.2/32"),   // AWS: credentials of a container
	netip.MustParsePrefix("169.254.170.23/32"),  // AWS: credentials of a pod
	netip.MustParsePrefix("fd00:ec2::/32"),      // AWS by IPv6
	netip.MustParsePrefix("fd20:ce::254/128"),   // Google by IPv6
	netip.MustParsePrefix("100.100.100.200/32"), // Alibaba
	netip.MustParsePrefix("192.0.0.192/32"),     // Oracle
	netip.MustParsePrefix("168.63.129.16/32"),   // Azure: the host of the virtual machine
}

// specialPrefixes are the blocks of the IANA registries of special-purpose addresses that
// netip has no predicate for. IPv6 blocks that embed an IPv4 address are refused
// entirely, because no code host uses them.
var specialPrefixes = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	sharedAddresses,
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	compatibleIPv4,
	nat64,
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/23"),
	netip.MustParsePrefix("2001:db8::/32"),
	sixToFour,
}

var (
	// sharedAddresses are the addresses between a provider and its customers. Overlay
	// networks of companies use them as private addresses.
	sharedAddresses = netip.MustParsePrefix("100.64.0.0/10")
	compatibleIPv4  = netip.MustParsePrefix("::/96")
	nat64           = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour       = netip.MustParsePrefix("2002::/16")
)

// isPublic reports whether a is an ordinary address of the public Internet.
func isPublic(a netip.Addr) bool {
	return a.IsGlobalUnicast() && !a.IsPrivate() && !containsAddress(specialPrefixes, a)
}

// isPrivate reports whether a is an address of an organization's own network.
func isPrivate(a netip.Addr) bool { return a.IsPrivate() || sharedAddresses.Contains(a) }

// embeddedIPv4 returns the IPv4 address that a translator or tunnel maps a to.
func embeddedIPv4(a netip.Addr) (netip.Addr, bool) {
	b := a.As16()
	switch {
	case !a.Is6():
		return netip.Addr{}, false
	case compatibleIPv4.Contains(a), nat64.Contains(a):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case sixToFour.Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return netip.Addr{}, false
}
