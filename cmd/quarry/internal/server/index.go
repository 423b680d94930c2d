package server

import (
	"context"
	"os"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/codehosts"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/gitreads"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/registry"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/views"
	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/pipeline/erasurerequests"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/indexstatus"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/pipeline/worker"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/accountrows"
	"github.com/quarrysearch/quarry/projections/deadletters"
	"github.com/quarrysearch/quarry/projections/erasure"
	"github.com/quarrysearch/quarry/projections/numbering"
	"github.com/quarrysearch/quarry/projections/outcomes"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/snapshots"
	"github.com/quarrysearch/quarry/projections/snapshotter"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/assist"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/shards"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// openQuery opens the projections and the API.
func (s *Server) openQuery(ctx context.Context) error {
	if !s.o.Config.Has(config.RoleQuery) {
		return nil
	}
	if err := s.openVersions(ctx); err != nil {
		return err
	}
	s.positions = projections.NewPositionNoter(s.log, s.versions.Checkpoints, s.o.Logger, s.o.Registerer)
	s.numbering = numbering.New(s.accounts, s.versions, boot.Now, s.o.Logger)
	s.registrar.SetNumbers(s.numbering)
	s.repositories = registry.NewCatalog(s.versions, s.numbering.HasNumber)
	if err := s.openAudit(); err != nil {
		return err
	}
	var err error
	if s.auth, err = s.newAuth(); err != nil {
		return err
	}
	if err := s.openPermissions(); err != nil {
		return err
	}
	if err := s.openDiscovery(); err != nil {
		return err
	}
	return s.openAPI(ctx)
}

// openVersions opens the live version of the projections.
func (s *Server) openVersions(ctx context.Context) error {
	home, err := projections.OpenHome(s.o.Config.ProjectionsDir())
	if err != nil {
		return err
	}
	s.frames = segment.NewCache(int(s.o.Config.Cache.FramesBytes))
	s.addCloser(s.frames)
	o := s.versionsOptions(home)
	o.Frames = s.frames
	if s.versions, err = versions.Open(ctx, o); err != nil {
		return err
	}
	s.addCloser(s.versions)
	partitions, interval := []int32(nil), s.o.Config.Snapshots.Interval.Std()
	if !s.share.IsAll() {
		if partitions, err = s.share.Partitions(s.partitions); err != nil {
			interval = 0 // a front has no partitions, and only lists and deletes snapshots
		}
	}
	s.snapshotter = snapshotter.New(snapshotter.Options{
		Archive: o.Snapshots, Versions: s.versions, Interval: interval, Keep: s.o.Config.Snapshots.Keep,
		Lead: func(ctx context.Context, group string, work func(context.Context) error) error {
			return eventlog.Lead(ctx, s.log, group, s.o.Logger, work)
		},
		Share: s.share, Partitions: partitions,
		Now: boot.Now, Logger: s.o.Logger, Registerer: s.o.Registerer,
	})
	return nil
}

// newSettle returns a wait for other processes to see an object that keeps them from deleting
// others, or nil if there are no such processes.
func (s *Server) newSettle() func(ctx context.Context) error {
	if !s.o.Config.SharesSegments() {
		return nil
	}
	return func(ctx context.Context) error { return clock.Sleep(ctx, snapshots.SettleTime) }
}

// versionsOptions returns the options of the versions of the projections.
func (s *Server) versionsOptions(home *projections.Home) versions.Options {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	creator := host + " (" + s.o.Version + ")"
	if !s.share.IsAll() {
		creator += ", share " + s.share.String()
	}
	c := s.o.Config
	archive := snapshots.New(snapshots.Options{
		Store: s.segments, Log: s.log, TempDir: c.TempDir(), Creator: creator, Settle: s.newSettle(), Logger: s.o.Logger, Now: boot.Now,
	})
	o := versions.Options{
		Share: s.share, Home: home, Log: s.log, DataDir: c.Data, TempDir: c.TempDir(), AccountsDir: c.AccountsDir(),
		BlocksBytes: int64(c.Cache.BlocksBytes), PurgeAfter: c.Pipeline.PurgeAfter.Std(), MemoryLimitBytes: int64(c.Runtime.MemoryLimitBytes),
		Workers: worker.DefaultGroup, Objects: archive.Guard(), Snapshots: archive, Damage: s.damage, EmptyQuarantine: s.segments.EmptyQuarantine,
		Mirror: func(id code.RepositoryID) erasure.Mirror {
			if mirrors := s.mirrors(); mirrors != nil {
				return mirrors.Mirror(id)
			}
			return nil
		},
		AnalyzeBlobs: gitreads.BlobAnalyzer{
			Mirrors: func() *mirror.Mirrors { return s.mirrors() }, Ctags: s.openedCtags, MaxFileBytes: int64(c.Pipeline.MaxFileBytes),
			Logger: s.o.Logger,
		}.Analyze,
		PartitionOf:   func(id code.RepositoryID, n int32) int32 { return eventlog.PartitionOf(event.RecordKey(id), n) },
		FailureReason: s.failureReason, DiskFull: s.o.diskFull, RepairEvery: s.o.repairEvery, Now: boot.Now, Tracer: s.traces.Tracer(),
		Logger:     s.o.Logger,
		Registerer: s.o.Registerer,
	}
	if c.Log.Driver != "kafka" {
		o.LogDir = c.LogDir()
	}
	if s.o.simulated != nil {
		o.FileSystem = s.o.simulated.disk
	}
	return o
}

// openedMirrors returns the mirrors of this process, or nil if it has none.
func (s *Server) openedMirrors() *mirror.Mirrors {
	if s.pipeline == nil {
		return nil
	}
	return s.pipeline.mirrors
}

// openDeadLetters opens the follower of the dead letters.
func (s *Server) openDeadLetters() (*outcomes.DeadLetters, error) {
	var err error
	if s.follower, err = deadletters.New(deadletters.Options{Log: s.log, Logger: s.o.Logger, Registerer: s.o.Registerer}); err != nil {
		return nil, err
	}
	s.addCloser(closerFunc(s.follower.Close))
	s.replayer, err = deadletters.NewReplayer(deadletters.ReplayerOptions{Follower: s.follower, Log: s.log, Appender: s.log,
		Catalog: s.versions})
	return outcomes.NewDeadLetters(s.follower, s.replayer, s.versions), err
}

// failureReason returns the reason if the workers gave up an event.
func (s *Server) failureReason(at event.Position) (reason string, given bool) {
	if s.follower == nil {
		return "", false // the follower is opened after the versions
	}
	letter := s.follower.OfPush(at)
	if letter == nil {
		return "", false
	}
	return letter.Reason, true
}

// searchSlack is the time that a request may take in addition to its search and the wait
// before it, so that a search that reaches its time limit can still return its partial
// result.
const searchSlack = 15 * time.Second

func (s *Server) openAPI(ctx context.Context) error {
	c := s.o.Config
	deadLetters, err := s.openDeadLetters()
	if err != nil {
		return err
	}
	engine := search.New(search.Options{
		MaxDuration:   c.Query.Timeout.Std(),
		MaxConcurrent: c.Query.MaxConcurrent, MaxWaiting: c.Query.MaxWaiting, MaxWait: c.Query.MaxWait.Std(),
		MaxHeavy: c.Query.MaxHeavy, MaxHeavyWaiting: c.Query.MaxHeavyWaiting,
		MaxScanBytes: int64(c.Query.MaxScanBytes), MaxMemoryBytes: int64(c.Query.MaxMemoryBytes),
		TotalMemoryBytes: int64(c.Query.TotalMemoryBytes), MaxResultBytes: int64(c.Query.MaxResultBytes),
		Contexts: searchContexts(c.Query.Contexts), Registerer: s.o.Registerer,
	})
	if s.feed, err = s.newFeed(); err != nil {
		return err
	}
	s.erasures = erasurerequests.New(s.erasureOptions())
	s.apiOptions = s.newAPIOptions(engine, deadLetters)
	s.verifier = s.newVerifier() // openPipeline replaces it
	switch {
	case len(c.Shard.Peers) > 0:
		err = s.openFront(&s.apiOptions)
	case !s.share.IsAll():
		err = s.openShard(&s.apiOptions, engine)
	}
	if err != nil {
		return err
	}
	if s.apiOptions.Source, err = s.newBrowser(ctx); err != nil {
		return err
	}
	if s.precise, err = s.openPrecise(s.apiOptions.Source); err != nil {
		return err
	}
	s.apiOptions.Precise = s.precise
	server, err := api.New(s.apiOptions)
	if err != nil {
		return err
	}
	s.api = server
	return nil
}

// newAPIOptions returns the options of the API, without what depends on whether the process is a
// front or a shard.
func (s *Server) newAPIOptions(engine *search.Searcher, deadLetters *outcomes.DeadLetters) api.Options {
	c := s.o.Config
	o := api.Options{
		Gate: s.auth, Accounts: s.auth, Audit: auditor{s.recorder}, AuditLog: accountrows.NewAuditLog(s.accounts, sealKey(s.masterSecret)),
		Searcher:       assist.New(engine, s.o.Registerer),
		FileFinder:     engine,
		Views:          views.New(s.versions.Acquire, s.numbering.HasNumber),
		Catalog:        s.repositories,
		Numbers:        s.accounts.Numbers,
		Registrar:      s.registrar,
		SelectRefs:     indexstatus.NewSelector(s.indexing, s.registrar.Admit).Select,
		Status:         s.newStatusReader(),
		Deliveries:     outcomes.NewDeliveries(s.versions, s.follower, s.registrar.AppendEvents, boot.Now),
		DeadLetters:    deadLetters,
		Events:         s.feed,
		Outline:        analyze.Outline{},
		MaxScipBytes:   int64(c.Scip.MaxUploadBytes),
		Connections:    codehosts.Kinds(c),
		Pictures:       s.pictures,
		Connectivity:   s.connectivity,
		Ready:          s.checkReady,
		Writable:       s.checkWritable,
		Removable:      s.checkRemovable,
		Replays:        s.versions.Replays(),
		Snapshots:      s.snapshotter,
		Erasures:       s.erasures,
		Backups:        s.backups,
		AsOf:           s.versions.AsOf,
		Coverage:       func() api.Coverage { c := s.versions.Coverage(); return api.Coverage{Next: c.Next, Age: c.Age} },
		MaxLag:         c.Query.MaxLag.Std(),
		Positions:      outcomes.NewPositions(s.versions, s.follower),
		PositionSecret: s.masterSecret.DeriveKey("positions of searches"),
		PositionWait:   c.Query.PositionWait.Std(),
		Missing:        s.versions.ReportMissing,
		Secret:         s.masterSecret.DeriveKey("sessions of the Model Context Protocol"),
		Version:        s.o.Version,
		PublicURL:      s.publicURL(),
		Limits:         limitsOf(&c.Limits),
		LogsRequests:   c.Logging.Requests,
		Hosts:          c.Hosts(),
		AllowedOrigins: c.Access.AllowedOrigins,
		MaxMatches:     c.Query.MaxMatches,
		MaxBodyBytes:   int64(c.Query.MaxBodyBytes),
		SearchTimeout:  c.Query.Timeout.Std() + c.Query.MaxWait.Std() + c.Query.PositionWait.Std() + searchSlack,
		Now:            boot.Now,
		Tracer:         s.traces.Tracer(),
		Logger:         s.o.Logger,
		Registerer:     s.o.Registerer,
	}
	if c.Has(config.RolePipeline) || len(c.Git.Peers) > 0 {
		o.Verifier = serverVerifier{s} // not a typed nil
	}
	return o
}

// newBrowser returns the browser of files and history. A process without mirrors asks those that
// have them, or reads only the index.
func (s *Server) newBrowser(ctx context.Context) (*source.Browser, error) {
	var index source.Index = views.NewSnapshots(s.versions)
	if s.front != nil {
		index = s.front
	}
	c := s.o.Config
	o := source.Options{Index: index, ServeUnreachable: c.Git.ServeUnreachable, Registerer: s.o.Registerer}
	switch {
	case c.Has(config.RolePipeline):
		o.Git = s.newGitReads()
	case len(c.Git.Peers) > 0:
		partitions, err := s.log.Partitions(ctx, event.TopicEvents)
		if err != nil {
			return nil, err
		}
		peers := shards.NewGitPeers(shards.GitOptions{
			Peers: c.Git.Peers, Secret: s.masterSecret.DerivePeerSecret(), TLS: s.peerTLS.ClientConfig, Logger: s.o.Logger, Registerer: s.o.Registerer,
			PartitionOf: func(id code.RepositoryID) int32 { return eventlog.PartitionOf(event.RecordKey(id), partitions) },
		})
		s.addCloser(closerFunc(peers.Close))
		o.Git, s.gitPeers = peers.Git(), peers
	}
	return source.New(o)
}

// RequestMirror implements gitreads.Requester. It requests a mirror only if this process
// indexes the repository: otherwise another process has the mirror.
func (s *Server) RequestMirror(ctx context.Context, id code.RepositoryID) bool {
	_, held := s.handledBelow(ctx, id)
	return held && s.mirrorRequester.Request(id)
}

// IsFetching implements gitreads.Requester.
func (s *Server) IsFetching(ctx context.Context, id code.RepositoryID) bool {
	done, held := s.handledBelow(ctx, id)
	return held && s.mirrorRequester.IsWaiting(id, done)
}

// handledBelow returns the offset below which the events of a repository are handled. held
// is false if this process does not handle them.
func (s *Server) handledBelow(ctx context.Context, id code.RepositoryID) (done event.Offset, held bool) {
	n, err := s.log.Partitions(ctx, event.TopicEvents)
	if err != nil {
		return 0, false
	}
	key := event.RecordKey(id)
	return s.pipeline.worker.DoneBelow(eventlog.PartitionOf(key, n), key)
}

func (s *Server) newStatusReader() *indexstatus.Reader {
	return indexstatus.New(s.log, s.versions, s.indexing)
}

// indexing returns the parts of this process that index. It returns nil without the role
// pipeline, and until the pipeline is opened, which is after the API.
func (s *Server) indexing() *indexstatus.Pipeline {
	if s.pipeline == nil {
		return nil
	}
	return &indexstatus.Pipeline{Mirrors: s.pipeline.mirrors, Indexer: s.pipeline.indexer, Worker: s.pipeline.worker,
		Reconciler: s.pipeline.reconciler}
}

// checkReady returns nil until the process stops, once projections and accounts have
// applied what the log held at the start, and all repositories have numbers. It does not
// wait for a version that becomes live later. A process without the role query is ready
// when it is open.
func (s *Server) checkReady(context.Context) error {
	if s.drainer.stopping.Load() {
		return errStopping
	}
	if err := s.checkSegments(); err != nil || s.versions == nil {
		return err
	}
	if err := s.versions.CheckCaughtUp(); err != nil {
		return err
	}
	if err := s.checkCallersReady(); err != nil || s.front == nil {
		return err
	}
	return s.front.CheckReady()
}

// checkSegments returns an error while the directory of the segment store is not the store
// of this log.
func (s *Server) checkSegments() error {
	if s.storeIdentity == nil {
		return nil
	}
	return s.storeIdentity.CheckReady()
}

// checkCallersReady returns nil once the server answers all callers. Until then it
// answers only the operator.
func (s *Server) checkCallersReady() error {
	if err := s.accounts.CheckReady(); err != nil {
		return err
	}
	return s.numbering.CheckReady()
}
