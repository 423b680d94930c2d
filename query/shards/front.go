package shards

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/rpc"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/sharding"
)

// numberWait bounds the wait for the numbers of repositories that a shard knows already.
const numberWait = time.Second

// FrontOptions configure a Front. All are required but Lookup.
type FrontOptions struct {
	Peers  []PeerAddress
	Secret []byte
	// TLS returns the configuration of connections to a host, or nil for ones that are not
	// encrypted. Default: they are not.
	TLS func(host string) *tls.Config
	// Partitions is the number of partitions of the log.
	Partitions int32
	// Accounts returns the positions of the last accounts that this process has applied.
	Accounts func() []event.Position
	// HasNumber reports whether a repository has a number.
	HasNumber func(code.RepositoryID) bool
	// PartitionOf returns the partition of a repository.
	PartitionOf func(code.RepositoryID) int32
	// Coverage is that of the rows of this process.
	Coverage func() api.Coverage
	// Positions waits for the rows of this process.
	Positions api.Positions
	// Settings returns the digest of the settings that decide what callers see. A shard with
	// another one is lost.
	Settings   func() string
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	// Lookup returns the addresses of a name. Default: those of the system's resolver.
	Lookup func(ctx context.Context, host string) ([]string, error)
}

// Front opens sessions at all shards. It keeps retrying those that it does not reach.
type Front struct {
	o       FrontOptions
	metrics *metrics
	shares  []*share
	layouts []layout // one, unless partitions move
	hedger  hedger
	// verifying is held during a verification.
	verifying sync.Mutex
	// resolveEvery is the interval at which names are resolved.
	resolveEvery time.Duration
}

// NewFront returns a Front, or sharding.ErrShare if the shares of the peers form no layout. Run
// keeps the state of the peers.
func NewFront(o FrontOptions) (*Front, error) {
	shares, layouts, err := groupPeers(o.Peers, o.Partitions)
	if err != nil {
		return nil, err
	}
	countLost := func() float64 { return float64(pickLayout(layouts, nil).measureLag(nil).lost) }
	f := &Front{o: o, metrics: NewMetrics(o.Registerer, shares, countLost), shares: shares, layouts: layouts, resolveEvery: resolveEvery}
	if f.o.Lookup == nil {
		f.o.Lookup = net.DefaultResolver.LookupHost
	}
	for _, s := range shares {
		for _, address := range s.addresses {
			if !isName(address) {
				f.addPeer(s, address, address)
			}
		}
	}
	return f, nil
}

// addPeer adds a replica, which the settings name. It returns nil if the share has it already, or
// too many.
func (f *Front) addPeer(s *share, address, setting string) *peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.replicas) >= maxReplicas || slices.ContainsFunc(s.replicas, func(p *peer) bool { return p.Address == address }) {
		return nil
	}
	p := &peer{
		Peer:    rpc.Peer{Address: address, Secret: f.o.Secret, TLS: configFor(f.o.TLS, setting), Owned: s.owned, Pool: &rpc.Pool{}},
		awaited: make(chan struct{}, 1),
		failure: errNotProbed,
	}
	p.calls = f.metrics.addPeer(s.name, address)
	s.replicas = append(slices.Clip(s.replicas), p)
	return p
}

// configFor returns the configuration of connections to the host of an address in the settings:
// certificates are for the name, not for the address that it has.
func configFor(config func(host string) *tls.Config, setting string) func() *tls.Config {
	host, _, err := net.SplitHostPort(setting)
	if config == nil || err != nil {
		return nil // the dialer returns the error
	}
	return func() *tls.Config { return config(host) }
}

// Run probes the peers until ctx ends.
func (f *Front) Run(ctx context.Context) error {
	var g sync.WaitGroup
	for _, s := range f.shares {
		for _, p := range s.listReplicas() {
			g.Go(func() { f.probePeers(ctx, s, p) })
		}
		for _, address := range s.addresses {
			if isName(address) {
				g.Go(func() { f.followName(ctx, s, address) })
			}
		}
	}
	g.Wait()
	return nil
}

// probePeers reads the state of a replica again and again, until ctx ends.
func (f *Front) probePeers(ctx context.Context, s *share, p *peer) {
	defer p.Pool.Close()
	for {
		at := time.Now()
		state, err := p.ReadState(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil && state.Settings != "" && state.Settings != f.o.Settings() {
			state, err = nil, errSettings
		}
		reached := s.keepState(p, state, at, err, f.o.Logger)
		up := 0.0
		if err == nil {
			up = 1
			p.Pool.CloseOld()
		} else {
			p.Pool.CloseKept()
		}
		f.metrics.up.WithLabelValues(s.name, p.Address).Set(up)
		f.metrics.replicasUp.WithLabelValues(s.name).Set(float64(reached))
		p.awaitProbe(ctx)
	}
}

// errSettings means that a shard would decide otherwise than this front what a caller sees.
var errSettings = errors.New("the settings access.defaultVisibility, connections or query.contexts of the shard and of the front differ: give both the same")

// Replicas returns the replicas of each share, and the names in the settings of a share without any.
func (f *Front) Replicas() (replicas []sharding.Replica) {
	for _, s := range f.shares {
		s.mu.Lock()
		for _, p := range s.replicas {
			r := sharding.Replica{Share: s.name, Partitions: s.owned, Address: p.Address, Failure: p.failure}
			if p.state != nil {
				r.Version, r.Age = p.state.Program, p.ageLocked()
			}
			replicas = append(replicas, r)
		}
		if len(s.replicas) == 0 {
			replicas = append(replicas, sharding.Replica{
				Share:      s.name,
				Partitions: s.owned,
				Address:    strings.Join(s.addresses, " "),
				Failure:    errNotProbed,
			})
		}
		s.mu.Unlock()
	}
	return replicas
}

// CheckReady returns an error if no shard is reached. It names no address: anyone may read it.
func (f *Front) CheckReady() error {
	var names []string
	for _, s := range f.shares {
		if s.isReached() {
			return nil
		}
		names = append(names, s.name)
	}
	return fmt.Errorf("no shard is reached: no replica of the shares %s answers", strings.Join(names, ", "))
}

// Coverage returns what a search of the shards that are reached sees at least.
func (f *Front) Coverage() api.Coverage {
	c := api.Coverage{Age: f.o.Coverage().Age, Next: make([]event.Offset, f.o.Partitions)}
	for _, s := range pickLayout(f.layouts, nil) {
		s.mu.Lock()
		for i, p := range s.bestLocked(nil, nil) { // answers name the partitions of a share without one
			c.Age = max(c.Age, p.ageLocked())
			for _, partition := range s.owned {
				if int(partition) < len(p.state.Next) && (i == 0 || event.Offset(p.state.Next[partition]) < c.Next[partition]) {
					c.Next[partition] = event.Offset(p.state.Next[partition])
				}
			}
		}
		s.mu.Unlock()
	}
	return c
}

// WaitFor implements api.Positions: it waits for the rows of this process, and then until each
// shard of a layout has a replica that has applied what they have. Views of the context choose such
// replicas.
func (f *Front) WaitFor(ctx context.Context, wanted event.LogPosition, sees func(*code.Repository) bool) ([]event.Offset, error) {
	if _, err := f.o.Positions.WaitFor(ctx, wanted, sees); err != nil {
		return nil, err
	}
	next := f.o.Coverage().Next
	return next, f.awaitLayouts(ctx, next, false, func() []layout { return bestLayouts(f.layouts, next)[:1] })
}

// AwaitApplied waits until the replicas that a request may choose have applied the record at a
// position, or are lost.
func (f *Front) AwaitApplied(ctx context.Context, at event.Position) error {
	next := make([]event.Offset, f.o.Partitions)
	if at.Partition < f.o.Partitions {
		next[at.Partition] = at.Offset + 1
	}
	return f.awaitLayouts(ctx, next, true, func() []layout { return bestLayouts(f.layouts, nil) })
}

// awaitLayouts waits until a replica of each share of the best layouts has applied the records below
// the offsets, or all replicas that requests may choose.
func (f *Front) awaitLayouts(ctx context.Context, next []event.Offset, all bool, best func() []layout) error {
	for {
		for _, s := range f.shares {
			s.probeBehind(next, all)
		}
		var probed <-chan struct{}
		for _, l := range best() {
			for _, s := range l {
				probed = cmp.Or(s.probeBehind(next, all), probed)
			}
		}
		if probed == nil {
			return nil
		}
		select {
		case <-probed:
		case <-time.After(pollEvery): // other layouts may be the best ones
		case <-ctx.Done():
			return fmt.Errorf("wait for a position of the shards: %w", ctx.Err())
		}
	}
}

// encodeCaller describes the principal of a context for a session.
func (f *Front) encodeCaller(ctx context.Context, id code.RepositoryID) ([]byte, error) {
	return encodeCaller(auth.From(ctx), f.o.Accounts(), id, f.o.Settings())
}

var _ api.CoveredViews = (*Front)(nil)

// View implements api.Views: the view of all shards that the context's caller has.
func (f *Front) View(ctx context.Context) (corpus.View, error) {
	view, _, err := f.CoveredView(ctx)
	return view, err
}

// CoveredView implements api.CoveredViews. What a view covers is that of the replicas that it
// begins with; a session continues only at a replica that has reached it. If a shard is lost
// meanwhile, another layout is tried.
func (f *Front) CoveredView(ctx context.Context) (view corpus.View, covered api.Coverage, failure error) {
	who, err := f.encodeCaller(ctx, 0)
	if err != nil {
		return nil, covered, err
	}
	for left := slices.Clone(f.layouts); len(left) > 0 && (view == nil || search.LostPartitions(view) != nil); {
		l := pickLayout(left, api.WantedPosition(ctx))
		left = slices.DeleteFunc(left, func(other layout) bool { return slices.Equal(l, other) })
		if view != nil && l.measureLag(nil).lost >= len(search.LostPartitions(view)) {
			continue
		}
		next, c, err := f.openLayout(ctx, l, who)
		switch {
		case err != nil:
			failure = cmp.Or(failure, err)
		case view == nil || len(search.LostPartitions(next)) < len(search.LostPartitions(view)):
			if view != nil {
				view.Release()
			}
			view, covered = next, c
		default:
			next.Release()
		}
	}
	if view == nil {
		return nil, covered, failure
	}
	if err := f.awaitNumbers(ctx, view.Repositories()); err != nil {
		view.Release()
		return nil, covered, err
	}
	return view, covered, nil
}

// openLayout opens the view of the shards of a layout, and returns what it covers.
func (f *Front) openLayout(ctx context.Context, l layout, who []byte) (corpus.View, api.Coverage, error) {
	covered := api.Coverage{Age: f.o.Coverage().Age, Next: make([]event.Offset, f.o.Partitions)}
	sessions := make([]search.Shard, len(l))
	for i, s := range l {
		r, err := f.newRoute(ctx, s, api.WantedPosition(ctx))
		if err != nil {
			sessions[i] = lostShare{s, err}
			continue
		}
		sessions[i] = &searchSession{route: r, who: who, session: r.at.NewSession(who)}
		covered.Age = max(covered.Age, r.at.age)
		for _, partition := range s.owned {
			if int(partition) < len(r.next) {
				covered.Next[partition] = r.next[partition]
			}
		}
	}
	view, err := search.NewShards(ctx, sessions)
	return view, covered, err
}

// awaitNumbers waits until this process knows the numbers of repositories, which a shard may
// know earlier.
func (f *Front) awaitNumbers(ctx context.Context, repositories []*corpus.Repository) error {
	ctx, cancel := context.WithTimeoutCause(ctx, numberWait,
		fmt.Errorf("%w: this process lacks accounts that a shard has", search.ErrUnavailable))
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

// listOwners returns layouts of one share each: those with the partition of a repository.
func (f *Front) listOwners(id code.RepositoryID) (owners []layout) {
	partition := f.o.PartitionOf(id)
	for _, s := range slices.Backward(f.shares) {
		if slices.Contains(s.owned, partition) {
			owners = append(owners, layout{s})
		}
	}
	return owners
}

// unavailableIfLost makes the loss of a shard search.ErrUnavailable.
func unavailableIfLost(err error) error {
	if errors.Is(err, search.ErrShardLost) {
		return fmt.Errorf("%w: %w", search.ErrUnavailable, err)
	}
	return err
}
