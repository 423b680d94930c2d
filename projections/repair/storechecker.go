package repair

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// storeCheckInterval is the interval at which the segment store is compared with the live
// projections.
const storeCheckInterval = 10 * time.Second

// A StoreChecker ensures that the segment store contains everything that the live
// projections have ingested, because a rebuild would lose it otherwise. A missing segment
// is rewritten from the projections with the same bytes. If their copy is damaged, the
// Reindexer re-indexes its documents.
type StoreChecker struct {
	objects segmentstore.Store
	acquire func() *places.View
	dir     string // for temporary files
	// lostChanges returns the refs that a rebuild could not bring up to date.
	lostChanges    func(ctx context.Context, v *places.View) (LostChanges, error)
	logger         *slog.Logger
	unstored       atomic.Pointer[UnstoredSet] // nil if nothing is unstored
	completeChecks atomic.Int64                // number of checks that found nothing missing
	lastBegan      atomic.Pointer[time.Time]   // when the last successful check began; nil before the first
	checkMutex     sync.Mutex
}

// NewStoreChecker returns a StoreChecker that compares a version with the segment store.
// Temporary files are written below dir.
func NewStoreChecker(log projections.Tailer, objects segmentstore.Store, acquire func() *places.View, dir string, logger *slog.Logger) *StoreChecker {
	return &StoreChecker{
		objects: objects, acquire: acquire, dir: dir, logger: logger,
		lostChanges: func(ctx context.Context, view *places.View) (LostChanges, error) {
			return findLostChanges(ctx, log, objects, view)
		},
	}
}

// Unstored returns what the last check left to re-index, or nil if nothing is left.
func (k *StoreChecker) Unstored() *UnstoredSet { return k.unstored.Load() }

// LastBegan returns the time at which the last successful check began: Unstored includes
// everything that was missing then. It returns false before the first one.
func (k *StoreChecker) LastBegan() (time.Time, bool) {
	began := k.lastBegan.Load()
	if began == nil {
		return time.Time{}, false
	}
	return *began, true
}

// UnstoredSet contains what the live projections have and a rebuild would lose.
type UnstoredSet struct {
	Documents map[code.DocumentKey]bool
	Changes   LostChanges
}

// LostChanges contains refs of whose events the segment store lacks the changes.
type LostChanges map[code.RepositoryID]map[code.Ref]bool

// countRefs returns the number of refs.
func (l LostChanges) countRefs() (n int) {
	for _, refs := range l {
		n += len(refs)
	}
	return n
}

func (u *UnstoredSet) isEmpty() bool { return u.CountAll() == 0 }

// CountAll returns the number of documents and refs.
func (u *UnstoredSet) CountAll() int {
	if u == nil {
		return 0
	}
	return len(u.Documents) + u.Changes.countRefs()
}

// CheckOnce runs one check. It logs a failure and leaves the retry to the next check.
func (k *StoreChecker) CheckOnce(ctx context.Context) {
	if _, err := k.Check(ctx, false); err != nil && ctx.Err() == nil {
		k.logger.Error("the segment store could not be compared with the projections; trying again", "error", err)
	}
}

// Check runs one check, and returns what is left to re-index.
func (k *StoreChecker) Check(ctx context.Context, thorough bool) (*UnstoredSet, error) {
	k.checkMutex.Lock()
	defer k.checkMutex.Unlock()
	began := time.Now()
	found, err := k.restoreMissing(ctx, thorough)
	if err == nil {
		k.unstored.Store(found)
		k.lastBegan.Store(&began)
		if found == nil {
			k.completeChecks.Add(1)
		}
	}
	return found, err
}

// restoreMissing rewrites missing segments, and returns what it cannot restore. It looks
// for missing manifests, which requires reading the log, only if thorough is set or
// something else is missing.
func (k *StoreChecker) restoreMissing(ctx context.Context, thorough bool) (*UnstoredSet, error) {
	v := k.acquire()
	defer v.Release()
	missing, err := missingSegments(ctx, k.objects, v)
	if err != nil {
		return nil, err
	}
	before := k.unstored.Load()
	if len(missing) == 0 && before.isEmpty() && !thorough {
		return nil, nil
	}
	left, err := k.restoreSegments(ctx, v, missing)
	if err != nil {
		return nil, err
	}
	out := new(UnstoredSet)
	if out.Documents, err = unstoredDocuments(v, left); err != nil {
		return nil, err
	}
	// The cause of the missing segments may have removed manifests as well.
	out.Changes, err = k.lostChanges(ctx, v)
	if errors.Is(err, event.ErrOffsetOutOfRange) {
		k.logger.Warn("the beginning of the log was deleted, so nothing can be rebuilt from it; not looking for changes that are missing from the segment store", "error", err)
		out.Changes, err = nil, nil
	}
	if err != nil || out.isEmpty() {
		return nil, err
	}
	return out, nil
}

// restoreSegments writes segments to the segment store, and returns those that it could
// not write.
func (k *StoreChecker) restoreSegments(ctx context.Context, v *places.View, missing []segment.ID) (left []segment.ID, err error) {
	for n, id := range missing {
		if n == 0 {
			k.logger.Warn("segments are missing from the segment store; writing them again", "segments", len(missing))
		}
		switch err := k.restoreSegment(ctx, v, id); {
		case err == nil:
		case ctx.Err() != nil:
			return nil, ctx.Err()
		default:
			k.logger.Error("segment could not be written to the segment store again; its documents are re-indexed from git",
				"segment", id.String(), "error", err)
			left = append(left, id)
		}
	}
	if n := len(missing) - len(left); n > 0 {
		k.logger.Info("missing segments were written to the segment store again", "segments", n)
	}
	return left, nil
}

func (k *StoreChecker) restoreSegment(ctx context.Context, v *places.View, id segment.ID) error {
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(k.dir, "restored-"+id.String())
	defer func() { _ = os.Remove(path) }()
	if err := v.CopySegment(id, path); err != nil {
		return err
	}
	return k.objects.Put(ctx, segmentstore.SegmentName(id), path)
}

// missingSegments returns the live segments that the segment store lacks. No segment of a
// view is deleted from the store while the view is held.
func missingSegments(ctx context.Context, objects segmentstore.Store, v *places.View) ([]segment.ID, error) {
	stored := map[string]bool{}
	for info, err := range objects.List(ctx) {
		if err != nil {
			return nil, err
		}
		stored[info.Name] = true
	}
	var missing []segment.ID
	for _, s := range v.SegmentInfos() {
		if s.Absent || stored[segmentstore.SegmentName(s.ID)] {
			continue
		}
		there, err := hasObject(ctx, objects, segmentstore.SegmentName(s.ID)) // it may have been written since
		if err != nil {
			return nil, err
		}
		if !there {
			missing = append(missing, s.ID)
		}
	}
	return missing, nil
}

// hasObject reports whether the segment store has an object.
func hasObject(ctx context.Context, objects segmentstore.Store, name string) (bool, error) {
	_, err := objects.GetBytes(ctx, name, 0)
	switch {
	case err == nil, errors.Is(err, segmentstore.ErrTooLarge):
		return true, nil
	case errors.Is(err, code.ErrNotFound):
		return false, nil
	}
	return false, fmt.Errorf("look for %s: %w", name, err)
}

// unstoredDocuments returns the documents of missing segments that are in no other live
// segment.
func unstoredDocuments(v *places.View, missing []segment.ID) (map[code.DocumentKey]bool, error) {
	if len(missing) == 0 {
		return nil, nil
	}
	lost := map[code.DocumentKey]bool{}
	isMissing := map[segment.ID]bool{}
	for _, id := range missing {
		isMissing[id] = true
		keys, err := v.SegmentKeys(id)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			lost[key] = true
		}
	}
	for _, s := range v.SegmentInfos() {
		if s.Absent || isMissing[s.ID] {
			continue
		}
		keys, err := v.SegmentKeys(s.ID)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			delete(lost, key)
		}
	}
	return lost, nil
}
