package versions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/deliveries"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/snapshots"
	"github.com/quarrysearch/quarry/projections/store"
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
func SnapshotContents() snapshots.Contents {
	return snapshots.Contents{
		Schemas: map[string]int{"catalog": catalog.SchemaVersion, "places": places.SchemaVersion, "deliveries": deliveries.SchemaVersion},
		Edit:    places.SnapshotRow, Segments: places.StoredSegments,
	}
}

// SkippedSnapshots returns the reasons why snapshots were not used at the start, by name.
func (v *Versions) SkippedSnapshots() map[string]string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.mu.skipped)
}

// usesSnapshots reports whether versions start from snapshots. All snapshots are of all
// partitions, so a process with a share replays the log.
func (v *Versions) usesSnapshots() bool {
	return v.o.Snapshots != nil && v.o.FileSystem == nil && v.o.Share.IsAll()
}

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
	next, err := v.startFromSnapshot(ctx, reason)
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
	var applied, records event.Offset
	for p, end := range high {
		next, err := rows.Checkpoint(int32(p))
		if err != nil {
			return "", err
		}
		applied, records = applied+next, records+end
		if next == 0 || next >= end {
			continue
		}
		for _, err := range event.ReadRange(ctx, v.o.Log, event.TopicEvents, int32(p), next, end) {
			if errors.Is(err, event.ErrOffsetOutOfRange) {
				return fmt.Sprintf("the log no longer has record %d of partition %d, the next one to apply", next, p), nil
			}
			if err != nil {
				return "", err
			}
			break
		}
	}
	if applied == 0 && records > 0 {
		return "the projections are empty", nil
	}
	return "", nil
}

// startFromSnapshot builds a version from the newest snapshot that can be used and makes it
// the live one of the home. It returns nil if there is none: the caller then replays the
// log. The new version is complete before the home names it.
func (v *Versions) startFromSnapshot(ctx context.Context, reason string) (*Version, error) {
	if !v.usesSnapshots() {
		return nil, nil
	}
	list, err := v.o.Snapshots.List(ctx)
	if err != nil {
		v.o.Logger.Warn("cannot list the snapshots; replaying the log", "error", err)
		return nil, ctx.Err()
	}
	for _, s := range list {
		began := time.Now()
		i, err := v.loadSnapshot(ctx, s)
		if ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), err)
		}
		if err == nil {
			v.metrics.loads.WithLabelValues(loadUsed).Inc()
			v.o.Logger.Info("started from a snapshot; following the log from there", "snapshot", s.Name, "reason", reason, "rows", s.Manifest.Rows(),
				"segments", s.Manifest.Segments, "bytes", s.Manifest.Bytes(), "duration", time.Since(began))
			return i, v.o.Home.Switch(i.Store.Dir())
		}
		v.mu.Lock()
		if v.mu.skipped == nil {
			v.mu.skipped = map[string]string{}
		}
		v.mu.skipped[s.Name] = err.Error()
		v.mu.Unlock()
		v.metrics.loads.WithLabelValues(loadSkipped).Inc()
		v.o.Logger.Warn("skipping a snapshot", "snapshot", s.Name, "error", err)
	}
	v.o.Logger.Info("no snapshot can be used; replaying the log", "reason", reason, "snapshots", len(list))
	return nil, nil
}

// loadSnapshot builds a version from a snapshot, next to the live one, and opens it. After an
// error, the version is removed.
func (v *Versions) loadSnapshot(ctx context.Context, s snapshots.Snapshot) (i *Version, err error) {
	if s.Manifest == nil {
		return nil, errors.New(s.Problem)
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
	meta := projections.Meta{Snapshot: s.Name, BegunAt: time.Now().UTC()}
	if err := projections.WriteMeta(dir, meta); err != nil {
		return nil, err
	}
	rows, err := store.Open(dir, store.Options{Cache: v.blocks, DiskFull: v.o.DiskFull, Logger: v.o.Logger})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(v.o.Snapshots.Load(ctx, s.Manifest, rows, SnapshotContents()), rows.Close()); err != nil {
		return nil, err
	}
	meta.Schemas, meta.CompletedAt = s.Manifest.Schemas, time.Now().UTC()
	if err := projections.WriteMeta(dir, meta); err != nil {
		return nil, err
	}
	return v.openVersion(ctx, dir)
}

// dropSnapshots deletes the snapshots that have not applied an erasure.
func (v *Versions) dropSnapshots(ctx context.Context, at event.Position) error {
	if v.o.Snapshots == nil {
		return nil
	}
	return v.o.Snapshots.DeleteBefore(ctx, at)
}
