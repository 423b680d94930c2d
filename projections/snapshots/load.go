package snapshots

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/event"
)

const (
	// maxFetches bounds the objects that are fetched at once.
	maxFetches = 8
	// ingestBatch bounds the tables that a store ingests at once, and so the disk space of
	// those that wait: 2 GiB of rows.
	ingestBatch = 64
)

// families are the families of rows that a snapshot may contain.
var families = []store.Family{store.FamilyCatalog, store.FamilyDeliveries, store.FamilyLocal, store.FamilyMeta, store.FamilyPlaces}

// Part is what a store gets from a snapshot.
type Part struct {
	Manifest *Manifest
	// Rest means the rows that belong to no partition. The store must not have any.
	Rest bool
	// Partitions are those whose rows and segments the store gets; it must have none of them.
	// Of a snapshot of version 1, they are all with Rest, or none.
	Partitions []int32
}

// WholePart returns everything in a snapshot.
func WholePart(m *Manifest) Part {
	return Part{Manifest: m, Rest: true, Partitions: m.Partitions}
}

// Load adds a part of a snapshot to a store. Its error wraps ErrDamaged or ErrUnsuitable if
// the snapshot cannot be used; after any error, the store must be removed.
func (a *Archive) Load(ctx context.Context, part Part, rows *store.Store, contents Contents) error {
	m := part.Manifest
	if m.StoreFormat != store.FormatVersion || !maps.Equal(m.Schemas, contents.Schemas) {
		return fmt.Errorf("%w: its rows have format version %d and the schema versions %v, this program reads %d and %v",
			ErrUnsuitable, m.StoreFormat, m.Schemas, store.FormatVersion, contents.Schemas)
	}
	if err := a.checkLog(ctx, m); err != nil {
		return err
	}
	before, err := contents.Segments(rows)
	if err != nil {
		return err
	}
	var groups [][]Table // the tables of a group do not overlap
	if part.Rest {
		groups = append(groups, m.tablesOf(nil))
	}
	for _, p := range part.Partitions {
		groups = append(groups, m.tablesOf(&p))
	}
	for _, group := range groups {
		for batch := range slices.Chunk(group, ingestBatch) {
			err := ingestAll(ctx, rows, len(batch), func(ctx context.Context, i int) (path string, err error) {
				return a.fetchTable(ctx, batch[i], rows)
			})
			if err != nil {
				return err
			}
		}
	}
	if err := part.checkRows(rows); err != nil {
		return err
	}
	ids, err := a.checkSegments(ctx, part, rows, before, contents)
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(ids, ingestBatch) {
		err := ingestAll(ctx, rows, len(batch), func(ctx context.Context, i int) (string, error) {
			name := segmentstore.SegmentName(batch[i])
			path, err := rows.Incoming(name)
			if err == nil {
				err = asDamage(a.o.Store.Fetch(ctx, name, path))
			}
			return path, err
		})
		if err != nil {
			return err
		}
	}
	return rows.Sync()
}

// ingestAll fetches n tables at once and ingests them together.
func ingestAll(ctx context.Context, rows *store.Store, n int, fetch func(ctx context.Context, i int) (path string, err error)) error {
	paths := make([]string, n)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(maxFetches)
	for i := range paths {
		g.Go(func() (err error) {
			paths[i], err = fetch(gctx, i)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	err := rows.IngestTables(ctx, paths)
	if errors.Is(err, store.ErrTable) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

// checkLog returns ErrUnsuitable unless the log has the records that the snapshot has
// applied.
func (a *Archive) checkLog(ctx context.Context, m *Manifest) error {
	high, err := a.o.Log.HighWater(ctx, event.TopicEvents)
	if err != nil {
		return err
	}
	if len(high) != len(m.Positions) {
		return fmt.Errorf("%w: it is of a log with %d partitions, this one has %d", ErrUnsuitable, len(m.Positions), len(high))
	}
	for i, p := range m.Positions {
		if p.Next > high[i] {
			return fmt.Errorf("%w: it has applied %d records of partition %d, and the log ends at %d", ErrUnsuitable, p.Next, i, high[i])
		}
		if p.Next == 0 {
			continue
		}
		sum, err := a.recordSum(ctx, p.Partition, p.Next-1)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("%w: its last record cannot be compared with the log: %w", ErrUnsuitable, err)
		}
		if sum != p.RecordSum {
			return fmt.Errorf("%w: it is of another log: record %d of partition %d differs", ErrUnsuitable, p.Next-1, i)
		}
	}
	return nil
}

// fetchTable fetches a table to the directory of the store and checks it.
func (a *Archive) fetchTable(ctx context.Context, t Table, rows *store.Store) (string, error) {
	path, err := rows.Incoming(t.Object)
	if err != nil {
		return "", err
	}
	if err := asDamage(a.objects.Fetch(ctx, t.Object, path)); err != nil {
		return "", err
	}
	return path, t.checkFile(path)
}

// checkFile returns ErrDamaged unless the file has the size and the checksum of the table.
func (t *Table) checkFile(path string) error {
	size, sum, err := sumFile(path)
	if err == nil && (size != t.SizeBytes || sum != t.Sum) {
		return fmt.Errorf("%w: %s has %d bytes with checksum %s, want %d with %.40s", ErrDamaged, t.Object, size, sum, t.SizeBytes, t.Sum)
	}
	return err
}

// checkRows returns an error unless the store has rows of projections only, and, with the rest,
// the positions and schema versions of the manifest.
func (part *Part) checkRows(rows *store.Store) error {
	m := part.Manifest
	found, err := rows.Families()
	if err != nil {
		return err
	}
	for _, family := range found {
		if !slices.Contains(families, family) && (part.Rest || family != store.FamilySegments) {
			return fmt.Errorf("%w: it contains rows of the family %q", ErrDamaged, byte(family))
		}
	}
	if !part.Rest {
		return nil
	}
	for _, p := range m.Positions {
		next, err := rows.Checkpoint(p.Partition)
		if err != nil || next != p.Next {
			return errors.Join(err, fmt.Errorf("%w: the rows of partition %d end at %d, the manifest has %d", ErrDamaged, p.Partition, next, p.Next))
		}
	}
	for name, version := range m.Schemas {
		known, err := rows.Schema(name)
		if err != nil || known != version {
			return errors.Join(err, fmt.Errorf("%w: the rows of %.40q have version %d, the manifest has %d", ErrDamaged, name, known, version))
		}
	}
	return nil
}

// checkSegments returns the segments that the rows name, and did not name before. It returns
// ErrDamaged unless the list of the snapshot has them, and no others if all of it was loaded.
func (a *Archive) checkSegments(
	ctx context.Context, part Part, rows *store.Store, before map[segment.ID]bool, contents Contents,
) ([]segment.ID, error) {
	m := part.Manifest
	listed, err := a.readSegments(ctx, m.Name)
	if err != nil {
		return nil, err
	}
	named, err := contents.Segments(rows)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	maps.DeleteFunc(named, func(id segment.ID, _ bool) bool { return before[id] })
	unlisted := maps.Clone(named)
	maps.DeleteFunc(unlisted, func(id segment.ID, _ bool) bool { return listed[id] })
	complete := part.Rest && len(part.Partitions) == len(m.Partitions)
	if len(listed) != m.Segments || len(unlisted) > 0 || complete && len(named) != len(listed) {
		return nil, fmt.Errorf("%w: its rows name %d segments, its list has %d, its manifest %d", ErrDamaged, len(named), len(listed), m.Segments)
	}
	ids := slices.Collect(maps.Keys(named))
	slices.SortFunc(ids, func(x, y segment.ID) int { return slices.Compare(x[:], y[:]) })
	return ids, nil
}

// Verify reads a snapshot completely, and checks that the segment store has its segments.
// The error wraps ErrDamaged or ErrUnsuitable, or code.ErrNotFound.
func (a *Archive) Verify(ctx context.Context, name string) (*Manifest, error) {
	s, err := a.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	if s.Manifest == nil {
		return nil, fmt.Errorf("snapshot %s: %w", name, errors.New(s.Problem))
	}
	listed, err := a.readSegments(ctx, name)
	if err == nil && len(listed) != s.Manifest.Segments {
		err = fmt.Errorf("%w: its list has %d segments, its manifest %d", ErrDamaged, len(listed), s.Manifest.Segments)
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", name, err)
	}
	if err := os.MkdirAll(a.o.TempDir, 0o700); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(a.o.TempDir, "snapshot-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the directory is emptied at the start
	for _, t := range s.Manifest.Tables {
		path := filepath.Join(dir, t.Object)
		err := asDamage(a.objects.Fetch(ctx, t.Object, path))
		if err == nil {
			err = errors.Join(t.checkFile(path), os.Remove(path))
		}
		if err != nil {
			return nil, fmt.Errorf("snapshot %s: %w", name, err)
		}
	}
	missing, err := a.missingSegments(ctx, listed)
	if err == nil && missing != "" {
		err = fmt.Errorf("%w: the segment store lacks %s", ErrDamaged, missing)
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", name, err)
	}
	return s.Manifest, nil
}
