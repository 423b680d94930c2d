package snapshots

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/code"
)

// guard is a segment store that deletes no segment which a snapshot names, and nothing while a
// process holds the store for a backup.
type guard struct {
	segmentstore.Store
	archive *Archive
}

// Guard returns the segment store of the archive. Its Delete returns
// segmentstore.ErrKept for a segment that a snapshot names, also one that is being created, and
// segmentstore.ErrHeld during a backup of any process.
func (a *Archive) Guard() segmentstore.Store { return guard{a.o.Store, a} }

// Delete implements segmentstore.Store.
func (g guard) Delete(ctx context.Context, name string) error {
	if err := g.archive.ensureFresh(ctx); err != nil {
		return err
	}
	g.archive.mu.Lock()
	held := g.archive.mu.backup
	g.archive.mu.Unlock()
	if held {
		return fmt.Errorf("%w by a process: %s", segmentstore.ErrHeld, name)
	}
	if id, ok := segmentstore.ParseSegmentName(name); ok {
		naming, err := g.archive.findNaming(ctx, id)
		if err != nil {
			return err
		}
		if len(naming) > 0 {
			return fmt.Errorf("%w: %s names %s", segmentstore.ErrKept, naming[0], name)
		}
	}
	return g.Store.Delete(ctx, name)
}

// findNaming returns the snapshots that name a segment. A snapshot whose list of segments is
// damaged cannot be used, and so keeps none.
func (a *Archive) findNaming(ctx context.Context, id segment.ID) (names []string, err error) {
	if err := a.ensureFresh(ctx); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, ids := range a.mu.held {
		if ids[id] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// ensureFresh calls refreshHeld unless that was done a moment ago.
func (a *Archive) ensureFresh(ctx context.Context) error {
	a.mu.Lock()
	fresh := a.o.Now().Sub(a.mu.heldAt).Abs() < holdsFresh
	a.mu.Unlock()
	if fresh {
		return nil
	}
	return a.refreshHeld(ctx)
}

// refreshHeld reads the lists of segments of new snapshots, forgets those of deleted ones, and reads
// whether a process holds the store.
func (a *Archive) refreshHeld(ctx context.Context) error {
	began := a.o.Now()
	found, err := a.objectNames(ctx)
	if err != nil {
		return err
	}
	backup, err := segmentstore.NewSharedHolds(a.o.Store, a.o.Now).IsHeld(ctx)
	if err != nil {
		return err
	}
	a.mu.Lock()
	known := maps.Clone(a.mu.held)
	a.mu.Unlock()
	held := make(map[string]map[segment.ID]bool, len(found))
	for name, kinds := range found {
		if !slices.Contains(kinds, segmentsSuffix) {
			continue
		}
		ids, ok := known[name]
		if !ok {
			if ids, err = a.readSegments(ctx, name); err != nil && !errors.Is(err, ErrDamaged) {
				return err
			}
		}
		held[name] = ids
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.held, a.mu.backup, a.mu.heldAt = held, backup, began
	return nil
}

// readSegments returns the segments of a snapshot.
func (a *Archive) readSegments(ctx context.Context, name string) (map[segment.ID]bool, error) {
	b, err := a.readObject(ctx, name+segmentsSuffix, maxListBytes)
	if err != nil {
		return nil, err
	}
	return decodeSegments(b)
}

// ReleaseSegment deletes the snapshots that name a segment, because text in it must go.
func (a *Archive) ReleaseSegment(ctx context.Context, id segment.ID) error {
	if err := a.refreshHeld(ctx); err != nil {
		return err
	}
	names, err := a.findNaming(ctx, id)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := a.Delete(ctx, name); err != nil && !errors.Is(err, code.ErrNotFound) {
			return err
		}
		a.o.Logger.Info("deleted a snapshot: it names a segment with text of a removed repository or branch", "snapshot", name, "segment", id.String())
	}
	return nil
}
