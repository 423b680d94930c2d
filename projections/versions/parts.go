package versions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/snapshots"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/sharding"
)

// A version of a share has parts: the rest, which are the rows that belong to no partition, and
// the rows and segments of each partition. They come from snapshots, each with its own
// positions, and, if the share has changed, from the version of the share before. A partition
// that nothing has is replayed. Until the log is applied up to the highest of the positions, a
// record is applied only to the parts that lack it (projections.Meta.Ahead).

// errOtherShare reports that a version holds another share than that of the settings.
var errOtherShare = errors.New("the share has changed")

// oldVersion is the closed version of the share before.
type oldVersion struct {
	dir  string
	meta projections.Meta
	kept func(partition int32) bool
}

// changeShare replaces the live version in dir, which holds another share, with one of the share
// of the settings. What both hold is kept, and partitions that join come from snapshots. The
// version in dir stays the live one until the other one is complete.
func (v *Versions) changeShare(ctx context.Context, dir string, reason error) (*Version, error) {
	meta, err := projections.ReadMeta(dir)
	if err != nil {
		return nil, err
	}
	held, err := sharding.ParseShare(meta.Share, "")
	if err == nil && !meta.IsFrozen() && !v.o.Share.IsAll() {
		old := &oldVersion{dir, meta, func(p int32) bool { return held.Has(p) && v.o.Share.Has(p) }}
		if i, err := v.startFromSnapshots(ctx, reason.Error(), old); i != nil || err != nil {
			return i, err
		}
	}
	v.o.Logger.Warn("replacing the projections", "directory", dir, "reason", reason)
	if dir, err = v.o.Home.Next(); err != nil {
		return nil, err
	}
	i, err := v.openVersion(ctx, dir)
	if err != nil {
		return nil, err
	}
	return i, v.o.Home.Switch(dir)
}

// dropUnused removes the previous version if it is of a share, or of another one. No rollback returns
// to another one, and a process with a share keeps none: it has no eraser, so text that is erased
// would stay there.
func (v *Versions) dropUnused() error {
	previous, err := v.o.Home.Previous()
	if err != nil || previous == "" {
		return err
	}
	if meta, err := projections.ReadMeta(previous); v.o.Share.IsAll() && (err != nil || meta.Share == "") {
		return nil // damage is reported when the version is used
	}
	return v.o.Home.DropPrevious()
}

// partsBuilder builds a version from parts.
type partsBuilder struct {
	v          *Versions
	partitions int32 // of the log
	old        *oldVersion
	parts      []snapshots.Part
	// failed is the name of the snapshot that could not be loaded.
	failed string
	// rest and places hold, by partition, the offset of the next record that the rest and the
	// places have yet to apply.
	rest, places []event.Offset
}

// planParts chooses the snapshots, of a list with the newest first. A process with all partitions
// uses one snapshot of all: others lack the objects to delete.
func (b *partsBuilder) planParts(list []snapshots.Snapshot) {
	share := b.v.o.Share
	needsRest, has := b.old == nil, make([]bool, b.partitions)
	for _, s := range list {
		m := s.Manifest
		if share.IsAll() {
			if m.IsWhole() && len(b.parts) == 0 {
				b.parts = []snapshots.Part{snapshots.WholePart(m)}
			}
			continue
		}
		part := snapshots.Part{Manifest: m, Rest: needsRest && len(m.Partitions) > 0}
		for p := range b.partitions {
			if share.Has(p) && m.Has(p) && !has[p] && !b.isKept(p) {
				part.Partitions, has[p] = append(part.Partitions, p), true
			}
		}
		if part.Rest || len(part.Partitions) > 0 {
			b.parts, needsRest = append(b.parts, part), needsRest && !part.Rest
		}
	}
}

func (b *partsBuilder) isKept(partition int32) bool { return b.old != nil && b.old.kept(partition) }

// buildVersion builds the version next to the live one, and opens it. After an error, the version is
// removed; those that processes left which were killed are removed first, or they would fill the disk.
func (b *partsBuilder) buildVersion(ctx context.Context) (i *Version, err error) {
	v := b.v
	if err := v.o.Home.Clean(); err != nil {
		return nil, err
	}
	dir, err := v.o.Home.Next()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, store.Remove(dir))
		}
	}()
	if b.old != nil {
		if err := v.copyRows(b.old.dir, dir); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, part := range b.parts {
		names = append(names, part.Manifest.Name)
	}
	meta := projections.Meta{Snapshot: strings.Join(names, ","), Share: v.o.Share.String(), BegunAt: time.Now().UTC()}
	if err := projections.WriteMeta(dir, meta); err != nil {
		return nil, err
	}
	rows, err := store.Open(dir, store.Options{Cache: v.blocks, DiskFull: v.o.DiskFull, FileSystem: v.o.FileSystem, Logger: v.o.Logger})
	if err != nil {
		return nil, err
	}
	meta.Ahead, err = b.loadParts(ctx, rows)
	if err := errors.Join(err, rows.Close()); err != nil {
		return nil, err
	}
	meta.Schemas, meta.CompletedAt = v.SnapshotContents().Schemas, time.Now().UTC()
	if err := projections.WriteMeta(dir, meta); err != nil {
		return nil, err
	}
	return v.openVersion(ctx, dir)
}

// copyRows copies the version in from to a directory that does not exist. Files are links.
func (v *Versions) copyRows(from, to string) error {
	rows, err := store.Open(from, store.Options{Cache: v.blocks, DiskFull: v.o.DiskFull, FileSystem: v.o.FileSystem, Logger: v.o.Logger})
	if err != nil {
		return err
	}
	for name, version := range v.SnapshotContents().Schemas {
		known, schemaErr := rows.Schema(name)
		if err = errors.Join(err, schemaErr); err == nil && known != version {
			err = fmt.Errorf("%s has rows of version %d, this program writes %d: %w", name, known, version, projections.ErrSchema)
		}
	}
	if err == nil {
		err = rows.Backup(to)
	}
	return errors.Join(err, rows.Close())
}

// loadParts drops the partitions that are not kept from the rows of the version before, loads the
// parts, and sets the checkpoints to the lower one of the positions of the rest and the places.
// It returns which projections are ahead of them.
func (b *partsBuilder) loadParts(ctx context.Context, rows *store.Store) (ahead map[string]map[int32]event.Offset, err error) {
	contents := b.v.SnapshotContents()
	b.rest, b.places = make([]event.Offset, b.partitions), make([]event.Offset, b.partitions)
	if b.old != nil {
		if err := b.keepPartitions(rows); err != nil {
			return nil, err
		}
	}
	for _, part := range b.parts {
		if err := b.v.o.Snapshots.Load(ctx, part, rows, contents); err != nil {
			b.failed = part.Manifest.Name
			return nil, err
		}
		for _, at := range part.Manifest.Positions { // of as many partitions as the log has: Load has checked it
			if part.Rest {
				b.rest[at.Partition] = at.Next
			}
		}
		for _, p := range part.Partitions {
			b.places[p] = part.Manifest.Positions[p].Next
		}
	}
	if b.v.o.Share.IsAll() {
		return nil, nil // one snapshot, with one position for each partition
	}
	ahead = map[string]map[int32]event.Offset{}
	batch := rows.NewBatch()
	for p := range b.partitions {
		at := map[string]event.Offset{}
		next := b.rest[p]
		for name := range contents.Schemas {
			at[name] = b.rest[p]
		}
		if b.v.o.Share.Has(p) {
			at[placesName], next = b.places[p], min(next, b.places[p])
		}
		for name, offset := range at {
			if offset > next {
				if ahead[name] == nil {
					ahead[name] = map[int32]event.Offset{}
				}
				ahead[name][p] = offset
			}
		}
		before, err := rows.Checkpoint(p)
		if err == nil && next != before {
			err = batch.SetCheckpoint(p, next)
		}
		if err != nil {
			return nil, errors.Join(err, batch.Close())
		}
	}
	if err := batch.Commit(); err != nil {
		return nil, err
	}
	return ahead, rows.Sync()
}

// placesName and catalogName are the names of the projection with the rows of partitions, and of
// one with the rest.
var (
	placesName  = (&places.Places{}).Name()
	catalogName = (&catalog.Catalog{}).Name()
)

// keepPartitions deletes the rows of the partitions that are not kept, and reads the positions of
// those that are, and of the rest. The segments of deleted rows go when the version is opened.
func (b *partsBuilder) keepPartitions(rows *store.Store) error {
	ranges, err := b.v.o.partitionRanges(rows, b.partitions)
	if err != nil {
		return err
	}
	batch := rows.NewBatch()
	for p := range b.partitions {
		next, err := rows.Checkpoint(p)
		if err != nil {
			return errors.Join(err, batch.Close())
		}
		b.rest[p] = max(next, b.old.meta.Ahead[catalogName][p])
		if b.old.kept(p) {
			b.places[p] = max(next, b.old.meta.Ahead[placesName][p])
			continue
		}
		for _, r := range ranges(p) {
			if err := batch.DeleteRange(r.Lo, r.Hi); err != nil {
				return errors.Join(err, batch.Close())
			}
		}
	}
	return batch.Commit()
}
