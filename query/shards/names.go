package shards

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/schemas/clock"
)

const (
	// resolveEvery is the interval at which the names of peers are resolved, and resolveTimeout
	// bounds one resolution.
	resolveEvery   = 10 * time.Second
	resolveTimeout = 5 * time.Second
)

// isName reports whether the host of an address is a name. Each address of a name is a replica,
// as those of a headless service of Kubernetes.
func isName(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false // the dialer returns the error
	}
	_, err = netip.ParseAddr(host)
	return err != nil
}

// chooseFamily returns the IPv4 addresses of a host or, if it has none, those of IPv6. A process
// with addresses of both would count as two replicas, or as one that is lost.
func chooseFamily(addresses []string) []string {
	isV6 := func(a string) bool { return strings.Contains(a, ":") }
	if v4 := slices.DeleteFunc(slices.Clone(addresses), isV6); len(v4) > 0 {
		return v4
	}
	return addresses
}

// LookupPeer returns the addresses of a peer: one for each address of a host that is a name, and
// otherwise its own.
func LookupPeer(ctx context.Context, lookup func(ctx context.Context, host string) ([]string, error), peer string) (addresses []string, err error) {
	if !isName(peer) {
		return []string{peer}, nil
	}
	host, port, _ := net.SplitHostPort(peer) // isName
	hosts, err := lookup(ctx, host)
	if err == nil && len(hosts) == 0 {
		err = errors.New("it has no addresses")
	}
	if err != nil {
		return nil, err
	}
	for _, h := range chooseFamily(hosts) {
		addresses = append(addresses, net.JoinHostPort(h, port))
	}
	return addresses, nil
}

// followName probes the replicas at the addresses of a name until ctx ends. A name that cannot be
// resolved keeps those that it had.
func (f *Front) followName(ctx context.Context, s *share, address string) {
	host, _, _ := net.SplitHostPort(address) // isName
	var probes sync.WaitGroup
	defer probes.Wait()
	known := map[string]context.CancelFunc{} // end the probes of a replica
	failed, crowded := "", false
	for {
		resolveCtx, cancel := context.WithTimeout(ctx, resolveTimeout)
		current, err := LookupPeer(resolveCtx, f.o.Lookup, address)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			failed = ""
			for a, end := range known {
				if !slices.Contains(current, a) {
					f.o.Logger.Info("a replica of a share has gone from its name", "peer", a, "share", s.name, "name", host)
					end()
					delete(known, a)
				}
			}
			full := false
			for _, a := range current {
				if known[a] != nil {
					continue
				}
				p := f.addPeer(s, a, address)
				if p == nil {
					full = true
					continue
				}
				f.o.Logger.Info("a replica of a share has appeared at its name", "peer", a, "share", s.name, "name", host)
				probeCtx, end := context.WithCancel(ctx)
				known[a] = end
				probes.Go(func() {
					f.probePeers(probeCtx, s, p)
					f.removePeer(s, p)
				})
			}
			if full && !crowded {
				f.o.Logger.Warn("addresses of the name of a share are left out: it has them from another name, or too many", "share", s.name,
					"name", host, "max", maxReplicas)
			}
			crowded = full
		} else if reason := err.Error(); reason != failed {
			failed = reason
			f.o.Logger.Warn("the name of a share cannot be resolved; trying again", "share", s.name, "name", host, "error", reason)
		}
		if clock.Sleep(ctx, f.resolveEvery) != nil {
			return
		}
	}
}

// removePeer removes a replica, whose probes have ended. Its sessions move to others.
func (f *Front) removePeer(s *share, p *peer) {
	s.mu.Lock()
	s.replicas = slices.DeleteFunc(slices.Clone(s.replicas), func(other *peer) bool { return other == p })
	if p.state != nil {
		p.lose()
	}
	close(s.probed)
	s.probed = make(chan struct{})
	f.metrics.replicasUp.WithLabelValues(s.name).Set(float64(s.countReachedLocked()))
	s.mu.Unlock()
	f.metrics.removePeer(s.name, p.Address)
}
