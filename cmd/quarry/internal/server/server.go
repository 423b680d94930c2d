package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/internal/traces"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/codehosts"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/connections"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/datadir"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/logdriver"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/registry"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/secrets"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/segmentdriver"
	"github.com/quarrysearch/quarry/ingest/webhook"
	"github.com/quarrysearch/quarry/pipeline/backup"
	"github.com/quarrysearch/quarry/pipeline/compactor"
	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/pictures"
	"github.com/quarrysearch/quarry/pipeline/erasurerequests"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/pipeline/permissions"
	"github.com/quarrysearch/quarry/pipeline/pins"
	"github.com/quarrysearch/quarry/pipeline/storeidentity"
	"github.com/quarrysearch/quarry/pipeline/verify"
	"github.com/quarrysearch/quarry/pipeline/worker"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/accountrows"
	auditrows "github.com/quarrysearch/quarry/projections/audit"
	"github.com/quarrysearch/quarry/projections/deadletters"
	"github.com/quarrysearch/quarry/projections/diskspace"
	"github.com/quarrysearch/quarry/projections/numbering"
	"github.com/quarrysearch/quarry/projections/repair"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/snapshotter"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/query/api"
	recorder "github.com/quarrysearch/quarry/query/audit"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/live"
	"github.com/quarrysearch/quarry/query/precise"
	"github.com/quarrysearch/quarry/query/rpc"
	"github.com/quarrysearch/quarry/query/shards"
	"github.com/quarrysearch/quarry/query/web"
	"github.com/quarrysearch/quarry/schemas/sharding"
)

// Options are the options of Open. All are required unless noted otherwise.
type Options struct {
	Config *config.Config
	Logger *slog.Logger
	// Registerer registers the metrics of every part. Gatherer collects them for
	// Prometheus.
	Registerer prometheus.Registerer
	Gatherer   prometheus.Gatherer
	// Version is the version that the API reports.
	Version string
	// Reload is optional; without it the server never reloads its settings.
	Reload *Reload
	// diskFull is called when a store cannot write because the disk is full.
	diskFull func()
	// wrapLog wraps the opened log; tests set it.
	wrapLog func(eventlog.Log) eventlog.Log
	// repairEvery is the interval of checks for missing documents, and ctagsTimeout bounds
	// the time of ctags for one file. 0 means the default; tests set them.
	repairEvery, ctagsTimeout time.Duration
	// simulated is nil except in the simulation.
	simulated *simulatedMachine
}

// simulatedMachine replaces the parts of the machine that a server uses.
type simulatedMachine struct {
	// execute runs git commands.
	execute mirror.Executor
	// disk stores the projections.
	disk store.FileSystem
	// jitter varies the length of waits.
	jitter func(time.Duration) time.Duration
}

// logOptions returns the options with which the log is opened.
func (o *Options) logOptions() logdriver.Options {
	return logdriver.Options{Config: o.Config, Logger: o.Logger, Registerer: o.Registerer, DiskFull: o.diskFull}
}

// Server is a process of one or more roles.
type Server struct {
	o         Options
	listeners *listeners
	disks     *diskspace.Guard
	traces    *traces.Exporter // nil if nothing is traced
	log       eventlog.Log
	segments  segmentstore.Driver // nil in a process that only ingests, if it is in a bucket
	// storeIdentity is nil if no other process uses the segment store, or this one does
	// not.
	storeIdentity *storeidentity.Keeper
	// share is the share of the partitions whose text this process holds, and partitions
	// the number of them if it is not all.
	share      sharding.Share
	partitions int32
	slots      *segment.Slots // shared by imports and merges
	damage     *repair.Metrics
	policy     mirror.Policy
	codeHosts  *codehosts.Hosts
	// connections are the connections at the start.
	connections codehosts.Connections
	registrar   *registry.Registrar

	// The following fields belong to the role query.
	accounts     *accountrows.Rows
	auth         *auth.Service
	masterSecret secrets.Master
	pages        *web.Server
	recorder     *recorder.Recorder
	sealer       *auditrows.Sealer
	frames       *segment.Cache
	versions     *versions.Versions
	numbering    *numbering.Assigner
	positions    *projections.PositionNoter
	follower     *deadletters.Follower
	replayer     *deadletters.Replayer
	feed         *live.Feed
	backups      *backup.Leases
	snapshotter  *snapshotter.Snapshotter // nil with a share
	repositories *registry.Catalog
	precise      *precise.Store
	api          *api.Server
	apiOptions   api.Options // options of api
	// front is nil unless shard.peers are set.
	front    *shards.Front
	erasures *erasurerequests.Erasures
	// gitPeers is nil unless git.peers are set, and this process has no mirrors.
	gitPeers *shards.GitPeers
	// discovery discovers the repositories of connections.
	discovery *discovery.Syncer
	pictures  *pictures.Loader
	// pinner keeps the pins of repositories up to date.
	pinner *pins.Pinner
	// permissions reads the permissions of code hosts; hostRules defines how they count.
	permissions  *permissions.Reader
	hostRules    hostRules
	connectivity *connections.Connectivity
	// compactor is nil if merging is off.
	compactor *compactor.Compactor
	// The following field belongs to the role pipeline.
	pipeline *pipeline
	// mirrorRequester is nil unless mirrors are read for clients.
	mirrorRequester *repair.MirrorRequester
	// mirrors returns the mirrors of this process; tests replace it.
	mirrors func() *mirror.Mirrors
	// verifier needs the roles pipeline and query together.
	verifier *verify.Verifier
	// peerServer and peerListener serve other processes, with shard.listen or git.listen.
	peerTLS      *boot.PeerTLS
	peerServer   *rpc.Server
	peerListener net.Listener
	// The following fields belong to the role ingest.
	receiver *webhook.Receiver
	hints    *discovery.HintReader
	backlog  *worker.Backlog

	reloader *reloader
	drainer  drainer
	// stopping is closed when the listeners close: streams without an end return.
	stopping chan struct{}

	closers []io.Closer // in the order of opening
	files   *datadir.Guard
}

func newServer(o Options) *Server {
	s := &Server{o: o, stopping: make(chan struct{})}
	s.drainer.delay, s.drainer.logger = o.Config.ShutdownDelay(), o.Logger
	s.mirrors = s.openedMirrors
	return s
}

// Open opens everything that the roles need and binds the addresses. If it fails, it closes
// what it opened. Otherwise the caller calls Run, which closes the server at its end, or
// Close if it does not run the server.
func Open(ctx context.Context, o Options) (*Server, error) {
	s := newServer(o)
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// open opens the parts in the order of their dependencies.
func (s *Server) open(ctx context.Context) error {
	stopWaiting := context.AfterFunc(ctx, func() {
		if s.disks != nil {
			_ = s.disks.Close() // never fails
		}
	})
	defer stopWaiting()
	for _, step := range []func(context.Context) error{
		s.openDirectory, s.openListeners, s.openTraces, s.openStores, s.openAccounts, s.openQuery, s.openCompactor, s.openPages, s.openPipeline,
		s.openGitService, s.openIngest, s.openReloader,
	} {
		if err := step(ctx); errors.Is(err, kafkalog.ErrNoAnswer) {
			return fmt.Errorf("%w; check log.kafka.brokers and the brokers, and start this process again, as systemd and Kubernetes do", err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// addCloser adds c to the closers that Close calls.
func (s *Server) addCloser(c io.Closer) { s.closers = append(s.closers, c) }

// openDirectory locks the data directory before anything in it is changed.
func (s *Server) openDirectory(context.Context) error {
	directory, err := datadir.Lock(s.o.Config, s.o.Logger)
	if err != nil {
		return err
	}
	s.addCloser(directory)
	s.files = datadir.NewGuard(s.o.Config, s.o.Logger, s.o.Registerer)
	s.disks = diskspace.New(diskspace.Options{
		Directories: listDirectories(s.o.Config), MinFree: int64(s.o.Config.Storage.MinFreeBytes), Logger: s.o.Logger, Registerer: s.o.Registerer,
	})
	s.addCloser(s.disks)
	s.o.diskFull = s.disks.WaitForSpace
	return nil
}

// listDirectories returns the directories that a process writes to.
func listDirectories(c *config.Config) []diskspace.Directory {
	out := []diskspace.Directory{{Name: diskspace.DirectoryData, Path: c.Data}}
	add := func(wanted bool, name, path string, isStore bool) {
		if wanted {
			out = append(out, diskspace.Directory{Name: name, Path: path, Store: isStore})
		}
	}
	indexes, answers := c.Has(config.RolePipeline), c.Has(config.RoleQuery)
	add(c.Log.Driver == "embedded", diskspace.DirectoryLog, c.LogDir(), true)
	add(!c.SegmentsInBucket() && (indexes || answers), diskspace.DirectorySegments, c.SegmentsDir(), false)
	add(answers, diskspace.DirectoryProjections, c.ProjectionsDir(), true)
	add(answers, diskspace.DirectoryAccounts, c.AccountsDir(), true)
	add(indexes, diskspace.DirectoryMirrors, c.MirrorsDir(), false)
	return out
}

func (s *Server) openListeners(context.Context) (err error) {
	if s.listeners, err = bindListeners(s.o.Config, s.o.Logger); err != nil {
		return err
	}
	s.addCloser(s.listeners)
	s.listeners.limitConnections(s.o.Config, s.o.Registerer)
	if c := s.o.Config.TLS; c.CertFile != "" {
		certificate, err := boot.ReadCertificate(c.CertFile, c.KeyFile, s.o.Logger, s.o.Registerer)
		if err != nil {
			return fmt.Errorf("tls: %w; correct tls.certFile and tls.keyFile", err)
		}
		s.listeners.main = certificate.WrapListener(s.listeners.main)
	}
	c := s.o.Config.PeerTLS
	s.peerTLS, err = boot.ReadPeerTLS(boot.PeerTLSOptions{
		CertFile: c.CertFile, KeyFile: c.KeyFile, CAFile: c.CAFile, ClientCertificates: c.ClientCertificates, Logger: s.o.Logger,
		Registerer: s.o.Registerer,
	})
	if err != nil {
		return fmt.Errorf("peerTls: %w; correct its files", err)
	}
	return nil
}

// openStores opens the stores that every role needs.
func (s *Server) openStores(ctx context.Context) (err error) {
	if err = s.openCodeHosts(); err != nil {
		return err
	}
	if s.log, err = logdriver.Open(ctx, s.o.logOptions()); err != nil {
		return err
	}
	s.addCloser(s.log)
	if s.o.wrapLog != nil {
		s.log = s.o.wrapLog(s.log)
	}
	if err := s.readShare(ctx); err != nil {
		return err
	}
	s.registrar = registry.NewRegistrar(s.log, s.policy)
	s.damage = repair.NewMetrics(s.o.Registerer)
	if err := s.openSegments(ctx); err != nil {
		return err
	}
	s.backups, err = backup.NewLeases(s.log, s.o.Config.LogDir(), s.segments, s.newSettle(), s.o.Logger)
	return err
}

// openSegments opens the segment store, and checks its identity if it is shared.
func (s *Server) openSegments(ctx context.Context) (err error) {
	c := s.o.Config
	metrics := segmentstore.NewBucketMetrics(s.o.Registerer)
	bucket := c.SegmentsInBucket()
	uses := c.Has(config.RolePipeline) || c.Has(config.RoleQuery)
	if bucket && !uses {
		return nil
	}
	if s.segments, err = segmentdriver.Open(ctx, c, metrics, s.o.Logger); err != nil {
		return err
	}
	s.segments.NotifyQuarantine(func(name, place string, cause error) {
		s.damage.CountObject(name)
		s.o.Logger.Error("damaged object of the segment store moved to the quarantine", "object", name, "place", place, "error", cause)
	})
	if !uses || !c.SharesSegments() {
		return nil
	}
	interval := time.Second
	if bucket {
		interval = 10 * time.Second // a bucket is not unmounted, and requests cost money
	}
	s.storeIdentity, err = storeidentity.Open(ctx, storeidentity.Options{
		Log: s.log, Store: s.segments, Place: c.SegmentsPlace(), Interval: interval, Writes: c.Has(config.RolePipeline),
		Replaces: c.Storage.ReplacesIdentity, Now: boot.Now, Logger: s.o.Logger,
	})
	return err
}

// openCodeHosts reads the connections of the settings.
func (s *Server) openCodeHosts() (err error) {
	if s.codeHosts, err = codehosts.New(s.o.Config); err != nil {
		return err
	}
	s.policy = s.codeHosts.Policy()
	apps, err := s.codeHosts.OpenInstallations(s.o.Config)
	if err != nil {
		return err
	}
	s.codeHosts.Replace(s.o.Config, apps)
	s.hostRules.set(s.o.Config, s.o.Config.Access.OIDC)
	s.connections, err = codehosts.ReadConnections(s.o.Config)
	return err
}

func (s *Server) openIngest(context.Context) error {
	if !s.o.Config.Has(config.RoleIngest) {
		return nil
	}
	var catalog webhook.Repositories // nil without a catalog
	if s.repositories != nil {
		catalog = s.repositories.ForWebhooks()
	}
	s.backlog = worker.NewBacklog(s.log, int64(s.o.Config.Ingest.MaxBacklog), s.o.Logger, s.o.Registerer)
	if err := s.openHints(); err != nil {
		return err
	}
	receiver, err := s.newReceiver(catalog)
	if err != nil {
		return fmt.Errorf("webhooks: %w", err)
	}
	s.receiver = receiver
	return nil
}

func (s *Server) openReloader(context.Context) error {
	s.reloader = newReloader(s)
	return nil
}

// URL returns the address of the API.
func (s *Server) URL() string {
	return s.o.Config.Scheme() + s.listeners.main.Addr().String()
}

// publicURL returns the base URL of links in responses.
func (s *Server) publicURL() string {
	if s.o.Config.PublicURL != "" {
		return s.o.Config.PublicURL
	}
	return s.URL()
}

// Run runs the parts until ctx ends or one fails. It stops them in reverse order:
// requests end first, the projections last.
func (s *Server) Run(ctx context.Context) error {
	group := boot.NewGroup(s.o.Logger, s.o.Config.Runtime.DrainTimeout.Std())
	if s.traces != nil {
		group.Add("traces", s.traces.Run) // ends last: everything has spans
	}
	group.Add("disk space", s.disks.Run) // ends last of the others: stores wait for space
	group.Add("permissions", s.files.Run)
	if s.storeIdentity != nil {
		group.Add("segment store", s.storeIdentity.Run)
	}
	group.Add("settings", s.reloader.Run)
	if s.accounts != nil {
		group.Add("accounts", s.accounts.Run) // ends last: requests change the accounts
		group.Add("audit log", s.recorder.Run)
		group.Add("audit seals", s.sealer.Run)
		group.Add("activity", s.auth.Run)
		group.Add("setup", s.offerSetup)
	}
	if s.versions != nil {
		group.Add("projections", s.versions.Run)
		group.Add("numbering", s.numbering.Run)
		group.Add("positions", s.positions.Run)
		group.Add("dead letters", s.follower.Run)
		group.Add("superseded dead letters", s.replayer.Run)
		group.Add("backups", s.backups.Run)
		group.Add("snapshots", s.snapshotter.Run)
		group.Add("events", s.feed.Run)
		group.Add("precise indexes", s.precise.Run)
	}
	if s.discovery != nil {
		group.Add("discovery", s.discovery.Run)
		group.Add("pins", s.pinner.Run)
		group.Add("permissions of hosts", s.permissions.Run)
	}
	if s.compactor != nil {
		group.Add("compactor", s.compactor.Run)
	}
	if s.pipeline != nil {
		s.pipeline.addActors(group)
	}
	if s.mirrorRequester != nil {
		group.Add("missing mirrors", s.mirrorRequester.Run)
	}
	group.Add("scrub", repair.NewScrubber(s.scrubOptions()).Run)
	s.addPeerActors(group)
	main, operators, err := s.newHandlers()
	if err != nil {
		return errors.Join(err, s.Close())
	}
	if operators != nil {
		group.Add("metrics", boot.NewHTTP(s.listeners.metrics, operators, s.o.Logger).Run)
	}
	if s.receiver != nil {
		group.Add("backlog", s.backlog.Run)
		group.Add("hints of webhooks", s.hints.Run)
		group.Add("webhooks", s.receiver.Run) // ends after the last request
	}
	server := boot.NewHTTP(s.listeners.main, s.listeners.connections.CloseWhenCrowded(main), s.o.Logger)
	server.OnShutdown(func() {
		close(s.stopping)
		if s.feed != nil {
			s.feed.Close()
		}
	})
	group.Add("http", server.Run)
	group.Add("readiness", func(actorCtx context.Context) error {
		return s.drainer.run(actorCtx, func() bool { return boot.IsTerminated(ctx) })
	})
	return errors.Join(group.Run(ctx), s.Close())
}

// Close closes everything that is open, in reverse order of opening. A second call does
// nothing.
func (s *Server) Close() error {
	var errs []error
	for len(s.closers) > 0 {
		last := len(s.closers) - 1
		errs = append(errs, s.closers[last].Close())
		s.closers = s.closers[:last]
	}
	return errors.Join(errs...)
}

// closerFunc adapts a function to io.Closer.
type closerFunc func()

// Close implements io.Closer.
func (c closerFunc) Close() error { c(); return nil }

// scrubOptions selects the files of this process that are scrubbed.
func (s *Server) scrubOptions() repair.ScrubOptions {
	o := repair.ScrubOptions{BytesPerSecond: int64(s.o.Config.Storage.ScrubBytesPerSecond), Metrics: s.damage, Logger: s.o.Logger}
	o.Log, _ = s.log.(repair.LogFiles) // nil if brokers keep the log
	if directory, ok := s.segments.(*segmentstore.Directory); ok {
		o.Segments = directory
	}
	if s.accounts != nil {
		o.Accounts = s.accounts.Store
	}
	if s.versions != nil {
		o.AcquireLive = s.versions.AcquireScrubbed
	}
	return o
}
