package versions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/deliveries"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/repair"
	"github.com/quarrysearch/quarry/projections/snapshots"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// logTimeout bounds a look at the log that decides whether a node is too far behind.
const logTimeout = 10 * time.Second

// The results of an attempt to start from a snapshot.
const (
	loadUsed    = "used"
	loadSkipped = "skipped"
)

// SnapshotContents describes the rows of the projections.
func (v *Versions) SnapshotContents() snapshots.Contents {
	return snapshots.Contents{
		Schemas: map[string]int{"catalog": catalog.SchemaVersion, "places": places.SchemaVersion, "deliveries": deliveries.SchemaVersion},
		Edit:    places.SnapshotRow, Segments: places.StoredSegments, Ranges: v.o.partitionRanges,
		Share: v.o.Share.String(), Holds: v.o.Share.Has,
	}
}

// partitionRanges is snapshots.Contents.Ranges.
func (o *Options) partitionRanges(r store.Reader, n int32) (func(partition int32) []store.Range, error) {
	return places.PartitionRanges(r, func(id code.RepositoryID) int32 { return o.PartitionOf(id, n) })
}

// SkippedSnapshots returns the reasons why snapshots were not used at the start, by name.
func (v *Versions) SkippedSnapshots() map[string]string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.mu.skipped)
}

// usesSnapshots reports whether versions start from snapshots.
func (v *Versions) usesSnapshots() bool { return v.o.Snapshots != nil && v.o.FileSystem == nil }

// replaceBehind returns a version from a snapshot in place of i if i is empty, or if the log
// no longer has the records that it lacks. Otherwise, and without a snapshot, it returns i.
func (v *Versions) replaceBehind(ctx context.Context, i *Version) (*Version, error) {
	if !v.usesSnapshots() || i.Meta.IsFrozen() {
		return i, nil
	}
	reason, err := v.behindReason(ctx, i.Store)
	if err != nil {
		v.o.Logger.Warn("cannot decide whether to start from a snapshot; following the log from the position of the projections", "error", err)
		return i, ctx.Err()
	}
	if reason == "" {
		return i, nil
	}
	next, err := v.startFromSnapshots(ctx, reason, nil)
	if err != nil || next == nil {
		return i, err
	}
	return next, errors.Join(v.discardVersion(i), v.o.Home.DropPrevious())
}

// behindReason returns why projections should start from a snapshot, or an empty string.
func (v *Versions) behindReason(ctx context.Context, rows *store.Store) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	high, err := v.o.Log.HighWater(ctx, event.TopicEvents)
	if err != nil {
		return "", err
	}
	checkpoints := make([]event.Offset, len(high))
	empty := true
	for p := range high {
		if checkpoints[p], err = rows.Checkpoint(int32(p)); err != nil {
			return "", err
		}
		empty = empty && checkpoints[p] == 0
	}
	if empty && slices.ContainsFunc(high, func(end event.Offset) bool { return end > 0 }) {
		return "the projections are empty", nil
	}
	for p, end := range high {
		for _, err := range event.ReadRange(ctx, v.o.Log, event.TopicEvents, int32(p), checkpoints[p], end) {
			if errors.Is(err, event.ErrOffsetOutOfRange) {
				return fmt.Sprintf("the log no longer has record %d of partition %d, the next one to apply", checkpoints[p], p), nil
			}
			if err != nil {
				return "", err
			}
			break
		}
	}
	return "", nil
}

// startFromSnapshots builds a version from the newest snapshots that can be used, and from the
// version old unless it is nil, and makes it the live one of the home. It returns nil if there
// is neither: the caller then replays the log. The new version is complete before the home
// names it.
func (v *Versions) startFromSnapshots(ctx context.Context, reason string, old *oldVersion) (*Version, error) {
	var list []snapshots.Snapshot
	if v.usesSnapshots() {
		var err error
		if list, err = v.o.Snapshots.List(ctx); err != nil {
			v.o.Logger.Warn("cannot list the snapshots; replaying the log", "error", err)
		}
	}
	n, err := v.o.Log.Partitions(ctx, event.TopicEvents)
	if err != nil {
		return nil, err
	}
	skip := func(name, problem string) {
		v.mu.Lock()
		if v.mu.skipped == nil {
			v.mu.skipped = map[string]string{}
		}
		v.mu.skipped[name] = problem
		v.mu.Unlock()
		v.metrics.loads.WithLabelValues(loadSkipped).Inc()
		v.o.Logger.Warn("skipping a snapshot", "snapshot", name, "error", problem)
		list = slices.DeleteFunc(list, func(s snapshots.Snapshot) bool { return s.Name == name })
	}
	for _, s := range slices.Clone(list) {
		if s.Manifest == nil {
			skip(s.Name, s.Problem)
		}
	}
	for found := len(list); ; {
		b := &partsBuilder{v: v, partitions: n, old: old}
		b.planParts(list)
		if len(b.parts) == 0 && old == nil {
			v.o.Logger.Info("no snapshot can be used; replaying the log", "reason", reason, "snapshots", found)
			return nil, ctx.Err()
		}
		began := time.Now()
		i, err := b.buildVersion(ctx)
		switch {
		case ctx.Err() != nil:
			return nil, errors.Join(ctx.Err(), err)
		case err != nil && b.failed == "" && old != nil:
			if !repair.IsDamage(err) && !errors.Is(err, projections.ErrSchema) {
				return nil, err
			}
			v.o.Logger.Warn("cannot keep the projections of another share", "directory", old.dir, "error", err)
			old = nil
			continue
		case err != nil:
			skip(cmp.Or(b.failed, b.parts[0].Manifest.Name), err.Error())
			continue
		}
		for _, part := range b.parts {
			v.metrics.loads.WithLabelValues(loadUsed).Inc()
			v.o.Logger.Info("started from a snapshot; following the log from there", "snapshot", part.Manifest.Name, "reason", reason,
				"rows", part.Manifest.Rows(), "segments", part.Manifest.Segments, "bytes", part.Manifest.Bytes(),
				"partitions", part.Partitions, "duration", time.Since(began))
		}
		return i, v.o.Home.Switch(i.Store.Dir())
	}
}

// dropSnapshots deletes the snapshots that have not applied an erasure.
func (v *Versions) dropSnapshots(ctx context.Context, at event.Position) error {
	if v.o.Snapshots == nil {
		return nil
	}
	return v.o.Snapshots.DeleteBefore(ctx, at)
}
