package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/secrets"
	"github.com/quarrysearch/quarry/query/rpc"
	"github.com/quarrysearch/quarry/query/shards"
)

// reachTimeout bounds the connection to the address of a shard.
const reachTimeout = 2 * time.Second

// checkShards reports the shares without a replica, or with only one, of a front.
func checkShards(ctx context.Context, x *Examination, r *report) {
	if len(x.Config.Shard.Peers) == 0 {
		return
	}
	peers, err := shards.ParsePeers(x.Config.Shard.Peers)
	if err != nil {
		r.addProblem("see docs/sharding.md", "shard.peers: %v", err)
		return
	}
	var names []string
	addresses := map[string][]string{}
	for _, p := range peers {
		name := p.Share.String()
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		addresses[name] = append(addresses[name], p.Address)
	}
	for _, name := range names {
		all, reached, failure := reachPeers(ctx, addresses[name], func(ctx context.Context, address, _ string) error {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			if err == nil {
				_ = conn.Close() // nothing was sent
			}
			return err
		})
		switch {
		case reached == 0:
			r.addProblem("start a process with this shard.share, and check the network and shard.peers",
				"no replica of the share %s is reached, so answers lack its repositories: %v", name, failure)
		case reached < all:
			r.addWarning("check the log of the replica, the network and shard.peers", "%d of %d replicas of the share %s are reached: %v",
				reached, all, name, failure)
		case all == 1:
			r.addWarning("start another process with this shard.share, and add it to shard.peers",
				"the share %s has one replica: while it is away, answers lack its repositories", name)
		default:
			r.addOK("%d replicas of the share %s are reached", all, name)
		}
	}
}

// checkGitPeers reports the processes with mirrors that a process without them does not reach.
func checkGitPeers(ctx context.Context, x *Examination, r *report) {
	c := x.Config
	switch {
	case !c.Has(config.RoleQuery) || c.Has(config.RolePipeline):
		return
	case len(c.Git.Peers) == 0:
		r.addWarning("set git.listen of the processes with the role pipeline, and git.peers of this one: see docs/sharding.md",
			"this process has no mirrors and git.peers is empty, so history, blame, differences and revisions that are not indexed are unavailable")
		return
	}
	secret, err := c.Access.Secret.Value()
	if err != nil {
		r.addProblem("correct access.secret", "git.peers: access.secret: %v", err)
		return
	}
	connections, err := boot.ReadPeerTLS(boot.PeerTLSOptions{
		CertFile: c.PeerTLS.CertFile, KeyFile: c.PeerTLS.KeyFile, CAFile: c.PeerTLS.CAFile, Logger: slog.New(slog.DiscardHandler),
		Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		r.addProblem("correct the files of peerTls", "git.peers: peerTls: %v", err)
		return
	}
	const remedy = "check git.listen of the processes with the role pipeline, the network, git.peers, peerTls, and that access.secret is the same in all processes"
	shake := func(ctx context.Context, address, host string) error {
		p := rpc.Peer{Address: address, Secret: secrets.Master(secret).DerivePeerSecret(), TLS: func() *tls.Config { return connections.ClientConfig(host) }}
		return p.CheckGit(ctx)
	}
	switch all, reached, failure := reachPeers(ctx, c.Git.Peers, shake); {
	case reached == 0:
		r.addProblem(remedy, "no process with mirrors is reached, so history, blame and differences are unavailable: %v", failure)
	case reached < all:
		r.addWarning(remedy, "%d of %d processes with mirrors are reached: %v", reached, all, failure)
	default:
		r.addOK("%d processes with mirrors are reached", all)
	}
}

// reachPeers connects to the processes at some addresses, of which a host name may have several,
// and returns their number and that of those that are reached.
func reachPeers(ctx context.Context, peers []string, connect func(ctx context.Context, address, host string) error) (all, reached int, failure error) {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	var mu sync.Mutex
	var dials sync.WaitGroup
	for _, peer := range peers {
		found, err := shards.LookupPeer(ctx, net.DefaultResolver.LookupHost, peer)
		if err != nil {
			found = []string{peer} // dialing it returns the error
		}
		host, _, _ := net.SplitHostPort(peer) // dialing it returns the error
		for _, address := range found {
			dials.Go(func() {
				err := connect(ctx, address, host)
				mu.Lock()
				defer mu.Unlock()
				if all++; err != nil {
					failure = errors.Join(failure, fmt.Errorf("%s: %w", address, err))
					return
				}
				reached++
			})
		}
	}
	dials.Wait()
	return all, reached, failure
}
