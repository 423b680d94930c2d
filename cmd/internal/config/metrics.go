package config

import (
	"net"
	"net/url"
	"slices"
	"strconv"

	"github.com/quarrysearch/quarry/schemas/network"
)

// These values of metricsListen are not addresses.
const (
	// MetricsAuto is a loopback address, at the port after that of listen.
	MetricsAuto = "auto"
	// MetricsMain is the main listener.
	MetricsMain = "main"
	// MetricsNone means that metrics are not served.
	MetricsNone = "none"
)

// metricsWords lists these values in errors.
const metricsWords = MetricsAuto + ", " + MetricsMain + " or " + MetricsNone

// defaultLoopback is the address of the operators' listener if that of listen is not a
// loopback address.
const defaultLoopback = "127.0.0.1"

// MetricsAddress returns the address of the operators' listener for a main listener that
// is bound at a port; an empty address means that there is none. derived reports that the
// operator has not chosen the address. If listen lets the system choose a port, so does
// the derived address.
func (c *Config) MetricsAddress(mainPort int) (address string, derived bool) {
	switch c.MetricsListen {
	case MetricsMain, MetricsNone:
		return "", false
	case MetricsAuto:
	default:
		return c.MetricsListen, false
	}
	host, port, _ := net.SplitHostPort(c.Listen) // validated
	if !network.IsLoopback(host) {
		host = defaultLoopback
	}
	next := mainPort + 1
	if port == "" || port == "0" || next > 1<<16-1 {
		next = 0
	}
	return net.JoinHostPort(host, strconv.Itoa(next)), true
}

// MetricsLoopback reports whether only this machine can reach the metrics, if they are
// served.
func (c *Config) MetricsLoopback() bool {
	switch c.MetricsListen {
	case MetricsAuto, MetricsNone:
		return true
	case MetricsMain:
		return c.Loopback() && c.publicOnLoopback()
	}
	host, _, err := net.SplitHostPort(c.MetricsListen)
	return err == nil && network.IsLoopback(host)
}

// MetricsHosts returns the host names that metrics are served for, in addition to IP
// addresses and names without a dot, or nil if names are not checked. Names are checked
// even if listen is not a loopback address: the metrics may be on one.
func (c *Config) MetricsHosts() []string {
	if c.MetricsListen == MetricsMain {
		return c.Hosts()
	}
	if slices.Contains(c.Access.Hosts, anyValue) {
		return nil
	}
	hosts := append([]string{"localhost"}, c.Access.Hosts...)
	if host, _, err := net.SplitHostPort(c.MetricsListen); err == nil && host != "" {
		hosts = append(hosts, host)
	}
	if u, err := url.Parse(c.PublicURL); err == nil && u.Host != "" {
		hosts = append(hosts, u.Host)
	}
	return hosts
}
