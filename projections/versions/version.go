package versions

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/deliveries"
	"github.com/quarrysearch/quarry/projections/erasure"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/repair"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/sharding"
	"github.com/quarrysearch/quarry/schemas/tracing"
)

// Version holds the projections of one version over its store.
type Version struct {
	Catalog      *catalog.Catalog
	Places       *places.Places
	Ledger       *deliveries.Ledger
	Runner       *projections.Runner
	Reindexer    *repair.Reindexer // nil in a rebuild
	StoreChecker *repair.StoreChecker
	restorer     *repair.Restorer
	Eraser       *erasure.Eraser // nil in a rebuild, in a version of the past, and in a front

	// The following fields are set in a version that is, or may become, the live one.
	Store    *store.Store
	decoder  *projections.Decoder
	Meta     projections.Meta
	metrics  *versionMetrics
	Fence    *projections.Fence
	refCount refCount
	// Superseded is closed when another version is live, handoverDone when this version
	// has replaced the previous one.
	Superseded, handoverDone chan struct{}
}

// versionOptions are the options of a version.
type versionOptions struct {
	Logger      *slog.Logger
	Registerer  prometheus.Registerer
	tracer      *tracing.Tracer
	now         func() time.Time
	store       *store.Store
	log         projections.Tailer
	deadLetters projections.Appender // nil in a rebuild
	objects     segmentstore.Store
	cache       *segment.Cache
	// share is the part of the partitions whose places the version holds.
	share sharding.Share
	// deletes records which objects to delete when a merge is applied.
	deletes bool
	// beforePurge is called before text of a removed repository or branch is deleted.
	beforePurge func(ctx context.Context, id segment.ID) error
	// deleteSnapshots deletes the snapshots that name a segment; optional.
	deleteSnapshots func(ctx context.Context, id segment.ID) error
	purgeAfter      time.Duration
	// onDamage is called when a reader finds that a segment is corrupted; optional.
	onDamage func(id segment.ID, err error)
	// rebuilding keeps segments in the store that no row names yet.
	rebuilding bool
}

// openProjections opens the projections of a store.
func openProjections(ctx context.Context, o versionOptions, decoder *projections.Decoder) (*Version, error) {
	repositories, err := catalog.Open(catalog.Options{Store: o.store, Decoder: decoder, Logger: o.Logger, Registerer: o.Registerer})
	if err != nil {
		return nil, fmt.Errorf("open catalog: %w", err)
	}
	where, err := places.Open(ctx, places.Options{
		Store:           o.store,
		Decoder:         decoder,
		Objects:         o.objects,
		DeleteObjects:   o.deletes,
		BeforePurge:     o.beforePurge,
		KeepSegments:    o.rebuilding,
		DeleteSnapshots: o.deleteSnapshots,
		PurgeAfter:      o.purgeAfter,
		OnDamage:        o.onDamage,
		Cache:           o.cache,
		Logger:          o.Logger,
		Registerer:      o.Registerer,
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
	return &Version{Catalog: repositories, Places: where, Ledger: ledger, Store: o.store, decoder: decoder}, nil
}

// currentAge is the age of a coverage with which a version knows the whole log well enough
// to request what is missing.
const currentAge = 5 * time.Second

// isCurrent reports whether the version has applied the log up to currentAge ago.
func (i *Version) isCurrent() bool { return i.Runner != nil && i.Runner.Coverage().Age <= currentAge }

// OpenRows opens the projections of a store for a runner of another owner. It returns a
// function that closes them.
func OpenRows(ctx context.Context, s *store.Store, objects segmentstore.Store, d *projections.Decoder, logger *slog.Logger) ([]projections.Projection, func(), error) {
	i, err := openProjections(ctx, versionOptions{Logger: logger, store: s, objects: objects}, d)
	if err != nil {
		return nil, nil, err
	}
	return i.listProjections(), i.close, nil
}

// FindProjections returns the catalog and the places among the projections of OpenRows.
func FindProjections(all []projections.Projection) (known *catalog.Catalog, where *places.Places) {
	for _, p := range all {
		switch p := p.(type) {
		case *catalog.Catalog:
			known = p
		case *places.Places:
			where = p
		}
	}
	return known, where
}

// openVersionRows opens the projections of a store and the runner that applies the log to
// them.
func openVersionRows(ctx context.Context, o versionOptions, meta projections.Meta) (*Version, error) {
	i, err := openProjections(ctx, o, projections.NewDecoder(o.objects))
	if err != nil {
		return nil, err
	}
	i.Meta = meta
	if err := i.openRunner(o); err != nil {
		i.close()
		return nil, err
	}
	return i, nil
}

// openRunner opens the runner that applies the log. In a version of the past, it applies
// the log only up to that moment.
func (i *Version) openRunner(o versionOptions) (err error) {
	i.Runner, err = projections.New(projections.Options{
		Store: i.Store, Log: o.log, Decoder: i.decoder, Projections: i.listProjections(), Until: i.Meta.Until,
		DeadLetters: o.deadLetters, Tracer: o.tracer, Now: o.now, Logger: o.Logger, Registerer: o.Registerer,
		Searchable: i.logSearchable(o.Logger), Holds: holdsOf(o.share), Ahead: i.Meta.Ahead,
	})
	return err
}

// holdsOf returns projections.Options.Holds of a share, which bounds the places only: the
// catalog and the ledger are whole in each process.
func holdsOf(share sharding.Share) func(projections.Projection, int32) bool {
	return func(p projections.Projection, partition int32) bool {
		_, isPlaces := p.(*places.Places)
		return !isPlaces || share.Has(partition)
	}
}

// logSearchable returns a function that logs the last step of a push.
func (i *Version) logSearchable(logger *slog.Logger) func(projections.Searchable) {
	return func(s projections.Searchable) {
		_, delivery, err := i.Ledger.OfPush(s.Cause)
		if err != nil {
			delivery = "" // the log line is useful without it
		}
		name := ""
		if r, ok := i.Catalog.Snapshot().ByID(s.Repository); ok {
			name = r.Name
		}
		attrs := []any{"delivery_id", delivery, "repository", name, "repository_id", s.Repository,
			"ref", string(s.Ref), "commit", string(s.Commit), "position", s.Cause.String(), "indexed_position", s.At.String(), "duration", s.Waited}
		if s.TraceID != "" {
			attrs = append(attrs, tracing.IDKey, s.TraceID)
		}
		logger.Info("push is searchable", attrs...)
	}
}

// listProjections returns the projections in the order in which they are applied and
// published. The ledger is last, because it records when the others have published.
func (i *Version) listProjections() []projections.Projection {
	return []projections.Projection{i.Catalog, i.Places, i.Ledger}
}

// Release ends the use that Acquire began.
func (i *Version) Release() { i.refCount.release() }

// close closes the projections, but not the store.
func (i *Version) close() {
	i.Ledger.Close()
	i.Places.Close()
	i.Catalog.Close()
}
