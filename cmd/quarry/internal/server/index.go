package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/deliveries"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/source"
)

// errCatchingUp is why a server that has just begun is not ready.
var errCatchingUp = errors.New("the projections are catching up with the log")

// errRebuilding is errCatchingUp after damage.
var errRebuilding = errors.New("the projections were damaged and are rebuilt from the log")

// index is the projections of one version, over its store.
type index struct {
	catalog *catalog.Catalog
	places  *places.Places
	ledger  *deliveries.Ledger
	runner  *projections.Runner
	repair  *repairer // nil in a rebuild
	keeper  *segmentKeeper
	heal    *healer
	eraser  *eraser // nil in a rebuild, and in a version of the past

	// Of a version that is, or may become, the live one.
	store    *store.Store
	decoder  *projections.Decoder
	meta     projections.Meta
	metrics  *versionMetrics
	applied  *appliedTracker
	refCount refCount
	// superseded is closed when another version is live; took when this one has
	// replaced the previous one.
	superseded, handoverDone chan struct{}
}

// indexOptions say what an index is built on.
type indexOptions struct {
	Options
	store       *store.Store
	log         projections.Tailer
	deadLetters projections.Appender // nil in a rebuild
	objects     segmentstore.Store
	cache       *segment.Cache
	// deletes notes which objects are to be deleted when a merge is applied.
	deletes bool
	// beforePurge is called before text of a removed repository or branch is deleted.
	beforePurge func() error
	// rebuilding keeps segments in the store that no row names yet.
	rebuilding bool
}

// openProjections opens the projections of a store.
func openProjections(ctx context.Context, o indexOptions, decoder *projections.Decoder) (*index, error) {
	repositories, err := catalog.Open(catalog.Options{Store: o.store, Decoder: decoder, Logger: o.Logger, Registerer: o.Registerer})
	if err != nil {
		return nil, fmt.Errorf("open catalog: %w", err)
	}
	where, err := places.Open(ctx, places.Options{
		Store: o.store, Decoder: decoder, Objects: o.objects, DeleteObjects: o.deletes, BeforePurge: o.beforePurge, KeepSegments: o.rebuilding,
		Cache: o.cache, Logger: o.Logger, Registerer: o.Registerer,
	})
	if err != nil {
		repositories.Close()
		return nil, fmt.Errorf("open places: %w", err)
	}
	ledger, err := deliveries.Open(deliveries.Options{Store: o.store, Decoder: decoder, Registerer: o.Registerer})
	if err != nil {
		where.Close()
		repositories.Close()
		return nil, fmt.Errorf("open deliveries: %w", err)
	}
	return &index{catalog: repositories, places: where, ledger: ledger, store: o.store, decoder: decoder}, nil
}

// openIndex opens the projections of a store and what applies the log to them.
func openIndex(ctx context.Context, o indexOptions, meta projections.Meta) (*index, error) {
	i, err := openProjections(ctx, o, projections.NewDecoder(o.objects))
	if err != nil {
		return nil, err
	}
	i.meta = meta
	if err := i.openRunner(o); err != nil {
		i.close()
		return nil, err
	}
	return i, nil
}

// openRunner gives the index what applies the log to it: nothing, to a version of
// the past.
func (i *index) openRunner(o indexOptions) (err error) {
	i.runner, err = projections.New(projections.Options{
		Store: i.store, Log: o.log, Decoder: i.decoder, Projections: i.listProjections(), Until: i.meta.Until,
		DeadLetters: o.deadLetters, Now: boot.Now, Logger: o.Logger, Registerer: o.Registerer,
		Searchable: i.logSearchable(o.Logger),
	})
	return err
}

// logSearchable returns what logs the last step of a push.
func (i *index) logSearchable(logger *slog.Logger) func(projections.Searchable) {
	return func(s projections.Searchable) {
		delivery, err := i.ledger.DeliveryID(s.Cause)
		if err != nil {
			delivery = "" // the line says enough without
		}
		name := ""
		if r, ok := i.catalog.Snapshot().ByID(s.Repository); ok {
			name = r.Name
		}
		logger.Info("push is searchable", "delivery_id", delivery, "repository", name, "repository_id", s.Repository,
			"ref", string(s.Ref), "commit", string(s.Commit), "position", s.Cause.String(), "indexed_position", s.At.String(), "duration", s.Waited)
	}
}

// listProjections are applied and published in this order. The ledger is the last: it
// notes when the others have published.
func (i *index) listProjections() []projections.Projection {
	return []projections.Projection{i.catalog, i.places, i.ledger}
}

// close closes the projections, not the store.
func (i *index) close() {
	i.ledger.Close()
	i.places.Close()
	i.catalog.Close()
}

// openQuery opens the projections and the API over them.
func (s *Server) openQuery(ctx context.Context) error {
	if !s.o.Config.Has(roleQuery) {
		return nil
	}
	if err := s.openVersions(ctx); err != nil {
		return err
	}
	s.positions = newPositionNoter(s.log, s.versions.reportedCheckpoints, s.o.Logger, s.o.Registerer)
	s.numbering = newNumberAssigner(s.accounts, s.versions, s.o.Logger)
	s.registrar.numbering = s.numbering
	s.repositories = &repositories{versions: s.versions, hasNumber: s.numbering.hasNumber}
	if err := s.openAudit(); err != nil {
		return err
	}
	var err error
	if s.auth, err = s.newAuth(); err != nil {
		return err
	}
	return s.openAPI()
}

// openVersions opens the live version of the projections.
func (s *Server) openVersions(ctx context.Context) error {
	home, err := projections.OpenHome(s.o.Config.ProjectionsDir())
	if err != nil {
		return err
	}
	s.frames = segment.NewCache(int(s.o.Config.Cache.FramesBytes))
	s.addCloser(s.frames)
	s.versions = newVersions(s.o, home, s.log, s.segments, s.frames)
	s.versions.damage, s.versions.emptyQuarantine = s.damage, s.segments.EmptyQuarantine
	s.versions.mirrors = func() *mirror.Mirrors {
		if s.pipeline == nil {
			return nil
		}
		return s.pipeline.mirrors
	}
	s.addCloser(s.versions)
	return s.versions.open(ctx)
}

// searchSlack is the time of a request beyond that of its search and of the wait
// before it: a search that reaches its time limit still returns its partial result.
const searchSlack = 15 * time.Second

func (s *Server) openAPI() error {
	c := s.o.Config
	browser, err := s.newBrowser()
	if err != nil {
		return err
	}
	var verifier api.Verifier // nil without mirrors
	if c.Has(rolePipeline) {
		verifier = serverVerifier{s}
	}
	if s.deadLetters, err = s.openDeadLetters(); err != nil {
		return err
	}
	s.versions.failureReason = s.deadLetters.failureReason
	s.apiOptions = api.Options{
		Gate: s.auth, Accounts: s.auth, Audit: auditor{s.recorder}, AuditLog: newAuditLog(s.accounts, s.masterSecret.deriveKey(sealPurpose)),
		Searcher: search.New(search.Options{
			MaxDuration:   c.Query.Timeout.Std(),
			MaxConcurrent: c.Query.MaxConcurrent, MaxWaiting: c.Query.MaxWaiting, MaxWait: c.Query.MaxWait.Std(),
			MaxHeavy: c.Query.MaxHeavy, MaxHeavyWaiting: c.Query.MaxHeavyWaiting,
			MaxScanBytes: int64(c.Query.MaxScanBytes), MaxMemoryBytes: int64(c.Query.MaxMemoryBytes),
			TotalMemoryBytes: int64(c.Query.TotalMemoryBytes), MaxResultBytes: int64(c.Query.MaxResultBytes),
			Contexts: searchContexts(c.Query.Contexts), Registerer: s.o.Registerer,
		}),
		Views:          newViews(s.versions, s.numbering.hasNumber),
		Catalog:        s.repositories,
		Numbers:        s.accounts.numbers,
		Registrar:      s.registrar,
		SelectRefs:     s.selectRefs(),
		Status:         s.newStatusReader(),
		Deliveries:     &deliveryLedger{versions: s.versions, registrar: s.registrar, deadLetters: s.deadLetters.follower},
		DeadLetters:    s.deadLetters,
		Source:         browser,
		Outline:        analyze.Outline{},
		Verifier:       verifier,
		Connections:    connectionKinds(c),
		Ready:          s.checkReady,
		Writable:       s.checkWritable,
		Removable:      s.checkRemovable,
		Replays:        s.versions.replays,
		Erasures:       erasures{s},
		Backups:        s.backups,
		AsOf:           s.versions.asOf,
		Missing:        s.versions.reportMissing,
		Secret:         s.masterSecret.deriveKey("sessions of the Model Context Protocol"),
		Version:        s.o.Version,
		PublicURL:      s.publicURL(),
		Limits:         limitsOf(&c.Limits),
		Hosts:          c.Hosts(),
		AllowedOrigins: c.Access.AllowedOrigins,
		MaxMatches:     c.Query.MaxMatches,
		MaxBodyBytes:   int64(c.Query.MaxBodyBytes),
		SearchTimeout:  c.Query.Timeout.Std() + c.Query.MaxWait.Std() + searchSlack,
		Now:            boot.Now,
		Logger:         s.o.Logger,
		Registerer:     s.o.Registerer,
	}
	server, err := api.New(s.apiOptions)
	if err != nil {
		return err
	}
	s.api = server
	return nil
}

// newBrowser returns what reads files and history. Without mirrors in this process
// it knows what is indexed.
func (s *Server) newBrowser() (*source.Browser, error) {
	o := source.Options{Index: snapshots{s.versions}, ServeUnreachable: s.o.Config.Git.ServeUnreachable, Registerer: s.o.Registerer}
	if s.o.Config.Has(rolePipeline) {
		o.Git = newGitReads(func() *mirror.Mirrors { return s.pipeline.mirrors })
	}
	return source.New(o)
}

func (s *Server) newStatusReader() *statusReader {
	return &statusReader{log: s.log, versions: s.versions, pipelineStatus: s.pipelineStatus}
}

// checkReady is nil once projections and accounts have what the log held at the start, and
// the repositories have numbers. A version that is switched to later is taken as it is.
func (s *Server) checkReady(context.Context) error {
	if !s.versions.caughtUp() {
		if s.versions.startedOver {
			return errRebuilding
		}
		return errCatchingUp
	}
	return s.checkCallersReady()
}

// checkCallersReady returns nil once requests of all callers are answered; before, only
// those of the operator are.
func (s *Server) checkCallersReady() error {
	if err := s.accounts.checkReady(); err != nil {
		return err
	}
	return s.numbering.checkReady()
}
