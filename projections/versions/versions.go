package versions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/erasure"
	"github.com/quarrysearch/quarry/projections/repair"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/snapshots"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/sharding"
	"github.com/quarrysearch/quarry/schemas/tracing"
)

// Versions holds the live version of the projections and replaces it: with one that a
// replay built, or with the previous one. A reader calls Acquire once and uses the
// returned version until it is done.
type Versions struct {
	o Options
	// blocks is Pebble's block cache, which all versions share.
	blocks *store.Cache
	live   atomic.Pointer[Version]
	// ready is set once a live version has caught up with the log. From then on the
	// process is ready, even after a switch.
	ready   atomic.Bool
	replays *Replays
	metrics *versionsMetrics
	// damaged receives the first damaged file that a read of the rows finds.
	damaged chan error
	// rebuilt is set if the live version was damaged at the start and is being rebuilt.
	rebuilt bool

	mu struct {
		sync.Mutex
		open []*Version
		// skipped holds the reasons why snapshots were not used at the start.
		skipped map[string]string
	}
}

// Options are the options of Open. All are required unless noted otherwise.
type Options struct {
	Home *projections.Home
	Log  Log
	// DataDir and TempDir are directories for temporary files.
	DataDir, TempDir string
	// AccountsDir is the directory of the accounts, which an error names.
	AccountsDir string
	// LogDir is the directory of the embedded log, or empty if brokers keep the log.
	LogDir string
	// BlocksBytes is the size of Pebble's block cache.
	BlocksBytes int64
	// PurgeAfter is the time for which the text of removed repositories and branches stays.
	PurgeAfter time.Duration
	// MemoryLimitBytes is the limit of the process, or 0. Two versions that may exceed it
	// are built with a warning.
	MemoryLimitBytes int64
	// Workers is the consumer group of the workers.
	Workers string
	Objects segmentstore.Store
	Frames  *segment.Cache // optional in a Rebuild
	Damage  *repair.Metrics
	// EmptyQuarantine removes the damaged objects of the segment store.
	EmptyQuarantine func(ctx context.Context) (int, error)
	// Mirror returns the git mirror of a repository, or nil if this process has none.
	Mirror func(code.RepositoryID) erasure.Mirror
	// AnalyzeBlobs analyzes documents of a repository that only git may have, and calls add
	// for each that it has. Optional.
	AnalyzeBlobs func(ctx context.Context, id code.RepositoryID, documents []MissingDocument, add func(segment.Document) error) error
	// FailureReason returns the reason if the workers gave up an event.
	FailureReason func(event.Position) (reason string, given bool)
	// DiskFull is called when a store cannot write because the disk is full. Optional.
	DiskFull func()
	// RepairEvery is the interval of repair.Reindexer. Optional.
	RepairEvery time.Duration
	// Share is the part of the partitions whose places the versions hold. A version of
	// another share is replaced. With a share, no object of the segment store is deleted and
	// no erasure is carried out: rows that other processes hold may name the same segments.
	Share sharding.Share
	// PartitionOf returns the partition of a repository in a log of n partitions. It is
	// required with Snapshots or Share.
	PartitionOf func(id code.RepositoryID, n int32) int32
	// Snapshots are the snapshots from which a new node starts, and which name segments.
	// Optional.
	Snapshots *snapshots.Archive
	// FileSystem replaces the disk in simulations. Optional.
	FileSystem store.FileSystem
	// Now replaces time.Now. Optional.
	Now        func() time.Time
	Tracer     *tracing.Tracer // continues the traces of pushes; nil traces nothing
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Log is the part of the event log that versions read and append to.
type Log interface {
	repair.Log
	projections.GroupOffsets
}

var _ io.Closer = (*Versions)(nil)

func newVersions(o Options) *Versions {
	if o.Now == nil {
		o.Now = time.Now
	}
	v := &Versions{o: o, blocks: store.NewCache(o.BlocksBytes), damaged: make(chan error, 1)}
	v.replays, v.metrics = &Replays{versions: v, orders: make(chan *replayOrder, 1)}, newVersionsMetrics(v)
	return v
}

// Open opens the live version. The caller must call Close.
func Open(ctx context.Context, o Options) (*Versions, error) {
	v := newVersions(o)
	if err := v.open(ctx); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// Live returns the live version. It may be closed at any time; use Acquire to keep it
// open.
func (v *Versions) Live() *Version { return v.live.Load() }

// Replays returns the replays of the versions.
func (v *Versions) Replays() *Replays { return v.replays }

// ErrCatchingUp is the reason why projections that have just started are not ready.
var ErrCatchingUp = errors.New("the projections are catching up with the log")

// errRebuilding replaces ErrCatchingUp after damage.
var errRebuilding = errors.New("the projections were damaged and are rebuilt from the log")

// CheckCaughtUp returns nil once a live version has caught up with the log since the
// start of the process.
func (v *Versions) CheckCaughtUp() error {
	switch {
	case v.CaughtUp():
		return nil
	case v.rebuilt:
		return errRebuilding
	}
	return ErrCatchingUp
}

// Registered returns a registered repository. It implements deadletters.Catalog.
func (v *Versions) Registered(id code.RepositoryID) (code.Repository, bool) {
	i := v.Acquire()
	defer i.Release()
	known, ok := i.Catalog.Snapshot().ByID(id)
	if !ok {
		return code.Repository{}, false
	}
	return known.Repository, true
}

// newVersionOptions returns the options of a version over a store.
func (v *Versions) newVersionOptions(s *store.Store, m *versionMetrics) versionOptions {
	o := versionOptions{
		Logger: v.o.Logger, Registerer: m, tracer: v.o.Tracer, now: v.o.Now, store: s, log: v.o.Log, deadLetters: v.o.Log, deletes: v.o.Share.IsAll(), objects: v.o.Objects, cache: v.o.Frames, share: v.o.Share,
		beforePurge: func(context.Context, segment.ID) error { return v.replays.dropPrevious() }, purgeAfter: v.o.PurgeAfter,
	}
	if v.usesSnapshots() && v.o.Share.IsAll() {
		o.deleteSnapshots = v.o.Snapshots.ReleaseSegment
	}
	return o
}

// open opens the live version, and rebuilds it if another version of the program wrote
// it. It also removes what an earlier process left unfinished.
func (v *Versions) open(ctx context.Context) error {
	dir, err := v.o.Home.Current()
	if repair.IsDamage(err) {
		v.o.Logger.Error("pointer to the projections is damaged; using the newest version", "error", err)
		if err := v.o.Home.RepairCurrent(); err != nil {
			return err
		}
		dir, err = v.o.Home.Current()
	}
	if err != nil {
		return err
	}
	i, err := v.openVersion(ctx, dir)
	switch {
	case errors.Is(err, errOtherShare):
		i, err = v.changeShare(ctx, dir, err)
	case errors.Is(err, projections.ErrSchema):
		schema := err
		if i, err = v.startFromSnapshots(ctx, schema.Error(), nil); i == nil && err == nil {
			i, err = v.rebuildVersion(ctx, schema)
		}
	case repair.IsDamage(err):
		i, err = v.startOver(ctx, err)
	}
	if err == nil {
		i, err = v.replaceBehind(ctx, i)
	}
	if err != nil {
		return err
	}
	if err := cmp.Or(v.checkPartitions(ctx, i), v.checkAhead(ctx, i)); err != nil {
		return err
	}
	if err := i.metrics.registerLive(); err != nil {
		return err
	}
	v.live.Store(i)
	if err := errors.Join(v.dropUnused(), v.o.Home.Clean()); err != nil {
		return err
	}
	v.warnFrozen(i)
	return v.registerMetrics()
}

// rebuildVersion rebuilds projections that another version of the program wrote, for the
// given reason, and opens them.
func (v *Versions) rebuildVersion(ctx context.Context, reason error) (*Version, error) {
	v.o.Logger.Info("rebuilding the projections from the log", "reason", reason)
	next, err := v.buildVersion(ctx, &replayOrder{}, func(done, total int64) {
		v.o.Logger.Info("rebuilding", "records", done, "of", total)
	})
	if err != nil {
		return nil, err
	}
	return next, v.o.Home.Switch(next.Store.Dir())
}

// startOver sets the damaged live version aside, and opens a new one in its place, which
// applies the log from the first record.
func (v *Versions) startOver(ctx context.Context, damage error) (*Version, error) {
	dir, err := v.o.Home.Current()
	if err != nil {
		return nil, err
	}
	aside, err := v.o.Home.SetAside()
	if err != nil {
		return nil, errors.Join(damage, err)
	}
	v.o.Damage.CountRebuilt(repair.ScrubbedProjections)
	v.rebuilt = true
	v.o.Logger.Error("projections are damaged; setting them aside and rebuilding them from the log", "directory", dir, "set_aside", aside, "error", damage)
	return v.openVersion(ctx, dir)
}

// checkAhead returns an error if the projections have applied records that the embedded
// log does not contain, because it was lost or replaced with an older copy. New records
// would get the same offsets, and would never be applied.
func (v *Versions) checkAhead(ctx context.Context, i *Version) error {
	if v.o.LogDir == "" || i.Meta.IsFrozen() {
		return nil // the owners of topics may trim or move them
	}
	high, err := v.o.Log.HighWater(ctx, event.TopicEvents)
	if err != nil {
		return fmt.Errorf("compare the projections with the log: %w", err)
	}
	for p, end := range high {
		next, err := i.Store.Checkpoint(int32(p))
		if err != nil {
			return err
		}
		if next > end {
			return fmt.Errorf("the event log in %s ends at record %d of partition %d, and the projections have applied %d: the log was lost, or is an older copy; restore it from the newest backup (quarry restore), or, to go on with the records that it has, remove %s and %s: they are rebuilt from it",
				v.o.LogDir, end, p, next, v.o.Home.Dir(), v.o.AccountsDir)
		}
	}
	return nil
}

// checkPartitions returns an error if the projections have repositories in other partitions
// than the log: they are of a log with another number of partitions, and their positions mean
// other records here.
func (v *Versions) checkPartitions(ctx context.Context, i *Version) error {
	if v.o.PartitionOf == nil || i.Meta.IsFrozen() {
		return nil
	}
	n, err := v.o.Log.Partitions(ctx, event.TopicEvents)
	if err != nil {
		return fmt.Errorf("compare the projections with the log: %w", err)
	}
	if made := i.Meta.Partitions; made != 0 && made != n {
		return fmt.Errorf("the projections are of a log with %d partitions, and this one has %d; remove %s, and the next start rebuilds it", made, n, v.o.Home.Dir())
	}
	view := i.Places.Acquire()
	defer view.Release()
	for _, r := range view.Repositories() {
		if r != nil && v.o.PartitionOf(r.ID, n) != r.Partition {
			return fmt.Errorf("the projections have %s in partition %d, and the log, with %d partitions, has it in %d: they are of another log; remove %s, and the next start rebuilds it",
				r.Name, r.Partition, n, v.o.PartitionOf(r.ID, n), v.o.Home.Dir())
		}
	}
	return nil
}

// warnFrozen logs that a version shows the past.
func (v *Versions) warnFrozen(i *Version) {
	if i.Meta.IsFrozen() {
		v.o.Logger.Warn("the projections show a moment of the past and do not follow the log; quarry replay --rollback returns to the present",
			"asOf", i.Meta.Until.String(), "missingDocuments", i.Meta.Missing.Documents)
	}
}

// openVersion opens the version in dir, without making it live.
func (v *Versions) openVersion(ctx context.Context, dir string) (*Version, error) {
	if err := projections.CheckMark(dir); err != nil {
		return nil, err
	}
	meta, err := v.o.readMeta(dir)
	if err != nil {
		return nil, err
	}
	m, heal := newVersionMetrics(v.o.Registerer), v.newHealer()
	options := store.Options{Cache: v.blocks, DiskFull: v.o.DiskFull, FileSystem: v.o.FileSystem, Logger: v.o.Logger, Registerer: m, OnDamage: v.noteDamage(heal), Remedy: repair.RemedyStart}
	rows, err := store.Open(dir, options)
	if err != nil {
		return nil, fmt.Errorf("open projections: %w", err)
	}
	o := v.newVersionOptions(rows, m)
	o.onDamage = heal.NoteDamage
	if meta.IsFrozen() {
		o.deadLetters, o.deletes = nil, false
	}
	i, err := openVersionRows(ctx, o, meta)
	if err != nil {
		return nil, errors.Join(err, rows.Close())
	}
	i.metrics, i.restorer = m, heal
	return v.registerVersion(i), nil
}

// readMeta reads the Meta of the version in dir, and returns errOtherShare if it is that of
// another share. The Meta of a new version is written first.
func (o *Options) readMeta(dir string) (projections.Meta, error) {
	meta, err := projections.ReadMeta(dir)
	share := o.Share.String()
	if err != nil || meta.Share == share {
		return meta, err
	}
	if files, err := os.ReadDir(dir); errors.Is(err, os.ErrNotExist) || err == nil && len(files) == 0 {
		meta.Share, meta.BegunAt = share, time.Now().UTC()
		return meta, projections.WriteMeta(dir, meta)
	}
	return meta, fmt.Errorf("%w: the projections in %s hold %s, and the settings want %s, which the next start of the server builds",
		errOtherShare, dir, describeShare(meta.Share), describeShare(share))
}

func describeShare(share string) string {
	switch share {
	case "":
		return "all partitions"
	case sharding.NoShare:
		return "no partition, as those of a front"
	}
	return "the share " + share
}

func (v *Versions) newHealer() *repair.Restorer { return repair.NewRestorer(v.o.Logger, v.o.Damage) }

// noteDamage returns the store.Options.OnDamage of a version. The restorer restores
// segments. A damaged file with rows ends the process, because answers without those rows
// may be wrong.
func (v *Versions) noteDamage(h *repair.Restorer) func(*store.DamageError) {
	return func(d *store.DamageError) {
		if d.InSegment() {
			id, _ := segment.IDOfKey(d.First)
			h.NoteDamage(id, d)
			return
		}
		v.NoteDamagedRows(d)
	}
}

// NoteDamagedRows makes Run return, so that the next start rebuilds the rows.
func (v *Versions) NoteDamagedRows(d *store.DamageError) {
	select {
	case v.damaged <- d:
	default: // one is enough to stop the process
	}
}

// registerVersion adds the parts that only a version needs that may become live, and
// registers it for Close.
func (v *Versions) registerVersion(i *Version) *Version {
	i.Fence = projections.NewFence(v.o.Log, v.o.Workers, i.Runner.Checkpoints)
	i.StoreChecker = repair.NewStoreChecker(v.o.Log, v.o.Objects, i.Places.Acquire, v.o.TempDir, v.o.Logger)
	if !i.Meta.IsFrozen() {
		i.Reindexer = repair.New(repair.Options{Every: v.o.RepairEvery, Log: v.o.Log, Acquire: i.Places.Acquire, Applied: i.Fence.AppliedOffset, Current: i.isCurrent, Store: i.StoreChecker, Logger: v.o.Logger, Now: time.Now})
	}
	if !i.Meta.IsFrozen() && v.o.Share.String() != sharding.NoShare {
		i.Eraser = erasure.New(erasure.Options{
			Catalog: i.Catalog, Places: i.Places, Runner: i.Runner, Rows: i.Store, Fence: i.Fence, Objects: v.o.Objects,
			FailureReason: v.o.FailureReason, DropPrevious: v.replays.dropPrevious, DropSnapshots: v.dropSnapshots, EmptyQuarantine: v.o.EmptyQuarantine, Mirror: v.o.Mirror, Logger: v.o.Logger,
			Partial: !v.o.Share.IsAll(),
		})
	}
	i.Superseded, i.handoverDone = make(chan struct{}), make(chan struct{})
	i.refCount.unused = make(chan struct{})
	i.refCount.count.Store(1) // being live is the first use
	v.mu.Lock()
	defer v.mu.Unlock()
	v.mu.open = append(v.mu.open, i)
	return i
}

// Acquire returns the live version, whose store stays open until the caller
// calls Version.Release.
func (v *Versions) Acquire() *Version {
	for {
		if i := v.Live(); i.refCount.tryAcquire() {
			return i
		}
	}
}

// CaughtUp reports whether a live version has caught up with the log since the start of
// the process.
func (v *Versions) CaughtUp() bool {
	if v.ready.Load() {
		return true
	}
	select {
	case <-v.Live().Runner.CaughtUp():
		v.ready.Store(true)
		return true
	default:
		return false
	}
}

// AsOf returns the moment of the past that the live version shows, or an empty string for
// the present.
func (v *Versions) AsOf() string { return v.live.Load().AsOf() }

// AsOf returns the moment of the past that the version shows, or an empty string for the
// present.
func (i *Version) AsOf() string {
	if !i.Meta.IsFrozen() {
		return ""
	}
	return i.Meta.Until.String()
}

// Coverage returns how much of the log a reader sees that acquires a version after the
// call.
func (v *Versions) Coverage() projections.Coverage { return v.Live().Runner.Coverage() }

// Checkpoints returns the checkpoints that are committed to the log and that workers wait
// for. A frozen version reports the end of the log, so that no worker waits for it.
func (v *Versions) Checkpoints() []projections.Checkpoint {
	i := v.Live()
	if !i.Meta.IsFrozen() {
		return i.Runner.Checkpoints()
	}
	ctx, cancel := context.WithTimeout(context.Background(), projections.NoteInterval)
	defer cancel()
	high, err := v.o.Log.HighWater(ctx, event.TopicEvents)
	if err != nil {
		return nil // the next call tries again
	}
	out := make([]projections.Checkpoint, len(high))
	for p, next := range high {
		out[p] = projections.Checkpoint{Partition: int32(p), Next: next}
	}
	return out
}
