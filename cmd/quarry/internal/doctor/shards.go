package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
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
	"github.com/quarrysearch/quarry/schemas/event"
)

// reachTimeout bounds the handshake with a process.
const reachTimeout = 2 * time.Second

// checkShards reports, for a front, shares that form no whole, shares without a replica or with
// only one, and replicas that decide otherwise than others what callers see. It makes the handshake
// of a front with each replica.
func checkShards(ctx context.Context, x *Examination, r *report) {
	if len(x.Config.Shard.Peers) == 0 {
		return
	}
	peers, err := shards.ParsePeers(x.Config.Shard.Peers)
	if err != nil {
		r.addProblem("see docs/sharding.md", "shard.peers: %v", err)
		return
	}
	n, err := x.countPartitions(ctx)
	if err != nil {
		r.addWarning("mend the log first", "no shard is asked: the number of partitions of the log is unknown: %v", err)
		return
	}
	if err := shards.CheckPeers(peers, n); err != nil {
		r.addProblem("see docs/sharding.md: the front does not start", "shard.peers: %v", err)
		return
	}
	newPeer, ok := x.newPeers(r, "shard.peers")
	if !ok {
		return
	}
	var names []string
	addresses, owned := map[string][]string{}, map[string][]int32{}
	for _, p := range peers {
		name := p.Share.String()
		partitions, _ := p.Share.Partitions(n) // CheckPeers has returned the error
		if i := slices.IndexFunc(names, func(known string) bool { return slices.Equal(owned[known], partitions) }); i >= 0 {
			name = names[i] // the same share, which may be written in another way
		} else {
			names = append(names, name)
			owned[name] = partitions
		}
		addresses[name] = append(addresses[name], p.Address)
	}
	var mu sync.Mutex
	settings, versions := map[string][]string{}, map[string][]string{} // addresses by digest and version
	for _, name := range names {
		all, reached, failure := reachPeers(ctx, addresses[name], func(ctx context.Context, address, host string) error {
			p := newPeer(address, host)
			p.Owned = owned[name]
			state, err := p.ReadState(ctx)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if state.Settings != "" {
				settings[state.Settings] = append(settings[state.Settings], address)
			}
			versions[state.Program] = append(versions[state.Program], address)
			return nil
		})
		reportReplicas(r, name, all, reached, failure)
	}
	for _, addresses := range slices.Concat(slices.Collect(maps.Values(settings)), slices.Collect(maps.Values(versions))) {
		slices.Sort(addresses) // they are in the order of the answers
	}
	own, err := x.Config.Access.Secret.Value()
	if err == nil && len(settings) > 0 && settings[x.Probes.Visibility(x.Config, own)] == nil {
		r.addProblem("give this front the same access.defaultVisibility, connections and query.contexts as its shards",
			"no shard that answers has the settings of this front that decide what callers see, so the front uses none")
	}
	if len(settings) > 1 {
		r.addProblem("give all shards and fronts the same access.defaultVisibility, connections and query.contexts",
			"shards decide differently what callers see, and a front uses only those with its own settings: %v", slices.SortedFunc(maps.Values(settings), slices.Compare))
	}
	for _, version := range slices.Sorted(maps.Keys(versions)) {
		if version != x.Probes.Version {
			r.addWarning("update all processes", "shards run version %s, and this program is version %s: %v", version, x.Probes.Version, versions[version])
		}
	}
}

// reportReplicas reports the replicas of a share.
func reportReplicas(r *report, name string, all, reached int, failure error) {
	switch {
	case reached == 0:
		r.addProblem("start a process with this shard.share, and check the network, shard.peers, peerTls, and that access.secret is the same in all processes",
			"no replica of the share %s answers, so answers lack its repositories: %v", name, failure)
	case reached < all:
		r.addWarning("start the replica or remove it from shard.peers, and check its log, the network and that access.secret is the same in all processes",
			"%d of %d replicas of the share %s answer: %v", reached, all, name, failure)
	case all == 1:
		r.addWarning("start another process with this shard.share, and add it to shard.peers",
			"the share %s has one replica: while it is away, answers lack its repositories", name)
	default:
		r.addOK("%d replicas of the share %s answer", all, name)
	}
}

// countPartitions returns the number of partitions of the events.
func (x *Examination) countPartitions(ctx context.Context) (int32, error) {
	reports, err := x.Probes.Topics(ctx)
	if err != nil {
		return 0, err
	}
	for _, topic := range reports {
		if topic.Topic == event.TopicEvents && topic.Exists {
			return int32(len(topic.Partitions)), nil
		}
	}
	return 0, fmt.Errorf("the topic %s does not exist", event.TopicEvents)
}

// newPeers returns a function that returns the process at an address, of a host in a setting, with
// the secret and the certificates of the settings. If they cannot be read, it reports that.
func (x *Examination) newPeers(r *report, setting string) (newPeer func(address, host string) *rpc.Peer, ok bool) {
	c := x.Config
	secret, err := c.Access.Secret.Value()
	if err != nil {
		r.addProblem("correct access.secret", "%s: access.secret: %v", setting, err)
		return nil, false
	}
	connections, err := boot.ReadPeerTLS(boot.PeerTLSOptions{
		CertFile: c.PeerTLS.CertFile, KeyFile: c.PeerTLS.KeyFile, CAFile: c.PeerTLS.CAFile, Logger: slog.New(slog.DiscardHandler),
		Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		r.addProblem("correct the files of peerTls", "%s: peerTls: %v", setting, err)
		return nil, false
	}
	return func(address, host string) *rpc.Peer {
		return &rpc.Peer{Address: address, Secret: secrets.Master(secret).DerivePeerSecret(), TLS: func() *tls.Config { return connections.ClientConfig(host) }}
	}, true
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
	newPeer, ok := x.newPeers(r, "git.peers")
	if !ok {
		return
	}
	const remedy = "check git.listen of the processes with the role pipeline, the network, git.peers, peerTls, and that access.secret is the same in all processes"
	shake := func(ctx context.Context, address, host string) error { return newPeer(address, host).CheckGit(ctx) }
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
