package server

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/secrets"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/views"
	"github.com/quarrysearch/quarry/pipeline/erasurerequests"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections/outcomes"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/rpc"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/shards"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
	"github.com/quarrysearch/quarry/schemas/sharding"
)

// readShare reads the share of the partitions that this process holds.
func (s *Server) readShare(ctx context.Context) (err error) {
	c := s.o.Config.Shard
	if c.IsZero() {
		return nil
	}
	if s.partitions, err = s.log.Partitions(ctx, event.TopicEvents); err != nil {
		return err
	}
	if len(c.Peers) > 0 {
		s.share, err = sharding.ParseShare(sharding.NoShare, "")
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	if s.share, err = sharding.ParseShare(c.Share, host); err == nil {
		_, err = s.share.Partitions(s.partitions)
	}
	if err != nil {
		return fmt.Errorf("shard.share: %w", err)
	}
	return nil
}

// openFront makes the API of a front answer from the shards.
func (s *Server) openFront(o *api.Options) error {
	peers, err := shards.ParsePeers(s.o.Config.Shard.Peers)
	if err != nil {
		return fmt.Errorf("shard.peers: %w", err)
	}
	s.front, err = shards.NewFront(shards.FrontOptions{
		Peers: peers, Secret: s.masterSecret.DerivePeerSecret(), TLS: s.peerTLS.ClientConfig, Partitions: s.partitions,
		Accounts: s.listAppliedAccounts, HasNumber: s.numbering.HasNumber,
		PartitionOf: func(id code.RepositoryID) int32 { return eventlog.PartitionOf(event.RecordKey(id), s.partitions) },
		Coverage:    o.Coverage, Positions: outcomes.NewPositions(s.versions, s.follower), Settings: s.digestVisibility, Logger: s.o.Logger,
		Registerer: s.o.Registerer,
	})
	if err != nil {
		return fmt.Errorf("shard.peers: %w", err)
	}
	o.Part, o.Screened, o.Views, o.Status, o.Positions = api.PartFront, true, s.front, s.front, s.front
	o.Coverage, o.Snapshots = s.front.Coverage, frontSnapshots{o.Snapshots, s.front}
	requests := s.erasureOptions()
	requests.CountShared = s.front.CountShared
	requests.Rewrites = func() bool { return true } // the process that holds everything does
	o.Erasures = s.front.NewErasures(erasurerequests.New(requests), s.segments.List)
	o.Replays, o.Verifier = s.front.NewReplays(o.Replays), s.front
	return nil
}

// erasureOptions returns the options of requests for erasures, with the mirrors of this process or
// those of git.peers.
func (s *Server) erasureOptions() erasurerequests.Options {
	return erasurerequests.Options{
		Versions: s.versions, Append: s.registrar.AppendEvent, Rewrites: func() bool { return s.compactor != nil },
		FindReaching: func(ctx context.Context, id code.RepositoryID, commit code.CommitID, path string) (code.CommitID, error) {
			switch {
			case s.pipeline != nil:
				return s.newGitReads().FindReaching(ctx, id, commit, path)
			case s.gitPeers != nil:
				return s.gitPeers.Mirrors().FindReaching(ctx, id, commit, path)
			}
			return "", nil
		},
	}
}

// frontSnapshots lists and deletes the snapshots in the segment store, and has shards create them.
type frontSnapshots struct {
	api.Snapshots
	shards interface {
		CreateSnapshots(ctx context.Context) error
		ReadSnapshotState(ctx context.Context) (creating bool, failed string)
	}
}

// Create implements api.Snapshots.
func (f frontSnapshots) Create(ctx context.Context) error { return f.shards.CreateSnapshots(ctx) }

// List implements api.Snapshots. It asks the shards first: callers take a list that says that
// nothing is being created for one with the snapshots that were.
func (f frontSnapshots) List(ctx context.Context) (wire.Snapshots, error) {
	creating, failed := f.shards.ReadSnapshotState(ctx)
	list, err := f.Snapshots.List(ctx)
	list.Creating, list.Error = creating, failed
	return list, err
}

// listAppliedAccounts returns the position of the last applied record of each partition of the
// accounts.
func (s *Server) listAppliedAccounts() (positions []event.Position) {
	for _, c := range s.accounts.AccountsRunner().Checkpoints() {
		if c.Next > 0 {
			positions = append(positions, event.Position{Topic: event.TopicAccounts, Partition: c.Partition, Offset: c.Next - 1})
		}
	}
	return positions
}

// digestVisibility returns the digest of the current settings that decide what callers see.
func (s *Server) digestVisibility() string {
	return digestVisibility(s.o.Config, s.hostRules.rules(), s.masterSecret)
}

// DigestVisibility returns the digest that a process with these settings and this secret compares
// with its peers.
func DigestVisibility(c *config.Config, secret string) string {
	var h hostRules
	h.set(c, c.Access.OIDC)
	return digestVisibility(c, h.rules(), secrets.Master(secret))
}

// digestVisibility is keyed: the connections of fronts need not be encrypted.
func digestVisibility(c *config.Config, rules map[string]auth.HostRule, secret secrets.Master) string {
	text, err := json.Marshal(struct {
		DefaultVisibility string
		HostRules         map[string]auth.HostRule
		Contexts          []config.Context
	}{c.Access.DefaultVisibility, rules, c.Query.Contexts})
	if err != nil {
		panic(err) // of strings, numbers and flags
	}
	m := hmac.New(sha256.New, secret.DerivePeerSecret())
	m.Write(append([]byte("settings\n"), text...))
	return hex.EncodeToString(m.Sum(nil))
}

// openShard serves the sessions of fronts, with the searcher and the views of the API.
func (s *Server) openShard(o *api.Options, searcher *search.Searcher) error {
	partitions, err := s.share.Partitions(s.partitions)
	if err != nil {
		return err
	}
	o.Part, o.Screen = api.PartShard, corpus.NewScreen(corpus.ScreenOptions{Registerer: s.o.Registerer})
	o.Verifier = serverVerifier{s}
	shard := shards.NewShard(shards.ShardOptions{
		Partitions: partitions, Searcher: searcher, Screen: o.Screen, Views: o.Views, Gate: s.auth,
		WaitForAccounts: s.accounts.AccountsRunner().WaitFor, Registered: s.versions.Registered, Index: views.NewSnapshots(s.versions),
		Status: o.Status, Snapshots: s.snapshotter,
		Ready: func() error { return s.checkReady(context.Background()) }, Coverage: o.Coverage, Missing: s.versions.ReportMissing,
		Settings: s.digestVisibility, Version: s.o.Version,
	})
	return s.servePeers(s.o.Config.Shard.Listen, "shard.listen", rpc.ServerOptions{
		Secret: s.masterSecret.DerivePeerSecret(), Partitions: partitions, OpenSession: shard.OpenSession, OpenRepository: shard.OpenRepository, State: shard.State,
		CreateSnapshot: s.snapshotter.Create, Replays: s.versions.Replays(), Verify: serverVerifier{s}.Verify, Erasures: s.erasures,
		Logger: s.o.Logger, Registerer: s.o.Registerer,
	})
}

// servePeers opens the server of other processes at the address of a setting.
func (s *Server) servePeers(address, setting string, o rpc.ServerOptions) (err error) {
	o.Tracer = s.traces.Tracer()
	if s.peerServer, err = rpc.NewServer(o); err != nil {
		return err
	}
	s.addCloser(s.peerServer)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("%w; choose another address with %s", err, setting)
	}
	s.addCloser(closerFunc(func() { _ = listener.Close() })) // Run may have closed it
	uncounted := prometheus.NewRegistry()                    // the metrics are those of the main listener
	s.peerListener = s.peerTLS.WrapListener(boot.NewConnections(boot.ConnectionLimits{All: 2 * rpc.DefaultMaxSessions}, uncounted).WrapListener(listener))
	return nil
}

// addPeerActors adds what a front runs, and what serves other processes.
func (s *Server) addPeerActors(group *boot.Group) {
	if s.front != nil {
		group.Add("shards", s.front.Run)
	}
	if s.peerServer != nil {
		server := boot.NewHTTP(s.peerListener, s.peerServer, s.o.Logger)
		server.OnShutdown(func() { _ = s.peerServer.Close() }) // never fails
		group.Add("sessions of peers", server.Run)
	}
}
