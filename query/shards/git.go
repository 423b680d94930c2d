package shards

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/query/rpc"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
)

const (
	// maxGitPeers bounds the addresses of processes with mirrors.
	maxGitPeers = 64
	// lostPeerWait is the time for which a process that did not answer is asked last.
	lostPeerWait = 5 * time.Second
)

// GitOptions configure GitPeers. All are required but Lookup.
type GitOptions struct {
	// Peers are the addresses of processes with mirrors. Each address of a name is one.
	Peers  []string
	Secret []byte
	// TLS is that of FrontOptions.
	TLS func(host string) *tls.Config
	// PartitionOf returns the partition of a repository.
	PartitionOf func(code.RepositoryID) int32
	Logger      *slog.Logger
	Registerer  prometheus.Registerer
	// Lookup returns the addresses of a name. Default: those of the system's resolver.
	Lookup func(ctx context.Context, host string) ([]string, error)
}

// GitPeers asks the processes that have mirrors for git reads: the one that handles the events of
// the repository first. If none does, as after a failure until its partitions have moved, any one
// whose mirror has the commits answers, except about refs, which may be old there.
type GitPeers struct {
	o           GitOptions
	calls       gitCounter
	ctx         context.Context // of resolutions in the background; ends with Close
	cancel      context.CancelFunc
	resolutions sync.WaitGroup
	mu          struct {
		sync.Mutex
		peers     []gitPeer
		resolved  time.Time
		resolving bool
		// holders are the addresses that last handled the events of partitions.
		holders map[int32]string
		lost    map[string]time.Time // when an address did not answer
		logged  time.Time            // when a loss was logged
	}
}

// gitPeer is the address of a process, and the setting that has it or its name.
type gitPeer struct{ address, setting string }

// NewGitPeers returns GitPeers, which the caller closes.
func NewGitPeers(o GitOptions) *GitPeers {
	g := &GitPeers{o: o, calls: NewGitMetrics(o.Registerer)}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	if g.o.Lookup == nil {
		g.o.Lookup = net.DefaultResolver.LookupHost
	}
	g.mu.holders, g.mu.lost = map[int32]string{}, map[string]time.Time{}
	return g
}

// Close ends the resolution of names in the background. Later calls use the last addresses.
func (g *GitPeers) Close() {
	g.mu.Lock()
	g.cancel()
	g.mu.Unlock()
	g.resolutions.Wait()
}

// Git returns the reads of the peers.
func (g *GitPeers) Git() source.Git { return rpc.RemoteGit{Call: g.callPeers} }

// Mirrors returns reads of the peers for verifications and erasures.
func (g *GitPeers) Mirrors() rpc.Mirrors { return rpc.RemoteGit{Call: g.callPeers} }

// callPeers sends a call to one peer after another until one answers it.
func (g *GitPeers) callPeers(ctx context.Context, c *rpc.GitCall) (*rpc.GitReply, error) {
	partition := g.o.PartitionOf(c.Repository)
	peers := g.orderPeers(ctx, partition)
	var answer error // of the process that handles the events
	unasked := peers[:0:0]
	for _, peer := range peers {
		c.Held = true
		reply, err := g.callPeer(ctx, peer, c)
		switch {
		case errors.Is(err, search.ErrShardLost):
			continue
		case errors.Is(err, rpc.ErrNotHeld):
			unasked = append(unasked, peer)
			continue
		case err != nil && ctx.Err() != nil:
			return nil, err
		}
		g.mu.Lock()
		g.mu.holders[partition] = peer.address
		g.mu.Unlock()
		if answer = err; !errors.Is(err, source.ErrUnavailable) {
			return reply, err
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for _, peer := range unasked {
		if c.NeedsRefs() {
			break
		}
		c.Held = false
		reply, err := g.callPeer(ctx, peer, c)
		if !errors.Is(err, search.ErrShardLost) && !errors.Is(err, source.ErrUnavailable) && !errors.Is(err, source.ErrNoObject) {
			return reply, err
		}
	}
	switch {
	case answer != nil:
		return nil, answer
	case len(unasked) == 0:
		return nil, fmt.Errorf("%w: no process with mirrors answers; try again in a moment, or see the log of this process", source.ErrUnavailable)
	}
	return nil, fmt.Errorf("%w: the process that had it is away, and another one takes over; try again in a moment", source.ErrUnavailable)
}

// callPeer sends a call to a peer.
func (g *GitPeers) callPeer(ctx context.Context, peer gitPeer, c *rpc.GitCall) (*rpc.GitReply, error) {
	p := rpc.Peer{Address: peer.address, Secret: g.o.Secret, TLS: configFor(g.o.TLS, peer.setting)}
	reply, err := p.CallGit(ctx, c)
	result := resultAnswered
	switch {
	case errors.Is(err, search.ErrShardLost):
		result = resultLost
	case err != nil && ctx.Err() != nil:
		return nil, err // the client has left
	case err != nil:
		result = resultRefused
	}
	g.calls.WithLabelValues(result).Inc()
	g.mu.Lock()
	defer g.mu.Unlock()
	if result != resultLost {
		delete(g.mu.lost, peer.address)
		return reply, err
	}
	now := time.Now()
	g.mu.lost[peer.address] = now
	if now.Sub(g.mu.logged) >= lossLogEvery {
		g.mu.logged = now
		g.o.Logger.Warn("a process with git mirrors does not answer", "peer", peer.address, "error", err)
	}
	return reply, err
}

// orderPeers returns the addresses of the peers: the one that last handled the events of a
// partition first, and those that were lost a short time ago last. Only without any address does
// it wait for names; otherwise they are resolved again after the call has begun.
func (g *GitPeers) orderPeers(ctx context.Context, partition int32) []gitPeer {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch due := time.Since(g.mu.resolved) >= resolveEvery; {
	case len(g.mu.peers) == 0:
		g.mu.Unlock()
		g.resolvePeers(ctx)
		g.mu.Lock()
	case due && !g.mu.resolving && g.ctx.Err() == nil:
		g.mu.resolving = true
		g.resolutions.Go(func() { g.resolvePeers(g.ctx) })
	}
	rank := func(p gitPeer) int {
		switch {
		case time.Since(g.mu.lost[p.address]) < lostPeerWait:
			return 2
		case g.mu.holders[partition] == p.address:
			return 0
		}
		return 1
	}
	peers := slices.Clone(g.mu.peers)
	slices.SortStableFunc(peers, func(a, b gitPeer) int { return rank(a) - rank(b) })
	return peers
}

// resolvePeers sets the addresses of the peers. A name that cannot be resolved keeps its last ones.
func (g *GitPeers) resolvePeers(ctx context.Context) {
	g.mu.Lock()
	last := g.mu.peers
	g.mu.Unlock()
	var peers []gitPeer
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	for _, setting := range g.o.Peers {
		addresses, err := LookupPeer(ctx, g.o.Lookup, setting)
		if err != nil {
			host, _, _ := net.SplitHostPort(setting) // isName
			g.o.Logger.Warn("the name of processes with git mirrors cannot be resolved; trying again", "name", host, "error", err)
			for _, p := range last {
				if p.setting == setting {
					peers = append(peers, p)
				}
			}
		}
		for _, address := range addresses {
			peers = append(peers, gitPeer{address, setting})
		}
	}
	slices.SortFunc(peers, func(a, b gitPeer) int { return strings.Compare(a.address, b.address) })
	peers = slices.CompactFunc(peers, func(a, b gitPeer) bool { return a.address == b.address })
	peers = peers[:min(len(peers), maxGitPeers)]
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.resolving, g.mu.resolved, g.mu.peers = false, time.Now(), peers
	maps.DeleteFunc(g.mu.lost, func(address string, _ time.Time) bool {
		return !slices.ContainsFunc(peers, func(p gitPeer) bool { return p.address == address })
	})
}
