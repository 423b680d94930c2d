package shards

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/rpc"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

const (
	// probeEvery is the interval at which a front probes its peers.
	probeEvery = time.Second
	// numberWait bounds the wait for the numbers of repositories that a shard knows already.
	numberWait = time.Second
	// pollEvery is the interval of short waits, and of the probes of a shard for which requests
	// wait.
	pollEvery = 20 * time.Millisecond
)

// PeerAddress is a shard in the settings.
type PeerAddress struct {
	Address string
	Share   projections.Share
}

// ParsePeers parses the addresses of shards: HOST:PORT for each share in order, or
// SHARE@HOST:PORT for all of them.
func ParsePeers(texts []string) ([]PeerAddress, error) {
	peers := make([]PeerAddress, len(texts))
	for i, text := range texts {
		share, address, named := strings.Cut(text, "@")
		if !named {
			share, address = fmt.Sprintf("%d/%d", i, len(texts)), text
		}
		if named != strings.Contains(texts[0], "@") {
			return nil, fmt.Errorf("%w: %.80q: give the share of all peers, or of none", projections.ErrShare, text)
		}
		var err error
		if peers[i].Share, err = projections.ParseShare(share, ""); err != nil {
			return nil, err
		}
		peers[i].Address = address
	}
	return peers, nil
}

// FrontOptions configure a Front. All are required.
type FrontOptions struct {
	Peers  []PeerAddress
	Secret []byte
	// Partitions is the number of partitions of the log.
	Partitions int32
	// Accounts returns the positions of the accounts that this process has applied.
	Accounts func() []projections.Checkpoint
	// HasNumber reports whether a repository has a number.
	HasNumber func(code.RepositoryID) bool
	// PartitionOf returns the partition of a repository.
	PartitionOf func(code.RepositoryID) int32
	// Coverage is that of the rows of this process.
	Coverage func() projections.Coverage
	// Positions waits for the rows of this process.
	Positions  api.Positions
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Front opens sessions at all shards. It keeps retrying those that it does not reach.
type Front struct {
	o       FrontOptions
	metrics *metrics
	peers   []*peer
}

// peer is a shard as the last probe found it.
type peer struct {
	rpc.Peer
	// awaited has a value while a request waits for a position of the shard.
	awaited chan struct{}
	mu      sync.Mutex
	// state is nil if the shard is lost, for the reason in failure, and at is the time just
	// before the probe. probed is closed, and replaced, after a probe.
	state   *rpc.State
	failure error
	at      time.Time
	probed  chan struct{}
}

var errNotProbed = errors.New("it has not been reached yet")

// NewFront returns a Front, or projections.ErrShare if the shares of the peers are not all
// partitions once. Run keeps the state of the peers.
func NewFront(o FrontOptions) (*Front, error) {
	f := &Front{o: o, metrics: NewMetrics(o.Registerer, o.Peers)}
	var names []string
	var shares []projections.Share
	for _, p := range o.Peers {
		owned, _ := p.Share.Partitions(o.Partitions) // CheckShares returns the error
		f.peers = append(f.peers, &peer{
			Peer:    rpc.Peer{Address: p.Address, Secret: o.Secret, Owned: owned},
			awaited: make(chan struct{}, 1), failure: errNotProbed, probed: make(chan struct{}),
		})
		names, shares = append(names, p.Address), append(shares, p.Share)
	}
	return f, projections.CheckShares(o.Partitions, names, shares)
}

// Run probes the peers until ctx ends.
func (f *Front) Run(ctx context.Context) error {
	var g sync.WaitGroup
	for _, p := range f.peers {
		g.Go(func() {
			for f.probePeer(ctx, p); ctx.Err() == nil; f.probePeer(ctx, p) {
				p.pauseProbes(ctx)
			}
		})
	}
	g.Wait()
	return nil
}

// probePeer reads the state of a peer.
func (f *Front) probePeer(ctx context.Context, p *peer) {
	at := time.Now()
	state, err := p.ReadState(ctx)
	if ctx.Err() != nil {
		return
	}
	up := 0.0
	if err == nil {
		up = 1
	}
	f.metrics.up.WithLabelValues(p.Address).Set(up)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil && p.state == nil:
		f.o.Logger.Info("shard is reached", "peer", p.Address, "partitions", p.Owned, "version", state.Program)
	case err != nil && (p.failure == nil || p.failure.Error() != err.Error()):
		f.o.Logger.Warn("shard is lost; trying again every second", "peer", p.Address, "partitions", p.Owned, "error", err)
	}
	p.state, p.failure, p.at = state, err, at
	close(p.probed)
	p.probed = make(chan struct{})
}

// pauseProbes waits until the next probe, which is sooner if a request waits for it.
func (p *peer) pauseProbes(ctx context.Context) {
	timer := time.NewTimer(probeEvery)
	defer timer.Stop()
	select {
	case <-p.awaited:
		_ = clock.Sleep(ctx, pollEvery) // the caller looks at ctx
	case <-timer.C:
	case <-ctx.Done():
	}
}

// readState returns the state of a peer at the last probe, or an error that is
// search.ErrShardLost.
func (p *peer) readState() (state *rpc.State, at time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failure != nil {
		err = fmt.Errorf("%w: %s with the partitions %v: %w", search.ErrShardLost, p.Address, p.Owned, p.failure)
	}
	return p.state, p.at, err
}

// CheckReady returns an error if no shard is reached.
func (f *Front) CheckReady() error {
	var reasons []error
	for _, p := range f.peers {
		_, _, err := p.readState()
		if err == nil {
			return nil
		}
		reasons = append(reasons, err)
	}
	return fmt.Errorf("no shard is reached: %w", errors.Join(reasons...))
}

// Coverage returns what a search of the shards that are reached sees at least.
func (f *Front) Coverage() projections.Coverage {
	own := f.o.Coverage()
	c := projections.Coverage{Age: own.Age, Next: make([]event.Offset, f.o.Partitions)}
	for _, p := range f.peers {
		state, at, err := p.readState()
		if err != nil {
			continue // answers name its partitions
		}
		if age := state.Age + time.Since(at); age < state.Age {
			c.Age = projections.NeverCovered
		} else {
			c.Age = max(c.Age, age)
		}
		for _, partition := range p.Owned {
			if int(partition) < len(state.Next) {
				c.Next[partition] = event.Offset(state.Next[partition])
			}
		}
	}
	return c
}

// WaitFor implements api.Positions: it waits for the rows of this process, and then until the
// shards have applied what they have.
func (f *Front) WaitFor(ctx context.Context, wanted api.LogPosition, sees func(*code.Repository) bool) error {
	if err := f.o.Positions.WaitFor(ctx, wanted, sees); err != nil {
		return err
	}
	return f.awaitShards(ctx, f.o.Coverage().Next)
}

// AwaitApplied waits until the shard of a position has applied the record there, or is lost.
func (f *Front) AwaitApplied(ctx context.Context, at event.Position) error {
	next := make([]event.Offset, f.o.Partitions)
	if at.Partition < f.o.Partitions {
		next[at.Partition] = at.Offset + 1
	}
	return f.awaitShards(ctx, next)
}

// awaitShards waits until the shards have applied the records below the offsets. It does not
// wait for those that are lost: answers name their partitions.
func (f *Front) awaitShards(ctx context.Context, next []event.Offset) error {
	for _, p := range f.peers {
		for {
			reached, probed := p.hasReached(next)
			if reached {
				break
			}
			select {
			case p.awaited <- struct{}{}:
			default: // the next probe is due already
			}
			select {
			case <-probed:
			case <-ctx.Done():
				return fmt.Errorf("wait for a position of the shards: %w", ctx.Err())
			}
		}
	}
	return nil
}

// hasReached reports whether a shard had applied the records below the offsets, or was lost, at
// the last probe. probed is closed by the next one.
func (p *peer) hasReached(next []event.Offset) (reached bool, probed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failure != nil {
		return true, p.probed
	}
	for _, partition := range p.Owned {
		if int(partition) < len(next) && (int(partition) >= len(p.state.Next) || event.Offset(p.state.Next[partition]) < next[partition]) {
			return false, p.probed
		}
	}
	return true, p.probed
}

// encodeCaller describes the principal of a context for a session.
func (f *Front) encodeCaller(ctx context.Context, id code.RepositoryID) ([]byte, error) {
	var accounts []event.Position
	for _, c := range f.o.Accounts() {
		if c.Next > 0 {
			accounts = append(accounts, event.Position{Topic: event.TopicAccounts, Partition: c.Partition, Offset: c.Next - 1})
		}
	}
	return encodeCaller(auth.From(ctx), accounts, id)
}

var _ api.Views = (*Front)(nil)

// View implements api.Views: the view of all shards that the context's caller has.
func (f *Front) View(ctx context.Context) (search.View, error) {
	who, err := f.encodeCaller(ctx, 0)
	if err != nil {
		return nil, err
	}
	sessions := make([]search.Shard, len(f.peers))
	for i, p := range f.peers {
		if _, _, err := p.readState(); err != nil {
			sessions[i] = lostShard{p, err}
			continue
		}
		sessions[i] = &measuredShard{p.NewSession(who), f.metrics, p.Address}
	}
	view, err := search.NewShards(ctx, sessions)
	if err != nil {
		return nil, err
	}
	if err := f.awaitNumbers(ctx, view.Repositories()); err != nil {
		view.Release()
		return nil, err
	}
	return view, nil
}

// awaitNumbers waits until this process knows the numbers of repositories, which a shard may
// know earlier.
func (f *Front) awaitNumbers(ctx context.Context, repositories []*search.Repository) error {
	ctx, cancel := context.WithTimeoutCause(ctx, numberWait, fmt.Errorf("%w: this process lacks accounts that a shard has", search.ErrUnavailable))
	defer cancel()
	for _, r := range repositories {
		for !f.o.HasNumber(r.ID) {
			if clock.Sleep(ctx, pollEvery) != nil {
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

// lostShard is a session with a peer that did not answer the last probe.
type lostShard struct {
	p      *peer
	reason error
}

// Call implements search.Shard.
func (s lostShard) Call(context.Context, *search.ShardCall) (*search.ShardReply, error) {
	return nil, s.reason
}

// Partitions implements search.Shard.
func (s lostShard) Partitions() []int32 { return s.p.Owned }

// Close implements search.Shard.
func (s lostShard) Close() {}

// ownerOf returns the peer that owns the partition of a repository, or an error that is
// search.ErrUnavailable if it is lost.
func (f *Front) ownerOf(id code.RepositoryID) (*peer, error) {
	partition := f.o.PartitionOf(id)
	for _, p := range f.peers {
		if !slices.Contains(p.Owned, partition) {
			continue
		}
		_, _, err := p.readState()
		return p, unavailableIfLost(err)
	}
	return nil, fmt.Errorf("%w: partition %d has no owner", search.ErrUnavailable, partition)
}

// unavailableIfLost makes the loss of a shard search.ErrUnavailable.
func unavailableIfLost(err error) error {
	if errors.Is(err, search.ErrShardLost) {
		return fmt.Errorf("%w: %w", search.ErrUnavailable, err)
	}
	return err
}
