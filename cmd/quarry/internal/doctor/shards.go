package doctor

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/config"
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
		all, reached, failure := reachReplicas(ctx, addresses[name])
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
	const remedy = "check git.listen of the processes with the role pipeline, the network and git.peers"
	switch all, reached, failure := reachReplicas(ctx, c.Git.Peers); {
	case reached == 0:
		r.addProblem(remedy, "no process with mirrors is reached, so history, blame and differences are unavailable: %v", failure)
	case reached < all:
		r.addWarning(remedy, "%d of %d processes with mirrors are reached: %v", reached, all, failure)
	default:
		r.addOK("%d processes with mirrors are reached", all)
	}
}

// reachReplicas connects to the replicas at some addresses, of which a host name may have several,
// and returns their number and that of those that are reached.
func reachReplicas(ctx context.Context, addresses []string) (all, reached int, failure error) {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	var mu sync.Mutex
	var dials sync.WaitGroup
	dial := func(address string) {
		dials.Go(func() {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			mu.Lock()
			defer mu.Unlock()
			if all++; err != nil {
				failure = errors.Join(failure, err)
				return
			}
			reached++
			_ = conn.Close() // nothing was sent
		})
	}
	for _, address := range addresses {
		found, err := shards.LookupPeer(ctx, net.DefaultResolver.LookupHost, address)
		if err != nil {
			found = []string{address} // dialing it returns the error
		}
		for _, a := range found {
			dial(a)
		}
	}
	dials.Wait()
	return all, reached, failure
}
