package netguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/failure"
)

// Errors of this package, with the codes that callers receive.
var (
	// ErrRefused means that a host has an address that may not be reached.
	ErrRefused = failure.New(failure.Refused, "address is refused")
	// ErrUnreachable means that a host has no address, or that none of them responds.
	ErrUnreachable = failure.New(failure.Unreachable, "host cannot be reached")
)

// Guard decides which addresses may be reached. The zero value allows addresses of the
// public Internet.
type Guard struct {
	// Allow are networks outside the public Internet that may be reached.
	Allow []netip.Prefix
	// Deny are networks that may not be reached, even if they are public or allowed.
	Deny []netip.Prefix
	// Trust reports whether the operator configured this host and port, both in lower
	// case. Such a host may have an address on a private network, but not a loopback or
	// link-local one. nil trusts none.
	Trust func(host, port string) bool
	// Resolve finds the addresses of a name. Default: net.DefaultResolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
}

// Bounds of a connection attempt.
const (
	// maxAddresses bounds the addresses of a name that are tried.
	maxAddresses = 16
	// dialTimeout bounds the attempt at one address.
	dialTimeout = 10 * time.Second
)

// Lookup resolves a host and checks its addresses. Errors wrap ErrRefused or
// ErrUnreachable.
func (g Guard) Lookup(ctx context.Context, host, port string) ([]netip.Addr, error) {
	addrs, err := g.resolveHost(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("%w: %s has no address", ErrUnreachable, host)
	}
	trusted := g.Trust != nil && g.Trust(strings.ToLower(host), port)
	checked := make([]netip.Addr, len(addrs))
	for i, a := range addrs {
		checked[i] = a.Unmap().WithZone("")
		if err := g.checkAddress(checked[i], trusted); err != nil {
			name := checked[i].String()
			if host != name {
				name = host + " is " + name
			}
			return nil, fmt.Errorf("%w: %s, %w", ErrRefused, name, err)
		}
	}
	return checked[:min(len(checked), maxAddresses)], nil
}

func (g Guard) resolveHost(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return []netip.Addr{a}, nil
	}
	if g.Resolve != nil {
		return g.Resolve(ctx, host)
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// Reasons why an address is refused. The texts name the setting that allows it.
var (
	errDenied    = errors.New("which git.deniedNetworks denies")
	errNotPublic = errors.New("an address outside the public Internet; allow its network with git.allowedNetworks")
)

// checkAddress returns an error if an address may not be reached.
func (g Guard) checkAddress(a netip.Addr, trusted bool) error {
	inner, embeds := embeddedIPv4(a)
	if containsAddress(g.Deny, a) || embeds && containsAddress(g.Deny, inner) {
		return errDenied
	}
	if isPublic(a) || containsAddress(g.Allow, a) || trusted && isPrivate(a) {
		return nil
	}
	return errNotPublic
}

// DialContext connects to a checked address of host:port. It has the signature that
// http.Transport expects. Errors wrap ErrRefused or ErrUnreachable.
func (g Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %.80q is no host:port", ErrRefused, address)
	}
	addrs, err := g.Lookup(ctx, host, port)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	var failed []error
	for _, a := range addrs {
		conn, err := dialer.DialContext(ctx, network, net.JoinHostPort(a.String(), port))
		if err == nil {
			return conn, nil
		}
		failed = append(failed, err)
	}
	return nil, fmt.Errorf("%w: %w", ErrUnreachable, errors.Join(failed...))
}

func containsAddress(networks []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(a) })
}
