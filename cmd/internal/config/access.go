package config

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/schemas/network"
)

// anyValue stands for all values in lists of access.
const anyValue = "*"

// These are bounds on times in access.
const (
	minSession    = time.Minute
	maxInvitation = 90 * 24 * time.Hour
)

func (c *Config) validateAccess(report reporter) {
	if c.Access.SessionTTL.Std() < minSession {
		report("access.sessionTtl", "%s is too short: at least %s", c.Access.SessionTTL.Std(), minSession)
	}
	if ttl := c.Access.InvitationTTL.Std(); ttl < minSession || ttl > maxInvitation {
		report("access.invitationTtl", "%s: want %s to %s", ttl, minSession, maxInvitation)
	}
	checkAddresses("access.trustedProxies", c.Access.TrustedProxies, report)
	for _, origin := range c.Access.AllowedOrigins {
		u, err := url.Parse(origin)
		if origin != anyValue && (err != nil || u.Scheme+"://"+u.Host != origin || u.Host == "" || u.User != nil) {
			report("access.allowedOrigins", "%q is no origin: want scheme and host alone, such as https://tools.example, or *", origin)
		}
	}
	for _, host := range c.Access.Hosts {
		if host == "" || len(host) > 255 {
			report("access.hosts", "%.80q is no name", host)
		}
	}
}

func (c *Config) validateLimits(report reporter) {
	for _, l := range []struct {
		path         string
		value, least int
	}{
		{"limits.perSecond", c.Limits.PerSecond, 0}, {"limits.burst", c.Limits.Burst, 1},
		{"limits.anonymousPerSecond", c.Limits.AnonymousPerSecond, 0}, {"limits.anonymousBurst", c.Limits.AnonymousBurst, 1},
		{"limits.streams", c.Limits.Streams, 0},
		{"limits.connections", c.Limits.Connections, 0}, {"limits.connectionsPerAddress", c.Limits.ConnectionsPerAddress, 0},
	} {
		if l.value < l.least || l.value > 1_000_000 {
			report(l.path, "%d: want %d to 1000000", l.value, l.least)
		}
	}
}

func checkAddresses(path string, addresses []string, report reporter) {
	for _, text := range addresses {
		if _, err := parseNetwork(text); err != nil {
			report(path, "%q is no address or network: want 10.0.0.5 or 10.0.0.0/8", text)
		}
	}
}

// parseNetwork takes an address for the network of it alone.
func parseNetwork(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), nil
	}
	return netip.ParsePrefix(text)
}

// Proxies returns the networks of trusted proxies. The settings are valid.
func (c *Config) Proxies() []netip.Prefix { return parseNetworks(c.Access.TrustedProxies) }

// parseNetworks returns the networks of a list that is valid.
func parseNetworks(list []string) (out []netip.Prefix) {
	for _, text := range list {
		if p, err := parseNetwork(text); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// Hosts returns the host names that the API accepts, or nil if they are not checked.
func (c *Config) Hosts() []string {
	if slices.Contains(c.Access.Hosts, anyValue) || !c.Loopback() && c.PublicURL == "" {
		return nil
	}
	hosts := append([]string{"localhost"}, c.Access.Hosts...)
	if host, _, err := net.SplitHostPort(c.Listen); err == nil && host != "" {
		hosts = append(hosts, host)
	}
	if u, err := url.Parse(c.PublicURL); err == nil && u.Host != "" {
		hosts = append(hosts, u.Host)
	}
	return hosts
}

// AnonymousAllowed reports whether requests without a credential may read public
// repositories. With "auto" they may if only this machine can reach the server. A
// publicUrl with another host name means that a proxy forwards to the loopback address.
func (c *Config) AnonymousAllowed() bool {
	return c.Access.Anonymous == "on" || c.Access.Anonymous == "auto" && c.Loopback() && c.publicOnLoopback()
}

// Scheme returns the scheme of the main listener, with "://".
func (c *Config) Scheme() string {
	if c.TLS.CertFile != "" {
		return "https://"
	}
	return "http://"
}

// Loopback reports whether only this machine can reach the API's address.
func (c *Config) Loopback() bool {
	host, _, err := net.SplitHostPort(c.Listen)
	return err == nil && network.IsLoopback(host)
}

// publicOnLoopback reports whether publicUrl, if set, leads to this machine.
func (c *Config) publicOnLoopback() bool {
	if c.PublicURL == "" {
		return true
	}
	u, err := url.Parse(c.PublicURL)
	return err == nil && network.IsLoopback(u.Hostname())
}
