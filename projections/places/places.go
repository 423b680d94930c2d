package places

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/erasure"
	"github.com/quarrysearch/quarry/schemas/event"
)

// SchemaVersion is the version of the rows.
const SchemaVersion = 2

// Defaults of Options.
const (
	// DefaultRevisionCacheBytes bounds the cached places of refs other than default
	// branches. A ref of 80,000 files takes about 6 MB.
	DefaultRevisionCacheBytes = 64 << 20
	// DefaultMaxRevisionPlaces bounds the places of one query: about 250 MB.
	DefaultMaxRevisionPlaces = 4 << 20
)

// Options configure Places.
type Options struct {
	Store   *store.Store
	Decoder *projections.Decoder
	// Objects holds the segments that events name.
	Objects segmentstore.Store
	// DeleteObjects makes this process delete the objects of segments that were merged
	// away. Exactly one process of an installation must do this, and not one that
	// rebuilds; see TakeOver.
	DeleteObjects bool
	// BeforePurge is called before a segment with text of a removed repository or branch
	// is deleted, so that owners of copies can delete them. If it fails, the segment
	// stays and the deletion is retried. It may be nil if there are no copies.
	BeforePurge func(ctx context.Context, id segment.ID) error
	// DeleteSnapshots deletes the snapshots that name a segment. It is called for a segment
	// with text of a removed repository or branch half of PurgeAfter after the removal, and
	// immediately for an erasure. If it fails, the segment stays and the deletion is
	// retried. It may be nil if there are no snapshots.
	DeleteSnapshots func(ctx context.Context, id segment.ID) error
	// PurgeAfter bounds the time from a removal until its text is deleted from disk.
	PurgeAfter time.Duration
	// OnDamage is called when a reader finds that a segment is corrupted. It may be called
	// repeatedly and concurrently for a segment, and must not block. It is optional.
	OnDamage func(id segment.ID, err error)
	// KeepSegments keeps segments in the store that no row names, for a rebuild whose
	// records will name them.
	KeepSegments bool
	// Cache holds decompressed text for all readers; nil disables caching.
	Cache *segment.Cache
	// RevisionCacheBytes bounds the cache of View.Revisions. Default:
	// DefaultRevisionCacheBytes; negative disables the cache.
	RevisionCacheBytes int64
	// MaxRevisionPlaces bounds the places that one call of View.Revisions returns.
	// Default: DefaultMaxRevisionPlaces.
	MaxRevisionPlaces int
	// Logger is optional.
	Logger *slog.Logger
	// Registerer registers the metrics; optional.
	Registerer prometheus.Registerer
}

// Places is the projection of manifests, documents and places.
type Places struct {
	store         *store.Store
	decoder       *projections.Decoder
	objects       segmentstore.Store
	deleteObjects atomic.Bool
	beforePurge   func(ctx context.Context, id segment.ID) error
	dropSnapshots func(ctx context.Context, id segment.ID) error
	purgeAfter    time.Duration
	keepSegments  bool
	onDamage      func(id segment.ID, err error)
	cache         *segment.Cache
	log           *slog.Logger
	metrics       *metrics
	sweep         *sweeper
	revisions     *revisionCache
	maxPlaces     int
	view          atomic.Pointer[View]

	mu struct {
		sync.Mutex
		partitions map[int32]*partition
		// index numbers the repositories in the order in which this process first saw
		// them; numbers are never reused.
		index map[code.RepositoryID]uint32
		// erasures are the erasures requested in the log.
		erasures map[event.Position]*erasure.Erasure
	}
}

var (
	_ projections.Stateful = (*Places)(nil)
	_ projections.Owner    = (*Places)(nil)
)

// Open reads the state of the store: segments, repositories, refs and the places of
// default branches. It excises segments that no row names. The caller must call Run to
// have merged segments removed, and Close at the end.
func Open(ctx context.Context, o Options) (*Places, error) {
	if o.Store == nil || o.Decoder == nil || o.Objects == nil {
		return nil, errors.New("places: want a store, a decoder and a segment store")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.RevisionCacheBytes == 0 {
		o.RevisionCacheBytes = DefaultRevisionCacheBytes
	}
	if o.MaxRevisionPlaces <= 0 {
		o.MaxRevisionPlaces = DefaultMaxRevisionPlaces
	}
	p := &Places{
		store:         o.Store,
		decoder:       o.Decoder,
		objects:       o.Objects,
		beforePurge:   o.BeforePurge,
		keepSegments:  o.KeepSegments,
		dropSnapshots: o.DeleteSnapshots,
		purgeAfter:    o.PurgeAfter,
		onDamage:      o.OnDamage,
		cache:         o.Cache,
		log:           o.Logger,
		sweep:         newSweeper(),
		revisions:     newRevisionCache(o.RevisionCacheBytes),
		maxPlaces:     o.MaxRevisionPlaces,
	}
	p.deleteObjects.Store(o.DeleteObjects)
	p.mu.partitions, p.mu.index = map[int32]*partition{}, map[code.RepositoryID]uint32{}
	p.mu.erasures = map[event.Position]*erasure.Erasure{}
	if err := p.loadState(ctx); err != nil {
		return nil, err
	}
	p.publishAll()
	p.metrics = newMetrics(o.Registerer, p)
	return p, nil
}

// Close releases the current View and unregisters the metrics. The caller must have
// released all Views, and Run must have returned.
func (p *Places) Close() {
	p.metrics.group.Close()
	p.view.Load().Release()
}

// Name implements projections.Projection.
func (p *Places) Name() string { return "places" }

// SchemaVersion implements projections.Projection.
func (p *Places) SchemaVersion() int { return SchemaVersion }

// Family implements projections.Owner.
func (p *Places) Family() store.Family { return store.FamilyPlaces }

// Apply implements projections.Projection.
func (p *Places) Apply(ctx context.Context, b *store.Batch, rec event.Record) error {
	ev, err := p.decoder.Event(rec)
	if err != nil {
		return err
	}
	switch e := ev.(type) {
	case *event.RevisionIndexed:
		return p.newChange(b, rec.Position).applyRevision(ctx, rec, e)
	case *event.SegmentsMerged:
		return p.newChange(b, rec.Position).applyMerge(ctx, e)
	case *event.RepositoryRegistered:
		return p.newChange(b, rec.Position).registerRepository(e.Repository, true)
	case *event.RepositoryChanged:
		return p.newChange(b, rec.Position).registerRepository(e.Repository, false)
	case *event.RepositoryRemoved:
		c := p.newChange(b, rec.Position)
		if e.Erase {
			if err := c.noteErasure(erasure.Erasure{Repository: e.Repository, RequestedAt: e.At}); err != nil {
				return err
			}
		}
		return c.removeRepository(e.Repository, e.At)
	case *event.ErasureRequested:
		return p.newChange(b, rec.Position).applyErasure(e)
	}
	return nil
}

// ensurePartition returns the state of a partition, and creates it on the first call.
func (p *Places) ensurePartition(number int32) *partition {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ensurePartitionLocked(number)
}

func (p *Places) ensurePartitionLocked(number int32) *partition {
	part := p.mu.partitions[number]
	if part == nil {
		part = newPartition(number)
		p.mu.partitions[number] = part
	}
	return part
}
